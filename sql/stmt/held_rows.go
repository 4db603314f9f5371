package stmt

import (
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/types"
)

// HeldRows keeps the rows of a statement until it is certain that the statement is not run again. A statement that
// locks rows returns none before it has locked all of them, so it can be run again if another transaction has changed
// one: PostgreSQL has no 40001 at READ COMMITTED either. An answer that is longer than maxHeld is passed on.
type HeldRows struct {
	Emit   exec.Emit // gets the rows in the end
	Passed bool      // rows are not kept any more
	rows   [][]types.Datum
	size   int
}

const (
	maxHeld   = 4 << 20 // bytes of rows that are kept
	datumSize = 32      // bytes of a value without its text
)

// Add keeps a row, or passes it on.
func (h *HeldRows) Add(row []types.Datum) error {
	if h.Passed {
		return h.Emit(row)
	}
	own := make([]types.Datum, len(row))
	for i, d := range row {
		own[i] = d.Clone()
		h.size += len(d.S) + datumSize
	}
	if h.rows = append(h.rows, own); h.size > maxHeld {
		return h.Pass()
	}
	return nil
}

// Pass passes on what was kept, and everything that follows.
func (h *HeldRows) Pass() error {
	rows := h.rows
	h.rows, h.Passed = nil, true
	for _, row := range rows {
		if err := h.Emit(row); err != nil {
			return err
		}
	}
	return nil
}

// Drop forgets what was kept, before the statement is run again.
func (h *HeldRows) Drop() { h.rows, h.size = nil, 0 }
