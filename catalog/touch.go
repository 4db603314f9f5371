package catalog

import "slices"

// Touch is something that must not change between the statement that planned with it and the end of
// the transaction.
type Touch struct {
	Table  OID    // a table; or
	Object uint64 // an object of another kind; or
	// A name, with its name space, that the transaction is about to use for a new object.
	Name    string
	Changes bool // the transaction changes it; otherwise it only must not change
}

// Touches returns what a change touches. The order is the same for all transactions, so two
// transactions that lock everything rarely form a cycle. Nodes and jobs are left out, because query
// plans do not use them.
func (c *Change) Touches() []Touch { return c.base.touches(footprintOf(c.ops)) }

func (v *View) touches(f *footprint) []Touch {
	var out []Touch
	add := func(keys map[objectKey]bool, changes bool) {
		for k := range keys {
			switch {
			case !k.kind().isDefinition() || !changes && f.changes[k]:
			case k.kind() == tableObject:
				out = append(out, Touch{Table: OID(k.id()), Changes: changes})
			default:
				out = append(out, Touch{Object: uint64(k), Changes: changes})
			}
		}
	}
	add(f.changes, true)
	add(f.needs, false)
	for name := range f.names {
		if holder, ok := v.names.Get(name); !ok || !f.changes[objectKey(holder)] {
			out = append(out, Touch{Name: name, Changes: true})
		}
	}
	slices.SortFunc(out, func(a, b Touch) int {
		return slices.Compare(a.order(), b.order())
	})
	return out
}

func (t Touch) order() []uint64 {
	out := []uint64{uint64(t.Table), t.Object}
	for _, b := range []byte(t.Name) {
		out = append(out, uint64(b))
	}
	return out
}
