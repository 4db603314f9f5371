package portal

import (
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// numbers is a source of the rows 1 to n.
func numbers(n int64) func() ([]types.Datum, bool) {
	at, row := int64(0), make([]types.Datum, 1)
	return func() ([]types.Datum, bool) {
		if at == n {
			return nil, false
		}
		at++
		row[0] = types.NewInt(at)
		return row, true
	}
}

// TestScrollRoom: a cursor that exceeds its memory only goes forward from the row where it is; a
// SCROLL cursor fails.
func TestScrollRoom(t *testing.T) {
	var got []int64
	note := func(row []types.Datum) error {
		got = append(got, row[0].N)
		return nil
	}
	c := &scroll{source: numbers(100), back: true, room: 10 * datumSize, atStart: true}
	for _, f := range []func() (int64, error){
		func() (int64, error) { return c.forward(10, note) },
		func() (int64, error) { return c.backward(3, note) }, // 9 8 7
		func() (int64, error) { return c.forward(5, note) },  // 8 … 12, without room for 11
	} {
		if _, err := f(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(got); n != 18 || got[n-1] != 12 || c.back || len(c.rows) > 1 {
		t.Errorf("%v, back %v, %d kept", got, c.back, len(c.rows))
	}
	if _, err := c.backward(1, note); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
		t.Error(err)
	}
	if n, err := c.forward(fetchAll, skipRow); n != 88 || err != nil {
		t.Error(n, err)
	}
	c = &scroll{source: numbers(100), back: true, strict: true, room: 10 * datumSize, atStart: true}
	if n, err := c.forward(fetchAll, skipRow); n != 10 || !pgerr.Is(err, pgerr.OutOfMemory) {
		t.Error(n, err)
	}
	c = &scroll{source: numbers(100), room: 10 * datumSize, atStart: true} // forward only: nothing is kept
	if n, err := c.forward(50, skipRow); n != 50 || err != nil || len(c.rows) != 0 {
		t.Error(n, err, len(c.rows))
	}
	p := &Portal{next: c.read, stop: func() {}, scroll: c}
	if err := p.keepRest(50 * datumSize); err != nil || len(c.rows) != 50 {
		t.Error(err, len(c.rows))
	}
	if n, err := c.forward(fetchAll, note); n != 50 || err != nil || got[len(got)-1] != 100 {
		t.Error(n, err)
	}
}
