package pgcatalog

import "sync"

// OperatorClass is an operator class of an access method.
type OperatorClass struct {
	OID     uint32
	Name    string
	Method  string // the name of the access method
	Type    uint32 // its operators' operand type
	Default bool
}

var classes = sync.OnceValue(func() []OperatorClass {
	methods := map[uint32]string{}
	err := scan("pg_am", func(r *record) { methods[r.oid("oid")] = r.text("amname") })
	if err != nil {
		panic(err)
	}
	var out []OperatorClass
	err = scan("pg_opclass", func(r *record) {
		out = append(out, OperatorClass{
			r.oid("oid"), r.text("opcname"), methods[r.oid("opcmethod")], r.oid("opcintype"), r.bool("opcdefault"),
		})
	})
	if err != nil {
		panic(err)
	}
	return out
})

// class returns the first operator class for which a function is true.
func class(is func(*OperatorClass) bool) (OperatorClass, bool) {
	list := classes()
	for i := range list {
		if is(&list[i]) {
			return list[i], true
		}
	}
	return OperatorClass{}, false
}

// ClassNamed returns an operator class of an access method by its name in pg_catalog.
func ClassNamed(method, name string) (OperatorClass, bool) {
	return class(func(c *OperatorClass) bool { return c.Method == method && c.Name == name })
}

// ClassByOID returns an operator class.
func ClassByOID(oid uint32) (OperatorClass, bool) {
	return class(func(c *OperatorClass) bool { return c.OID == oid })
}

// DefaultClass returns the default operator class of an access method for a type.
func DefaultClass(method string, typ uint32) (OperatorClass, bool) {
	if s := SortOpsOf(typ); s != nil {
		typ = s.Type
	}
	return class(func(c *OperatorClass) bool { return c.Method == method && c.Type == typ && c.Default })
}
