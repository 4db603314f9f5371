package wire

import (
	"fmt"
	"reflect"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Fields of the outermost message, and of the messages in it that are not in the lists.
const (
	planTables  = 1 // repeated: tables, in the order of their positions
	planIndexes = 2 // the same for indexes
	planRoot    = 3

	tableOID        = 1
	tableVersion    = 2
	tableDefinition = 3 // catalog.MarshalTable: the full definition

	indexTable = 1 // position of its table
	indexAt    = 2 // position among the table's indexes
)

// encoder writes from the end to the beginning, so that it knows the length of a message before it
// writes it.
type encoder struct {
	buf     []byte
	at      int // the written bytes begin here
	depth   int
	whole   func(*catalog.Table) bool
	tables  []*catalog.Table
	indexes []*catalog.Index

	staging  bool     // within a Stage
	settings []string // the names of settings that calls ask for
}

// plan writes a plan. It writes the tables last, and so they come first: all are known only then.
func (e *encoder) plan(n plan.Node) error {
	if err := e.value(planRoot, theSchema().node, reflect.ValueOf(&n).Elem()); err != nil {
		return err
	}
	for i := len(e.indexes) - 1; i >= 0; i-- {
		if err := e.listIndex(e.indexes[i]); err != nil {
			return err
		}
	}
	for i := len(e.tables) - 1; i >= 0; i-- {
		if err := e.listTable(e.tables[i]); err != nil {
			return err
		}
	}
	return e.bounded()
}

func (e *encoder) listTable(t *catalog.Table) error {
	back := len(e.buf) - e.at
	if e.whole(t) {
		b, err := catalog.MarshalTable(t)
		if err != nil {
			return err
		}
		e.bytes(tableDefinition, b)
	}
	e.number(tableVersion, t.Version)
	e.number(tableOID, uint64(t.OID))
	e.length(planTables, back)
	return nil
}

func (e *encoder) listIndex(x *catalog.Index) error {
	for place, t := range e.tables {
		for i := range t.Indexes {
			if &t.Indexes[i] != x {
				continue
			}
			back := len(e.buf) - e.at
			e.number(indexAt, uint64(i))
			e.number(indexTable, uint64(place+1))
			e.length(planIndexes, back)
			return nil
		}
	}
	return fmt.Errorf("plan: index %q belongs to none of its tables", x.Name)
}

// table returns a table's position, from 1.
func (e *encoder) table(t *catalog.Table) uint64 {
	for i := range e.tables {
		if e.tables[i] == t {
			return uint64(i + 1)
		}
	}
	e.tables = append(e.tables, t)
	return uint64(len(e.tables))
}

// index returns an index's position, from 1.
func (e *encoder) index(x *catalog.Index) uint64 {
	for i := range e.indexes {
		if e.indexes[i] == x {
			return uint64(i + 1)
		}
	}
	e.indexes = append(e.indexes, x)
	return uint64(len(e.indexes))
}

// message writes the fields of a struct.
func (e *encoder) message(st *structure, v reflect.Value) error {
	if e.depth++; e.depth > maxDepth {
		return tooComplex()
	}
	defer func() { e.depth-- }()
	for i := len(st.fields) - 1; i >= 0; i-- {
		f := &st.fields[i]
		back := len(e.buf) - e.at
		err := e.field(f, v.FieldByIndex(f.index))
		switch {
		case err == nil:
		case f.display:
			e.at = len(e.buf) - back
		default:
			return err
		}
	}
	return e.bounded()
}

func (e *encoder) bounded() error {
	if len(e.buf)-e.at > MaxSize {
		return tooComplex()
	}
	return nil
}

// field writes a field with its tag, unless it has the zero value.
func (e *encoder) field(f *field, v reflect.Value) error {
	if f.list {
		return e.list(f, v)
	}
	if v.IsZero() {
		if !f.optional && !f.display && missing(v) {
			return fmt.Errorf("plan: %s is missing", f.name)
		}
		return nil
	}
	return e.value(f.number, f.coder, v)
}

// missing reports whether a zero value of v's type means that there is no value: a pointer, a step,
// an expression.
func missing(v reflect.Value) bool {
	return v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface
}

func (e *encoder) list(f *field, v reflect.Value) error {
	n := v.Len()
	if n == 0 {
		return nil
	}
	packed := f.coder.wire == protowire.VarintType
	back := len(e.buf) - e.at
	for i := n - 1; i >= 0; i-- {
		elem := v.Index(i)
		if missing(elem) && elem.IsNil() && !f.optional {
			return fmt.Errorf("plan: one of %s is missing", f.name)
		}
		var err error
		if packed {
			err = f.coder.put(e, elem)
		} else {
			err = e.value(f.number, f.coder, elem)
		}
		if err != nil {
			return err
		}
	}
	if packed {
		e.length(f.number, back)
	}
	return nil
}

// value writes a value with its tag.
func (e *encoder) value(number protowire.Number, c *coder, v reflect.Value) error {
	back := len(e.buf) - e.at
	if err := c.put(e, v); err != nil {
		return err
	}
	if c.wire == protowire.BytesType {
		e.length(number, back)
	} else {
		e.varint(protowire.EncodeTag(number, c.wire))
	}
	return nil
}

// kind writes a step or an expression.
func (e *encoder) kind(u *union, v reflect.Value) error {
	a, ok := u.byType[v.Type()]
	if !ok {
		return fmt.Errorf("plan: %s is not part of a plan that can be sent", v.Type())
	}
	switch x := v.Interface().(type) {
	case plan.Stage:
		v, e.staging = reflect.ValueOf(bare(x)), true
		defer func() { e.staging = false }()
	case *query.Call:
		if err := e.call(x); err != nil {
			return err
		}
	}
	back := len(e.buf) - e.at
	if err := e.message(a.fields, reflect.Indirect(v)); err != nil {
		return err
	}
	e.length(a.number, back)
	return nil
}

// call checks what a function needs. The planner keeps calls that only the gateway can run above a
// Gather, but a call in ON CONFLICT has to run with the rows.
func (e *encoder) call(c *query.Call) error {
	switch at := builtin.PlaceOf(c.Proc); {
	case at == builtin.AnywhereNamed:
		if name, ok := c.Args[0].(*query.Const); ok && name.Value.K == types.KindText &&
			!slices.Contains(e.settings, name.Value.S) {
			e.settings = append(e.settings, name.Value.S)
		}
	case at != builtin.Anywhere && e.staging:
		return pgerr.Unsupported("%s() cannot be called in ON CONFLICT for a row that another node keeps", c.Proc.Name).
			WithHint("Compute the value in the INSERT's SELECT and read it through EXCLUDED.")
	}
	return nil
}

// bare returns a stage without the parts that only the gateway runs.
func bare(s plan.Stage) plan.Stage {
	m := s.Modify
	return plan.Stage{Modify: &plan.Modify{
		Kind: m.Kind, Table: m.Table, Schema: m.Schema, Checks: m.Checks, Indexes: m.Indexes, OnConflict: m.OnConflict,
	}}
}

// length writes the tag and length of a field. Its contents were written since len(buf)-at was
// back.
func (e *encoder) length(number protowire.Number, back int) {
	e.varint(uint64(len(e.buf) - e.at - back))
	e.varint(protowire.EncodeTag(number, protowire.BytesType))
}

func (e *encoder) bytes(number protowire.Number, b []byte) {
	back := len(e.buf) - e.at
	e.raw(b)
	e.length(number, back)
}

func (e *encoder) number(number protowire.Number, n uint64) {
	e.varint(n)
	e.varint(protowire.EncodeTag(number, protowire.VarintType))
}

func (e *encoder) varint(n uint64) {
	var b [10]byte
	e.raw(protowire.AppendVarint(b[:0], n))
}

// raw writes bytes in front of those written before.
func (e *encoder) raw(b []byte) {
	if len(b) > e.at {
		used := len(e.buf) - e.at
		next := make([]byte, max(512, 2*len(e.buf), used+2*len(b)))
		copy(next[len(next)-used:], e.buf[e.at:])
		e.buf, e.at = next, len(next)-used
	}
	e.at -= len(b)
	copy(e.buf[e.at:], b)
}
