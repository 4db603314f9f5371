package catalog

import (
	"maps"
	"slices"
)

// Index is an index of a table. The primary key's index in key order exists unless switched off (WITH (pk_order = off)).
type Index struct {
	OID       OID
	Name      string
	StorageID uint32  // index(4) of the key layout, unique in the table: 1 for the primary key's, OIDs of their own for the others
	Columns   []int16 // the key, in order; 0 is an expression
	Unique    bool
	Primary   bool
	Comment   string

	Expressions []string   // SQL text of the key's expressions, in their order
	Order       []KeyOrder // of each key column; empty is ascending, nulls last, for all
	Classes     []OID      // operator classes of the key columns; 0, and empty for all, is the default one of the type
	Predicate   string     // SQL text of WHERE, "" is none
	Include     []int16    // INCLUDE columns, kept in the definition only
	// NullsNotDistinct: nulls are equal to each other, for a unique index.
	NullsNotDistinct bool
	// Global: entries lie in the fragment of the bucket of their key, not in that of their row.
	Global bool
	State  IndexState
	// Options are storage parameters as given. Global follows from scope only where that is among them.
	Options map[string]string
}

// KeyOrder is pg_index.indoption.
type KeyOrder byte

// Bits of KeyOrder.
const (
	KeyDesc       KeyOrder = 1
	KeyNullsFirst KeyOrder = 2
)

// IndexState says how far an index is. Only neighbouring states may be in use at once (C2).
type IndexState byte

// States of an index.
const (
	IndexPublic   IndexState = iota // writers keep it, readers use it
	IndexBuilding                   // writers keep it, readers do not use it: entries of older rows are missing
)

// OrderOf returns the order of key column i.
func (x *Index) OrderOf(i int) KeyOrder {
	if i < len(x.Order) {
		return x.Order[i]
	}
	return 0
}

// ClassOf returns the operator class of key column i, 0 for the default one of its type.
func (x *Index) ClassOf(i int) OID {
	if i < len(x.Classes) {
		return x.Classes[i]
	}
	return 0
}

// Secondary reports whether the index is kept by its own rule: it is none in primary key order.
func (x *Index) Secondary() bool { return !x.Primary }

// Index returns the table's index with an OID, nil if it has none.
func (t *Table) Index(oid OID) *Index {
	for i := range t.Indexes {
		if t.Indexes[i].OID == oid {
			return &t.Indexes[i]
		}
	}
	return nil
}

// ConstraintOf returns the constraint that an index belongs to, nil if there is none.
func (t *Table) ConstraintOf(index OID) *Constraint {
	for i := range t.Constraints {
		if t.Constraints[i].Index == index {
			return &t.Constraints[i]
		}
	}
	return nil
}

func (x *Index) clone() Index {
	c := *x
	c.Columns = slices.Clone(x.Columns)
	c.Expressions = slices.Clone(x.Expressions)
	c.Order = slices.Clone(x.Order)
	c.Classes = slices.Clone(x.Classes)
	c.Include = slices.Clone(x.Include)
	c.Options = maps.Clone(x.Options)
	return c
}

// GlobalIndex tells whether an index of a table, both by their storage ids, is global: by the definitions in force, or by those that wait for their
// transaction's decision, which may be held for long.
func (v *View) GlobalIndex(table, index uint32) bool {
	return v.anyStored(table, func(t *Table) bool { return t.globalIndex(index) })
}

// KnowsIndex reports whether a table has an index, both by their storage ids, by the definitions
// that GlobalIndex goes by.
func (v *View) KnowsIndex(table, index uint32) bool {
	return v.anyStored(table, func(t *Table) bool {
		return slices.ContainsFunc(t.Indexes, func(x Index) bool { return x.StorageID == index })
	})
}

// KnowsStorage reports whether something keeps its rows under a storage id, by the definitions that
// GlobalIndex goes by.
func (v *View) KnowsStorage(table uint32) bool {
	return v.anyStored(table, func(*Table) bool { return true })
}

// anyStored reports whether fn is true of a definition that has a storage id: of the one in force,
// or of one that waits for its transaction's decision.
func (v *View) anyStored(table uint32, fn func(*Table) bool) bool {
	if t := v.TableByStorage(table); t != nil && fn(t) {
		return true
	}
	for _, p := range v.prepared {
		for _, o := range p.ops {
			if t, ok := o.desc.(*Table); ok && t.StorageID == table && fn(t) {
				return true
			}
		}
	}
	return false
}

func (t *Table) globalIndex(storage uint32) bool {
	return slices.ContainsFunc(t.Indexes, func(x Index) bool { return x.StorageID == storage && x.Global })
}
