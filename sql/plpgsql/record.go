package plpgsql

import (
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// record is the value of a variable of type record or of a row type. It is not changed while it is
// shared: assignments to fields change it in place, those of a whole row replace it.
type record struct {
	shape  *shape
	fields []types.Datum
	null   bool // the row itself is null
}

// shape is the names and types of a record's fields.
type shape struct {
	columns []query.Column
	types   []types.OID
	names   string // for types.NewNamedRecord
}

func newShape(columns []query.Column) *shape {
	s := &shape{columns: columns}
	var names []string
	for _, c := range columns {
		s.types, names = append(s.types, c.Type), append(names, c.Name)
	}
	s.names = types.RecordNames(names)
	return s
}

func (s *shape) same(columns []query.Column) bool {
	return s != nil && slices.EqualFunc(s.columns, columns, func(a, b query.Column) bool {
		return a.Name == b.Name && a.Type == b.Type && a.Typmod == b.Typmod
	})
}

// find returns the number of a field, -1 if there is none.
func (s *shape) find(name string) int { return fieldNumber(s.columns, name) }

func fieldNumber(columns []query.Column, name string) int {
	return slices.IndexFunc(columns, func(c query.Column) bool { return c.Name == name && !c.Dropped })
}

func (s *shape) typed(i int) function.Typed {
	return function.Typed{OID: s.columns[i].Type, Typmod: s.columns[i].Typmod}
}

// nullRecord returns a null row of a shape.
func nullRecord(s *shape) *record {
	return &record{shape: s, fields: make([]types.Datum, len(s.columns)), null: true}
}

// datum returns the record as one value.
func (r *record) datum() types.Datum {
	if r == nil || r.null {
		return types.Null
	}
	return types.NewNamedRecord(r.shape.types, r.fields, r.shape.names)
}

// notAssigned is the error of a record whose fields are not known.
func notAssigned(name string) error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "record %q is not assigned yet", name).
		WithDetail("The tuple structure of a not-yet-assigned record is indeterminate.")
}

func noField(name, field string) error {
	return pgerr.New(pgerr.UndefinedColumn, "record %q has no field %q", name, field)
}

// fieldsOf returns the columns and values of a row value. columns are those that are known from its
// expression; nil: it names them itself.
func fieldsOf(d types.Datum, columns []query.Column) ([]query.Column, []types.Datum, error) {
	v, err := types.RecordOf(d)
	if err != nil {
		return nil, nil, err
	}
	if len(columns) != v.Len() {
		columns = nil
	}
	own := columns == nil
	names := v.Names()
	fields := make([]types.Datum, v.Len())
	for i := range fields {
		fields[i] = v.At(i).Clone()
		if !own {
			continue
		}
		c := query.Column{Name: "f" + itoa(i+1), Type: v.Type(i), Typmod: -1}
		if i < len(names) {
			c.Name = names[i]
		}
		columns = append(columns, c)
	}
	return columns, fields, nil
}
