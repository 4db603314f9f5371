package sql

import (
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/types"
)

// heldAnswer keeps the rows of a statement that locks them until it has locked all: so long nobody has seen any, and it can be run again where
// another transaction has changed one. PostgreSQL has no 40001 at READ COMMITTED either. A longer answer than maxHeld is passed on as it comes.
type heldAnswer struct {
	emit   exec.Emit
	rows   [][]types.Datum
	size   int
	passed bool
}

// maxHeld bounds the rows that are kept, in bytes.
const maxHeld = 4 << 20

func (h *heldAnswer) add(row []types.Datum) error {
	if h.passed {
		return h.emit(row)
	}
	own := make([]types.Datum, len(row))
	for i, d := range row {
		own[i] = d.Clone()
		h.size += len(d.S) + datumSize
	}
	if h.rows = append(h.rows, own); h.size > maxHeld {
		return h.pass()
	}
	return nil
}

// pass gives what was kept; what follows is not kept any more.
func (h *heldAnswer) pass() error {
	rows := h.rows
	h.rows, h.passed = nil, true
	for _, row := range rows {
		if err := h.emit(row); err != nil {
			return err
		}
	}
	return nil
}

// drop forgets what was kept, before the statement is run again.
func (h *heldAnswer) drop() { h.rows, h.size = nil, 0 }
