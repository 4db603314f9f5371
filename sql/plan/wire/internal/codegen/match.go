package main

import (
	"errors"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// notSent are expressions of queries that are not planned.
var notSent = []string{"SubLink", "Default", "T", "Written"}

// formField is the name, in lower case, of fields that keep how a text is written. They are only set
// in queries that are not planned.
const formField = "form"

// byHand are the messages that package wire itself reads and writes.
var byHand = []protoreflect.Name{"Plan", "TableRef", "IndexRef"}

// matched is plan.proto with the Go types of its messages.
type matched struct {
	unions   []union
	messages []*message // in the order of plan.proto
}

// union is the message of an interface type.
type union struct {
	name  string // in the names of functions
	goes  string // the interface
	kinds []kind
}

type kind struct {
	number  protoreflect.FieldNumber
	pointer bool // the value in the interface is a pointer
	of      *message
}

// message is a message with the Go type of its value: a struct, or the slice of a list in a list.
type message struct {
	name   string // in the names of functions
	goType types.Type
	fields []matchedField
}

// matchedField is a field with the Go field of its value.
type matchedField struct {
	protoreflect.FieldDescriptor
	goName        string // empty: the value is the message itself
	goType        types.Type
	of            *message // of a field that is a message, but not a union
	last          string   // of a field that is an enumeration: its largest value
	display, hole bool
}

// matcher compares plan.proto with the Go types.
type matcher struct {
	schema
	*goTypes
	messages map[protoreflect.FullName]*message
	errs     []error
}

func match(s schema, g *goTypes) (*matched, error) {
	m := &matcher{schema: s, goTypes: g, messages: map[protoreflect.FullName]*message{}}
	out := &matched{unions: []union{
		m.union("Node", "plan.Node", g.node, g.plan),
		m.union("Expr", "query.Expr", g.expr, g.query, g.plan),
	}}
	m.each(s.Messages(), func(d protoreflect.MessageDescriptor) {
		switch known := m.messages[d.FullName()]; {
		case known != nil:
			out.messages = append(out.messages, known)
		case d.Oneofs().ByName("kind") == nil && !slices.Contains(byHand, d.Name()):
			m.fail("message %s is part of no step and no expression", d.FullName())
		}
	})
	return out, errors.Join(m.errs...)
}

func (m *matcher) each(list protoreflect.MessageDescriptors, f func(protoreflect.MessageDescriptor)) {
	for i := range list.Len() {
		f(list.Get(i))
		m.each(list.Get(i).Messages(), f)
	}
}

func (m *matcher) fail(format string, args ...any) {
	m.errs = append(m.errs, fmt.Errorf(format, args...))
}

// union matches the kinds of an interface type, whose structs are in some packages.
func (m *matcher) union(name protoreflect.Name, goes string, i *types.Interface, in ...*types.Package) union {
	u := union{name: string(name), goes: goes}
	listed := map[*types.Named]bool{}
	fields := m.Messages().ByName(name).Fields()
	for j := range fields.Len() {
		f := fields.Get(j)
		t := m.lookup(string(f.Message().Name()), in...)
		if t == nil {
			m.fail("%s has no Go type", f.Message().FullName())
			continue
		}
		listed[t] = true
		// Expressions have methods of the embedded T, but are pointers all the same.
		value := i == m.node && types.Implements(t, i)
		u.kinds = append(u.kinds, kind{number: f.Number(), pointer: !value, of: m.message(f.Message(), t)})
	}
	for _, t := range m.implementing(i) {
		if name := t.Obj().Name(); !listed[t] && !slices.Contains(notSent, name) {
			m.fail("%s is no kind of %s in plan.proto: give it the next number", t.Obj().Type(), u.name)
		}
	}
	return u
}

// message matches a message with a Go type, and its fields.
func (m *matcher) message(d protoreflect.MessageDescriptor, t types.Type) *message {
	if known := m.messages[d.FullName()]; known != nil {
		if !types.Identical(known.goType, t) {
			m.fail("%s is %s and %s", d.FullName(), known.goType, t)
		}
		return known
	}
	out := &message{name: functionName(d), goType: t}
	m.messages[d.FullName()] = out // first: a struct may hold itself
	if _, list := t.Underlying().(*types.Slice); list {
		if d.Fields().Len() != 1 || !d.Fields().Get(0).IsList() {
			m.fail("%s is not a list", d.FullName())
			return out
		}
		out.fields = []matchedField{m.field(d.Fields().Get(0), "", t)}
		return out
	}
	if named, ok := t.(*types.Named); !ok || named.Obj().Name() != string(d.Name()) {
		m.fail("%s has the type %s", d.FullName(), t)
		return out
	}
	goFields := map[string]*types.Var{}
	for _, f := range fieldsOf(t) {
		goFields[strings.ToLower(f.Name())] = f
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		name := plain(f.Name())
		of := goFields[name]
		if of == nil {
			m.fail("%s is no field of %s", f.FullName(), t)
			continue
		}
		delete(goFields, name)
		out.fields = append(out.fields, m.field(f, of.Name(), of.Type()))
	}
	delete(goFields, formField)
	for _, name := range slices.Sorted(maps.Keys(goFields)) {
		m.fail("%s.%s is not in plan.proto: give it the next number", t, goFields[name].Name())
	}
	slices.SortFunc(out.fields, func(a, b matchedField) int { return int(a.Number() - b.Number()) })
	return out
}

// plain is a name of plan.proto without what Go spells differently.
func plain(name protoreflect.Name) string {
	return strings.ToLower(strings.ReplaceAll(string(name), "_", ""))
}

func functionName(d protoreflect.MessageDescriptor) string {
	if parent, ok := d.Parent().(protoreflect.MessageDescriptor); ok {
		return functionName(parent) + string(d.Name())
	}
	return string(d.Name())
}

func (m *matcher) field(f protoreflect.FieldDescriptor, goName string, t types.Type) matchedField {
	out := matchedField{
		FieldDescriptor: f, goName: goName, goType: t, display: m.option(f, "display"), hole: m.option(f, "holes"),
	}
	if f.IsList() {
		list, ok := t.Underlying().(*types.Slice)
		if !ok {
			m.fail("%s is a list, but not in Go", f.FullName())
			return out
		}
		t = list.Elem()
	}
	if want := kindOf(t); want != f.Kind() {
		m.fail("%s is %s; %s should be %s", f.FullName(), f.Kind(), t, want)
		return out
	}
	switch {
	case f.Kind() == protoreflect.EnumKind:
		out.last = m.enum(f.Enum(), t.(*types.Named))
	case f.Kind() != protoreflect.MessageKind:
	case types.IsInterface(t):
		if name := t.(*types.Named).Obj().Name(); name != string(f.Message().Name()) {
			m.fail("%s is %s; %s should be %s", f.FullName(), f.Message().Name(), t, name)
		}
	default:
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		out.of = m.message(f.Message(), t)
	}
	return out
}

// leaf is a Go type with functions of its own in package wire.
type leaf struct {
	name string // in the names of the functions
	kind protoreflect.Kind
}

var leaves = map[string]leaf{
	"*" + module + "catalog.Table":      {"TableRef", protoreflect.Uint32Kind},
	"*" + module + "catalog.Index":      {"IndexRef", protoreflect.Uint32Kind},
	"*" + module + "sql/pgcatalog.Proc": {"Proc", protoreflect.Uint32Kind},
	module + "sql/types.Datum":          {"Datum", protoreflect.BytesKind},
	"[]byte":                            {"Bytes", protoreflect.BytesKind},
	"string":                            {"Text", protoreflect.StringKind},
	"bool":                              {"Bool", protoreflect.BoolKind},
}

// leafOf returns the zero value for other types.
func leafOf(t types.Type) leaf {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return leaves["*"+types.Unalias(p.Elem()).String()]
	}
	return leaves[types.Unalias(t).String()]
}

// kindOf returns how a Go type is sent.
func kindOf(t types.Type) protoreflect.Kind {
	if l := leafOf(t); l.name != "" {
		return l.kind
	}
	b, basic := t.Underlying().(*types.Basic)
	if !basic {
		return protoreflect.MessageKind
	}
	if _, named := types.Unalias(t).(*types.Named); named {
		return protoreflect.EnumKind
	}
	return map[types.BasicKind]protoreflect.Kind{
		types.Int: protoreflect.Sint64Kind, types.Int64: protoreflect.Sint64Kind, types.Int32: protoreflect.Sint32Kind,
		types.Uint8: protoreflect.Uint32Kind, types.Uint16: protoreflect.Uint32Kind,
		types.Uint32: protoreflect.Uint32Kind, types.Uint64: protoreflect.Uint64Kind,
	}[b.Kind()]
}

// enum matches the values of an enumeration and returns the largest one. Only the value 0 may be
// missing in Go.
func (m *matcher) enum(d protoreflect.EnumDescriptor, t *types.Named) string {
	var last string
	want, largest := constants(t), protoreflect.EnumNumber(-1)
	byName := map[string]string{}
	for name := range want {
		byName[strings.ToLower(name)] = name
	}
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		name := byName[plain(v.Name())]
		switch {
		case name == "" && v.Number() == 0:
		case name == "" || want[name] != fmt.Sprint(v.Number()):
			m.fail("%s is no value of %s, or another number", v.FullName(), t)
		}
		delete(want, name)
		if v.Number() > largest {
			largest, last = v.Number(), t.Obj().Pkg().Name()+"."+name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		m.fail("%s is not in plan.proto: give it its number in %s", name, d.FullName())
	}
	return last
}
