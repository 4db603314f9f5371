package pgcatalog

import "sync"

// OperatorClass is a btree operator class.
type OperatorClass struct {
	OID     uint32
	Name    string
	Type    uint32 // its operators' operand type
	Default bool
}

var btreeClasses = sync.OnceValue(func() []OperatorClass {
	var out []OperatorClass
	err := scan("pg_opclass", func(r *record) {
		if r.oid("opcmethod") == btree {
			out = append(out, OperatorClass{r.oid("oid"), r.text("opcname"), r.oid("opcintype"), r.bool("opcdefault")})
		}
	})
	if err != nil {
		panic(err)
	}
	return out
})

// ClassNamed returns a btree operator class by its name in pg_catalog.
func ClassNamed(name string) (OperatorClass, bool) {
	for _, c := range btreeClasses() {
		if c.Name == name {
			return c, true
		}
	}
	return OperatorClass{}, false
}

// ClassByOID returns a btree operator class.
func ClassByOID(oid uint32) (OperatorClass, bool) {
	for _, c := range btreeClasses() {
		if c.OID == oid {
			return c, true
		}
	}
	return OperatorClass{}, false
}
