package portal

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

const datumSize = 32 // bytes

// keptRows are rows that a portal keeps, and returns later.
type keptRows struct {
	rows [][]types.Datum
	room int64               // bytes left
	full func() *pgerr.Error // the error when there is no room
}

func (k *keptRows) add(row []types.Datum) error {
	own, size := ownRow(row)
	k.rows = append(k.rows, own)
	if k.room -= size; k.room < 0 {
		return k.full()
	}
	return nil
}

func (k *keptRows) next() ([]types.Datum, bool) {
	if len(k.rows) == 0 {
		return nil, false
	}
	row := k.rows[0]
	k.rows = k.rows[1:]
	return row, true
}

// ownRow copies a row that is valid only until the next one is read, and returns its size in bytes.
func ownRow(row []types.Datum) (own []types.Datum, size int64) {
	own = make([]types.Datum, len(row))
	for i, d := range row {
		own[i] = d.Clone()
		size += int64(len(d.S)) + datumSize
	}
	return own, size
}

// tooMuchToHold is the error of COMMIT.
func tooMuchToHold() *pgerr.Error {
	return pgerr.New(pgerr.OutOfMemory, "out of memory").
		WithDetail("COMMIT keeps the rows that a cursor WITH HOLD has not returned yet, " +
			"and they exceed the memory limit.").
		WithHint("Fetch all rows or close the cursor before COMMIT.")
}

// tooMuchToReturn is the error of a statement that writes.
func tooMuchToReturn() *pgerr.Error {
	return pgerr.New(pgerr.OutOfMemory, "out of memory").
		WithDetail("The rows of RETURNING are kept to be returned in parts, and they exceed the memory limit.").
		WithHint("Execute the portal without a limit on its rows.")
}
