package wire

import (
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/plan"
)

type decoder struct {
	view    *catalog.View
	tables  []*catalog.Table
	indexes []*catalog.Index
	depth   int
	parts   int // messages and list elements so far
}

// plan reads a plan. It reads the tables and indexes first, wherever they are in the message.
func (d *decoder) plan(b []byte) (plan.Node, error) {
	var roots, indexes [][]byte
	err := d.fields(b, func(number protowire.Number, wire protowire.Type, r raw) error {
		switch {
		case number == planTables && wire == protowire.BytesType:
			t, err := d.table(r.b)
			d.tables = append(d.tables, t)
			return err
		case number == planIndexes && wire == protowire.BytesType:
			indexes = append(indexes, r.b)
		case number == planRoot && wire == protowire.BytesType:
			roots = append(roots, r.b)
		default:
			return ErrNewer
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, b := range indexes {
		if err := d.index(b); err != nil {
			return nil, err
		}
	}
	if len(roots) != 1 {
		return nil, damaged("it has %d roots", len(roots))
	}
	var n plan.Node
	if err := theSchema().node.get(d, reflect.ValueOf(&n).Elem(), raw{b: roots[0]}); err != nil {
		return nil, err
	}
	if n == nil {
		return nil, damaged("it is empty")
	}
	return n, nil
}

// table finds a table in the catalog, in exactly the version with which the plan was made.
func (d *decoder) table(b []byte) (*catalog.Table, error) {
	var oid, version uint64
	var whole []byte
	err := d.fields(b, func(number protowire.Number, wire protowire.Type, r raw) error {
		switch {
		case number == tableOID && wire == protowire.VarintType:
			oid = r.n
		case number == tableVersion && wire == protowire.VarintType:
			version = r.n
		case number == tableDefinition && wire == protowire.BytesType:
			whole = r.b
		default:
			return ErrNewer
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case oid > 1<<32-1:
		return nil, damaged("a number is too large")
	case whole != nil:
		t, err := catalog.UnmarshalTable(whole)
		if err != nil {
			return nil, damaged("%v", err)
		}
		return t, nil
	}
	mismatch := &VersionError{Table: catalog.OID(oid), Want: version}
	if d.view == nil {
		return nil, mismatch
	}
	t := d.view.Table(catalog.OID(oid))
	if t != nil && t.Version == version {
		return t, nil
	}
	mismatch.Catalog = d.view.Version()
	if t != nil {
		mismatch.Have = t.Version
	}
	return nil, mismatch
}

func (d *decoder) index(b []byte) error {
	var table, at uint64
	err := d.fields(b, func(number protowire.Number, wire protowire.Type, r raw) error {
		switch {
		case number == indexTable && wire == protowire.VarintType:
			table = r.n
		case number == indexAt && wire == protowire.VarintType:
			at = r.n
		default:
			return ErrNewer
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case table == 0 || table > uint64(len(d.tables)):
		return damaged("table %d is not listed", table)
	case at >= uint64(len(d.tables[table-1].Indexes)):
		return damaged("table %q has no index %d", d.tables[table-1].Name, at)
	}
	d.indexes = append(d.indexes, &d.tables[table-1].Indexes[at])
	return nil
}

// fields splits a message.
func (d *decoder) fields(b []byte, f func(number protowire.Number, wire protowire.Type, r raw) error) error {
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return damaged("a tag is malformed")
		}
		b = b[n:]
		var r raw
		switch wire {
		case protowire.VarintType:
			r.n, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			r.b, n = protowire.ConsumeBytes(b)
		default:
			return ErrNewer // it uses other types of numbers
		}
		if n < 0 {
			return damaged("field %d is cut off", number)
		}
		b = b[n:]
		if err := f(number, wire, r); err != nil {
			return err
		}
	}
	return nil
}

// message reads the fields of a struct, which is zero.
func (d *decoder) message(st *structure, v reflect.Value, b []byte) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer func() { d.depth-- }()
	err := d.fields(b, func(number protowire.Number, wire protowire.Type, r raw) error {
		f := st.find(number)
		if f == nil {
			return ErrNewer
		}
		to := v.FieldByIndex(f.index)
		if f.list {
			return d.element(f, to, wire, r)
		}
		if wire != f.coder.wire {
			return damaged("field %s has another type", f.name)
		}
		to.SetZero()
		return f.coder.get(d, to, r)
	})
	if err != nil {
		return err
	}
	return st.complete(v)
}

func (d *decoder) enter() error {
	d.depth++
	d.parts++
	if d.depth > maxDepth || d.parts > maxParts {
		return damaged("it is too large")
	}
	return nil
}

// element appends to a list: one element, or several packed ones.
func (d *decoder) element(f *field, list reflect.Value, wire protowire.Type, r raw) error {
	if f.coder.wire != protowire.VarintType {
		if wire != protowire.BytesType {
			return damaged("field %s has another type", f.name)
		}
		return d.append(f, list, r)
	}
	if wire == protowire.VarintType {
		return d.append(f, list, r)
	}
	for b := r.b; len(b) > 0; {
		x, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return damaged("field %s is cut off", f.name)
		}
		b = b[n:]
		if err := d.append(f, list, raw{n: x}); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) append(f *field, list reflect.Value, r raw) error {
	if d.parts++; d.parts > maxParts {
		return damaged("it is too large")
	}
	n := list.Len()
	if n == list.Cap() {
		list.Grow(1)
	}
	list.SetLen(n + 1)
	elem := list.Index(n)
	if err := f.coder.get(d, elem, r); err != nil {
		return err
	}
	if missing(elem) && elem.IsNil() && !f.optional {
		return damaged("one of %s is missing", f.name)
	}
	return nil
}

// kind reads a step or an expression.
func (d *decoder) kind(u *union, to reflect.Value, b []byte) error {
	return d.fields(b, func(number protowire.Number, wire protowire.Type, r raw) error {
		a, ok := u.byKind[number]
		switch {
		case !ok:
			return ErrNewer
		case wire != protowire.BytesType || !to.IsNil():
			return damaged("a %s is malformed", u.name)
		}
		if a.typ.Kind() == reflect.Pointer {
			v := reflect.New(a.fields.typ)
			to.Set(v)
			return d.message(a.fields, v.Elem(), r.b)
		}
		v := reflect.New(a.fields.typ).Elem()
		err := d.message(a.fields, v, r.b)
		to.Set(v)
		return err
	})
}

func (st *structure) find(number protowire.Number) *field {
	if i := int(number) - 1; i >= 0 && i < len(st.fields) && st.fields[i].number == number {
		return &st.fields[i]
	}
	for i := range st.fields {
		if st.fields[i].number == number {
			return &st.fields[i]
		}
	}
	return nil
}

// complete returns an error if a required field is missing.
func (st *structure) complete(v reflect.Value) error {
	for i := range st.fields {
		f := &st.fields[i]
		if f.list || f.optional || f.display {
			continue
		}
		if to := v.FieldByIndex(f.index); missing(to) && to.IsNil() {
			return damaged("%s of %s is missing", f.name, st.typ.Name())
		}
	}
	return nil
}
