package portal

import (
	"slices"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/memory"
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

// within returns a cursor that keeps rows in so many bytes of memory, and others in a file.
func within(share int64, c *scroll) *scroll {
	c.atStart = true
	c.begin(memory.Limited(memory.Limits{Query: 1 << 20, Work: share, Files: -1}))
	return c
}

// TestScrollRoom has cursors meet more rows than fit into memory: one that need not go backward only
// goes forward from the row where it is, a SCROLL cursor writes a file.
func TestScrollRoom(t *testing.T) {
	var got []int64
	note := func(row []types.Datum) error {
		got = append(got, row[0].N)
		return nil
	}
	const many = 20_000
	c := within(64<<10, &scroll{source: numbers(many), back: true})
	for _, f := range []func() (int64, error){
		func() (int64, error) { return c.forward(10, note) },
		func() (int64, error) { return c.backward(3, note) }, // 9 8 7
		func() (int64, error) { return c.forward(5, note) },  // 8 … 12
	} {
		if _, err := f(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9, 8, 7, 8, 9, 10, 11, 12}; !slices.Equal(got, want) || !c.back {
		t.Errorf("%v, back %v", got, c.back)
	}
	if n, err := c.forward(many/2, note); n != many/2 || err != nil || got[len(got)-1] != 12+many/2 || c.back {
		t.Errorf("%d to %d, %v, back %v", n, got[len(got)-1], err, c.back)
	}
	if _, err := c.backward(1, note); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
		t.Error(err)
	}
	if n, err := c.forward(fetchAll, skipRow); n != many/2-12 || err != nil || c.kept.Len() != 0 {
		t.Error(n, err, c.kept.Len())
	}

	c = within(64<<10, &scroll{source: numbers(many), back: true, strict: true})
	if n, err := c.forward(fetchAll, skipRow); n != many || err != nil || !c.kept.InFile() {
		t.Error(n, err, c.kept.InFile())
	}
	got = nil
	if n, err := c.backward(fetchAll, note); n != many || err != nil {
		t.Error(n, err)
	}
	for i, n := range got {
		if n != many-int64(i) {
			t.Fatalf("row %d backward is %d", i, n)
		}
	}
	c.free()

	c = within(0, &scroll{source: numbers(100)}) // forward only: nothing is kept
	if n, err := c.forward(50, skipRow); n != 50 || err != nil || c.kept.Len() != 0 {
		t.Error(n, err, c.kept.Len())
	}
	p := &Portal{next: c.read, stop: func() {}, scroll: c}
	if err := p.keepRest(nil); err != nil || c.kept.Len() != 50 {
		t.Error(err, c.kept.Len())
	}
	got = nil
	if n, err := c.forward(fetchAll, note); n != 50 || err != nil || got[0] != 51 || got[49] != 100 {
		t.Error(n, err, got)
	}
	p.free()
}
