package wire

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// schema holds the lists of messages, prepared for reflection. It never changes.
type schema struct {
	specs   map[reflect.Type]*message // by struct
	structs map[reflect.Type]*structure
	coders  map[reflect.Type]*coder
	unions  map[reflect.Type]*union // plan.Node and query.Expr
	limits  map[reflect.Type]uint64
	node    *coder
}

// structure is a message's fields.
type structure struct {
	typ    reflect.Type
	fields []field // by rising number
}

type field struct {
	number   protowire.Number
	name     string
	index    []int
	optional bool
	display  bool
	list     bool // repeated, or packed if elements are numbers
	coder    *coder
}

// coder knows how to send a type. Contents of wire type bytes are written and read without their
// length.
type coder struct {
	wire protowire.Type
	put  func(e *encoder, v reflect.Value) error
	get  func(d *decoder, v reflect.Value, r raw) error
}

// raw is a field's content: a number, or bytes.
type raw struct {
	n uint64
	b []byte
}

// union is an interface type: its kinds by number.
type union struct {
	name   string
	byType map[reflect.Type]alternative // of the value in the interface
	byKind map[protowire.Number]alternative
}

type alternative struct {
	number protowire.Number
	typ    reflect.Type // of the value in the interface: a pointer to the struct, or the struct
	fields *structure
}

// theSchema is made on first use.
var theSchema = sync.OnceValue(func() *schema {
	s, err := newSchema()
	if err != nil {
		panic(err) // the lists are wrong: no test passes
	}
	return s
})

var (
	nodeType  = reflect.TypeFor[plan.Node]()
	exprType  = reflect.TypeFor[query.Expr]()
	tableType = reflect.TypeFor[*catalog.Table]()
	indexType = reflect.TypeFor[*catalog.Index]()
	procType  = reflect.TypeFor[*query.Proc]()
	datumType = reflect.TypeFor[types.Datum]()
	bytesType = reflect.TypeFor[[]byte]()
)

func newSchema() (*schema, error) {
	s := &schema{
		specs: map[reflect.Type]*message{}, structs: map[reflect.Type]*structure{}, coders: map[reflect.Type]*coder{},
		unions: map[reflect.Type]*union{}, limits: map[reflect.Type]uint64{},
	}
	for _, list := range [][]message{nodes, exprs, parts} {
		for i := range list {
			s.specs[structOf(list[i].of)] = &list[i]
		}
	}
	for _, last := range largest {
		v := reflect.ValueOf(last)
		s.limits[v.Type()] = v.Uint()
	}
	for _, t := range []reflect.Type{nodeType, exprType} {
		u := &union{name: t.Name(), byType: map[reflect.Type]alternative{}, byKind: map[protowire.Number]alternative{}}
		s.unions[t] = u
		s.coders[t] = u.coder()
	}
	for t, list := range map[reflect.Type][]message{nodeType: nodes, exprType: exprs} {
		for _, m := range list {
			f, err := s.structure(structOf(m.of))
			if err != nil {
				return nil, err
			}
			a := alternative{protowire.Number(m.number), reflect.TypeOf(m.of), f}
			u := s.unions[t]
			if _, twice := u.byKind[a.number]; twice {
				return nil, fmt.Errorf("plan: kind %d of %s is used twice", m.number, u.name)
			}
			u.byType[a.typ], u.byKind[a.number] = a, a
		}
	}
	s.node = s.coders[nodeType]
	return s, nil
}

func structOf(of any) reflect.Type {
	t := reflect.TypeOf(of)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// structure returns the fields of a struct that has a message.
func (s *schema) structure(t reflect.Type) (*structure, error) {
	if st, ok := s.structs[t]; ok {
		return st, nil
	}
	m, ok := s.specs[t]
	if !ok {
		return nil, fmt.Errorf("plan: %s has no message", t)
	}
	st := &structure{typ: t}
	s.structs[t] = st // first: a struct may hold itself
	for _, text := range strings.Split(m.fields, ", ") {
		f, err := s.field(t, text)
		if err != nil {
			return nil, err
		}
		if n := len(st.fields); n > 0 && st.fields[n-1].number >= f.number {
			return nil, fmt.Errorf("plan: field numbers of %s do not rise", t)
		}
		st.fields = append(st.fields, f)
	}
	return st, nil
}

func (s *schema) field(t reflect.Type, text string) (field, error) {
	number, name, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return field{}, fmt.Errorf("plan: field %q of %s: %w", text, t, err)
	}
	f := field{number: protowire.Number(n)}
	f.name, f.optional = strings.CutSuffix(name, "?")
	f.name, f.display = strings.CutSuffix(f.name, "~")
	g, ok := t.FieldByName(f.name)
	if !ok {
		return field{}, fmt.Errorf("plan: %s has no field %q", t, f.name)
	}
	f.index = g.Index
	of := g.Type
	if of.Kind() == reflect.Slice && of != bytesType {
		f.list, of = true, of.Elem()
	}
	f.coder, err = s.coder(of)
	return f, err
}

// coder returns how a type is sent.
func (s *schema) coder(t reflect.Type) (*coder, error) {
	if c, ok := s.coders[t]; ok {
		return c, nil
	}
	c := &coder{}
	s.coders[t] = c // first: it may hold itself
	made, err := s.newCoder(t)
	if err == nil {
		*c = *made
	}
	return c, err
}

func (s *schema) newCoder(t reflect.Type) (*coder, error) {
	switch t {
	case tableType:
		return tableCoder(), nil
	case indexType:
		return indexCoder(), nil
	case procType:
		return procCoder(), nil
	case datumType:
		return datumCoder(), nil
	case bytesType:
		return bytesCoder(), nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolCoder(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intCoder(), nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		limit, ok := s.limits[t]
		if !ok && t.PkgPath() != "" {
			return nil, fmt.Errorf("plan: the enumeration %s has no largest value", t)
		}
		return uintCoder(limit), nil
	case reflect.String:
		return stringCoder(), nil
	case reflect.Struct:
		st, err := s.structure(t)
		return structCoder(st), err
	case reflect.Pointer:
		st, err := s.structure(t.Elem())
		return pointerCoder(st), err
	case reflect.Slice:
		elem, err := s.coder(t.Elem())
		return listCoder(elem), err
	}
	return nil, fmt.Errorf("plan: %s cannot be sent", t)
}
