package portal

import (
	"math"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/types"
)

// scroll is the position of a cursor in its rows, and the rows that it keeps. A SCROLL cursor keeps
// all rows that it has met; a cursor that goes forward only keeps none. A cursor declared with neither
// keeps its rows as long as they fit into memory, and goes forward only from then on.
type scroll struct {
	source func() (row []types.Datum, ok bool)
	ended  bool // source has no more
	kept   spool.List
	places spool.Places // of kept
	base   int64        // how many rows were dropped before the first kept
	back   bool         // it may go backward
	strict bool         // SCROLL: it must be able to

	visible int           // columns that the client sees; 0: all
	keys    []types.Datum // the hidden columns of the row returned last

	// As in PostgreSQL's portal: pos rows were returned, and the cursor is on the last of them
	// unless it is before all or behind all.
	pos            int64
	atStart, atEnd bool
}

const fetchAll = math.MaxInt64

func (c *scroll) begin(mem *memory.Account) {
	c.kept.Begin(mem)
	c.places = c.kept.Places()
}

func (c *scroll) free() {
	c.places.Close()
	c.kept.Free()
}

// end returns the number of the next row of the source.
func (c *scroll) end() int64 { return c.base + int64(c.kept.Len()) }

// at returns row n, counted from 0. It is valid until the next call.
func (c *scroll) at(n int64) ([]types.Datum, bool, error) {
	for n >= c.end() {
		row, ok := c.read()
		if !ok {
			return nil, false, nil
		}
		if err := c.keep(row); err != nil {
			return nil, false, err
		}
		if n < c.end() {
			return row, true, nil
		}
	}
	row, err := c.places.At(int(n - c.base))
	return row, err == nil, err
}

// read returns the next row of the source.
func (c *scroll) read() (row []types.Datum, ok bool) {
	if c.ended {
		return nil, false
	}
	row, ok = c.source()
	c.ended = !ok
	return row, ok
}

// keep adds a row to the kept rows, or drops all.
func (c *scroll) keep(row []types.Datum) error {
	switch {
	case c.strict:
		return c.kept.Add(row)
	case c.back:
		err := c.kept.Keep(row)
		if !memory.IsFull(err) {
			return err
		}
		c.back = false
	}
	c.base = c.end() + 1
	c.free()
	return nil
}

// forward returns up to count rows ahead by emit, and how many there were.
func (c *scroll) forward(count int64, emit func([]types.Datum) error) (int64, error) {
	if c.atEnd || count <= 0 {
		return 0, nil
	}
	n := int64(0)
	for n < count {
		row, ok, err := c.at(c.pos)
		if err == nil && ok {
			err = c.give(row, emit)
		}
		if err != nil {
			return n, err
		}
		if !ok {
			c.atEnd = true
			break
		}
		n++
		c.pos++
		c.atStart = false
	}
	return n, nil
}

// backward returns up to count rows behind by emit, and how many there were.
func (c *scroll) backward(count int64, emit func([]types.Datum) error) (int64, error) {
	if !c.back {
		return 0, errForwardOnly()
	}
	if c.atStart || count <= 0 {
		return 0, nil
	}
	n, on := int64(0), c.pos // the row that it is on, counted from 1
	if c.atEnd {
		on++
	}
	for n < count && on > 1 {
		on--
		row, _, err := c.at(on - 1)
		if err == nil {
			err = c.give(row, emit)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	if n > 0 {
		c.atEnd = false
	}
	if c.pos = on; n < count {
		c.pos, c.atStart = 0, true
		c.atEnd = c.atEnd && n == 0
	}
	return n, nil
}

// The cursor emits a row, and is on it then.
func (c *scroll) give(row []types.Datum, emit func([]types.Datum) error) error {
	if c.visible == 0 || c.visible == len(row) {
		return emit(row)
	}
	c.keys = c.keys[:0]
	for _, d := range row[c.visible:] {
		c.keys = append(c.keys, d.Clone())
	}
	return emit(row[:c.visible])
}

func errForwardOnly() error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cursor can only scan forward").
		WithHint("Declare it with SCROLL option to enable backward scan.")
}

// rewind goes before the first row.
func (c *scroll) rewind() error {
	if c.atStart && !c.atEnd {
		return nil
	}
	if !c.back {
		return errForwardOnly()
	}
	c.pos, c.atStart, c.atEnd = 0, true, false
	return nil
}

func skipRow([]types.Datum) error { return nil }

// fetch runs FETCH or MOVE, and returns the number for its tag.
func (c *scroll) fetch(n *pg_query.FetchStmt, emit func([]types.Datum) error) (int64, error) {
	switch many := n.HowMany; n.Direction {
	case pg_query.FetchDirection_FETCH_FORWARD:
		return c.run(many >= 0, many, n.Ismove, emit)
	case pg_query.FetchDirection_FETCH_BACKWARD:
		return c.run(many < 0, many, n.Ismove, emit)
	case pg_query.FetchDirection_FETCH_ABSOLUTE:
		return c.absolute(many, emit)
	default:
		return c.relative(many, n.Ismove, emit)
	}
}

// run runs FORWARD and BACKWARD; 0 rows means the row that the cursor is on, again.
func (c *scroll) run(forward bool, many int64, move bool, emit func([]types.Datum) error) (int64, error) {
	if many < 0 {
		many = max(many, -fetchAll) * -1
	}
	switch {
	case many == 0:
		on := !c.atStart && !c.atEnd
		switch {
		case move && on:
			return 1, nil
		case !on && !move && !forward:
			return c.backward(0, emit) // a cursor that goes forward only refuses this
		case !on:
			return 0, nil
		}
		if _, err := c.backward(1, skipRow); err != nil {
			return 0, err
		}
		return c.forward(1, emit)
	case forward:
		return c.forward(many, emit)
	case many == fetchAll && move:
		passed := c.pos
		if passed > 0 && !c.atEnd {
			passed--
		}
		return passed, c.rewind()
	}
	return c.backward(many, emit)
}

func (c *scroll) absolute(many int64, emit func([]types.Datum) error) (int64, error) {
	switch {
	case many == 0:
		return 0, c.rewind()
	case many < 0:
		if _, err := c.forward(fetchAll, skipRow); err != nil {
			return 0, err
		}
		if _, err := c.backward(-many-1, skipRow); err != nil {
			return 0, err
		}
		return c.backward(1, emit)
	case many-1 < c.pos || c.atEnd && many-1 == c.pos:
		if err := c.rewind(); err != nil {
			return 0, err
		}
	}
	if _, err := c.forward(many-1-c.pos, skipRow); err != nil {
		return 0, err
	}
	return c.forward(1, emit)
}

func (c *scroll) relative(many int64, move bool, emit func([]types.Datum) error) (int64, error) {
	switch {
	case many > 0:
		if _, err := c.forward(many-1, skipRow); err != nil {
			return 0, err
		}
		return c.forward(1, emit)
	case many < 0:
		if _, err := c.backward(-many-1, skipRow); err != nil {
			return 0, err
		}
		return c.backward(1, emit)
	}
	return c.run(true, 0, move, emit)
}
