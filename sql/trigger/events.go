package trigger

import (
	"encoding/binary"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/types"
)

// events are the events of rows for which triggers fire later.
type events struct {
	spool.Spool
	buf []byte
}

// add appends an event, with the triggers by their numbers in the set of the table.
func (x *events) add(e *exec.RowEvent, triggers []int) error {
	b := binary.AppendUvarint(x.buf[:0], uint64(e.Table.OID))
	b = binary.AppendUvarint(b, uint64(e.Kind))
	b = binary.AppendUvarint(b, uint64(len(triggers)))
	for _, n := range triggers {
		b = binary.AppendUvarint(b, uint64(n))
	}
	if e.Old != nil {
		b = spool.AppendRow(b, e.Old)
	}
	if e.New != nil {
		b = spool.AppendRow(b, e.New)
	}
	x.buf = b
	return x.Add(b)
}

// each calls f for each trigger of each event, in the order in which they were added. The rows are
// valid during the call.
func (x *events) each(sets map[catalog.OID]*Set, f func(set *Set, trigger int, e *exec.RowEvent) error) error {
	var triggers []int
	var old, next types.Row
	return x.Each(func(b []byte) error {
		r := spool.Record{B: b}
		set := sets[catalog.OID(r.Uvarint())]
		e := &exec.RowEvent{Table: set.table, Kind: catalog.TriggerEvents(r.Uvarint())}
		triggers = triggers[:0]
		for range r.Uvarint() {
			triggers = append(triggers, int(r.Uvarint()))
		}
		read := func(row *types.Row) types.Row {
			if len(*row) != len(set.table.Columns) {
				*row = make(types.Row, len(set.table.Columns))
			}
			r.Row(*row)
			return *row
		}
		if e.Kind != catalog.TriggerInsert {
			e.Old = read(&old)
		}
		if e.Kind != catalog.TriggerDelete {
			e.New = read(&next)
		}
		for _, n := range triggers {
			if err := f(set, n, e); err != nil {
				return err
			}
		}
		return nil
	})
}
