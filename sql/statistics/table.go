package statistics

import (
	"cmp"
	"slices"
	"time"

	"github.com/sherddb/sherd/sql/types"
)

// Table is what is known of the rows of a table.
type Table struct {
	Rows, Bytes float64
	// Analyzed is when the columns were sampled, of AnalyzedRows rows. It is zero if the table was
	// never analyzed; Rows and Bytes may be known all the same.
	Analyzed     time.Time
	AnalyzedRows float64
	// Written are counters of the fragments, from before the sample was read; none: they are not known.
	Written []Counter
	Columns []Column // sorted by Key
	// Together has the statistics objects, by OID.
	Together []Extended
	// Manual counts the runs of ANALYZE that clients asked for, Automatic the others.
	Manual, Automatic Runs
}

// Runs counts runs of ANALYZE on a table.
type Runs struct {
	Count int64
	Last  time.Time // zero: there was none
}

// Next returns the runs with one more.
func (r Runs) Next(at time.Time) Runs { return Runs{r.Count + 1, at} }

// Counter is how many rows of a table, by its storage id, transactions have written in a fragment since
// a replica leads it, in a Raft term.
type Counter struct {
	Fragment, Storage uint32
	Term              uint64
	Rows              int64
}

// Key names what a Column is of: a column of the table, or an expression in the key of an index or of
// a statistics object.
type Key struct {
	Index    uint32 // OID of the index or the statistics object; 0: a column of the table
	Position int16  // attnum of the column, or position in the key, or among the expressions, from 1
}

// Column has the statistics of a column or an expression.
type Column struct {
	Key
	Type     types.OID
	NullFrac float64 // share of rows in which it is null
	Width    float64 // average bytes of a value that is not null
	// Distinct is how many values differ: the number, if positive; if negative, its ratio to the
	// number of rows. 0 is unknown.
	Distinct float64
	// Common lists the most common values, the most frequent first.
	Common []Value
	// Bounds cut the values that are not in Common into ranges with the same number of rows. They
	// are in order, from the smallest value to the largest; there are none or at least two.
	Bounds []types.Datum
	// Correlation of the order of the values with the order of the stored rows, from -1 to 1.
	// Ordered reports whether it is known.
	Correlation float64
	Ordered     bool
}

// Value is a common value and the share of rows that have it.
type Value struct {
	Value types.Datum
	Frac  float64
}

// MostRows returns how many of a number of rows have one value at most, all if that is not known.
func (c *Column) MostRows(rows float64) float64 {
	const uneven = 4 // values that are not in Common: how many times the average
	switch {
	case len(c.Common) > 0:
		return c.Common[0].Frac * rows
	case c.Distinct > 0:
		return min(rows, uneven*rows/c.Distinct)
	case c.Distinct < 0:
		return min(rows, uneven/-c.Distinct)
	}
	return rows
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Index, o.Index), cmp.Compare(k.Position, o.Position))
}

// Column returns the statistics of a key, nil if there are none. t may be nil.
func (t *Table) Column(k Key) *Column {
	if t == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(t.Columns, k, func(c Column, k Key) int { return c.Key.compare(k) })
	if !ok {
		return nil
	}
	return &t.Columns[i]
}

// Variable returns what estimates of conditions on a key are made from. t may be nil.
func (t *Table) Variable(k Key) Variable {
	if t == nil {
		return Variable{}
	}
	return Variable{Column: t.Column(k), Rows: t.Rows, Keys: []Key{k}, Together: t.Together}
}

// Sized returns the table with other numbers of rows and bytes. t may be nil.
func (t *Table) Sized(rows, bytes float64) *Table {
	out := Table{}
	if t != nil {
		out = *t
	}
	out.Rows, out.Bytes = rows, bytes
	return &out
}

// Merge returns the table with the columns and statistics objects of newer in place of its own of the
// same keys, and without those that apply refuses: as what a table has of one. t may be nil.
func (t *Table) Merge(newer *Table, apply Applies) *Table {
	out := *newer
	out.Columns, out.Together = slices.Clone(newer.Columns), slices.Clone(newer.Together)
	if t != nil {
		for i := range t.Columns {
			if newer.Column(t.Columns[i].Key) == nil {
				out.Columns = append(out.Columns, t.Columns[i])
			}
		}
		for i := range t.Together {
			if newer.Extended(t.Together[i].Object) == nil {
				out.Together = append(out.Together, t.Together[i])
			}
		}
	}
	out.Columns = slices.DeleteFunc(out.Columns, func(c Column) bool { return !apply.Column(&c) })
	out.Together = slices.DeleteFunc(out.Together, func(x Extended) bool { return !apply.Extended(&x) })
	slices.SortFunc(out.Columns, func(a, b Column) int { return a.Key.compare(b.Key) })
	slices.SortFunc(out.Together, func(a, b Extended) int { return cmp.Compare(a.Object, b.Object) })
	return &out
}

// Applies reports whether statistics are of something that a table has.
type Applies struct {
	Column   func(*Column) bool
	Extended func(*Extended) bool
}
