package keyfilter

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// A filter that removes hardly any of the rows is not used any more: after so many rows, at least
// one in leastRemoved must have gone.
const (
	filterTrial  = 4096
	leastRemoved = 10
)

// Scan is the runtime filters of a scan. A nil Scan has none.
type Scan struct {
	list []scanFilter
	key  []byte
}

// scanFilter is one of them, in an execution.
type scanFilter struct {
	plan.KeyFilter
	filter      Filter
	tried, gone int
}

// NewScan compiles the runtime filters of a scan, nil if it has none.
func NewScan(n *plan.Scan) (*Scan, error) {
	if len(n.KeyFilters) == 0 {
		return nil, nil
	}
	out := &Scan{}
	for _, f := range n.KeyFilters {
		if len(f.Keys) == 0 || len(f.Keys) != len(f.Types) { // a damaged task of another node
			return nil, pgerr.New(pgerr.InternalError, "a runtime filter of %d keys has %d types",
				len(f.Keys), len(f.Types))
		}
		for _, slot := range f.Keys {
			if slot < 0 || slot >= len(n.Slots) {
				return nil, pgerr.New(pgerr.InternalError, "a runtime filter reads slot %d of %d", slot, len(n.Slots))
			}
		}
		out.list = append(out.list, scanFilter{KeyFilter: f})
	}
	return out, nil
}

// Start takes the filters of an execution from its outer parameters.
func (o *Scan) Start(c *expr.Ctx) error {
	if o == nil {
		return nil
	}
	for i := range o.list {
		f := &o.list[i]
		var err error
		if f.filter, err = Parse(c.Outer(f.Param)); err != nil {
			return err
		}
		f.tried, f.gone = 0, 0
	}
	return nil
}

// Keeps reports whether all filters have the keys of a row. A row with a null among its keys is in
// none, because null equals nothing.
func (o *Scan) Keeps(row types.Row) bool {
	if o == nil {
		return true
	}
	for i := range o.list {
		f := &o.list[i]
		if f.filter.Selects() && !o.has(f, row) {
			f.gone++
			return false
		}
	}
	return true
}

func (o *Scan) has(f *scanFilter, row types.Row) bool {
	if f.tried++; f.tried == filterTrial && f.gone < filterTrial/leastRemoved {
		f.filter = Filter{}
		return true
	}
	o.key = o.key[:0]
	for i, slot := range f.Keys {
		if row[slot].IsNull() {
			return false
		}
		o.key = types.AppendKey(o.key, f.Types[i], row[slot], false)
	}
	return f.filter.Has(o.key)
}
