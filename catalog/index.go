package catalog

import (
	"maps"
	"slices"
)

// Index is an index of a table. The primary key's index in key order exists unless it is switched
// off (WITH (pk_order = off)).
type Index struct {
	OID  OID
	Name string
	// index(4) in the keys, unique in the table: 1 for the primary key's index, otherwise an OID of
	// its own.
	StorageID uint32
	Columns   []int16 // the key, in order; 0 is an expression
	Unique    bool
	Primary   bool
	Comment   string

	Expressions []string   // SQL text of the key's expressions, in their order
	Order       []KeyOrder // of each key column; empty is ascending, nulls last, for all
	// Operator classes of the key columns; 0, or an empty list, is the default class of the type.
	Classes   []OID
	Predicate string  // SQL text of WHERE, "" if there is none
	Include   []int16 // INCLUDE columns; only the definition has them
	// NullsNotDistinct: a unique index treats nulls as equal.
	NullsNotDistinct bool
	// Global: entries are in the fragment of the bucket of their key, not in the fragment of their
	// row.
	Global bool
	State  IndexState
	// Options are the storage parameters as the user wrote them. Global follows from scope only if
	// it is one of them.
	Options map[string]string
	Method  AccessMethod
	// Targets are the statistics targets of the key columns plus 1; 0, or an empty list, is the default.
	Targets []uint32
}

// AccessMethod is how the entries of an index are made of its keys, and what it is shown as.
type AccessMethod string

// Access methods. Entries of GIN have terms of the values of the keys (package gin of sql), those of
// the others the values themselves, in their order.
const (
	BTree  AccessMethod = ""
	Hash   AccessMethod = "hash"
	GIN    AccessMethod = "gin"
	BRIN   AccessMethod = "brin"
	SPGiST AccessMethod = "spgist"
)

// String returns the name of the method.
func (m AccessMethod) String() string {
	if m == BTree {
		return "btree"
	}
	return string(m)
}

// KeyOrder is pg_index.indoption.
type KeyOrder byte

// Bits of KeyOrder.
const (
	KeyDesc       KeyOrder = 1
	KeyNullsFirst KeyOrder = 2
)

// IndexState is a step in the creation of an index. Only neighbouring states may be in use at once
// (C2).
type IndexState byte

// States of an index.
const (
	IndexPublic IndexState = iota // writers maintain it, readers use it
	// Writers maintain it, readers do not use it: entries of older rows are missing.
	IndexBuilding
)

// OrderOf returns the order of key column i.
func (x *Index) OrderOf(i int) KeyOrder {
	if i < len(x.Order) {
		return x.Order[i]
	}
	return 0
}

// ClassOf returns the operator class of key column i, 0 for the default class of its type.
func (x *Index) ClassOf(i int) OID {
	if i < len(x.Classes) {
		return x.Classes[i]
	}
	return 0
}

// StatisticsTarget returns the statistics target of key column i, -1 for the default.
func (x *Index) StatisticsTarget(i int) int {
	if i < len(x.Targets) {
		return int(x.Targets[i]) - 1
	}
	return -1
}

// Secondary reports whether the index is not the one in primary key order.
func (x *Index) Secondary() bool { return !x.Primary }

// Index returns the table's index with an OID, nil if there is none.
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
	c.Targets = slices.Clone(x.Targets)
	return c
}

// GlobalIndex reports whether an index is global; table and index are storage ids. It looks at the
// definitions in force and at those that wait for their transaction's decision, which can take
// long.
func (v *View) GlobalIndex(table, index uint32) bool {
	return v.anyStored(table, func(t *Table) bool { return t.globalIndex(index) })
}

// KnowsIndex reports whether a table has an index; both are storage ids. It looks at the same
// definitions as GlobalIndex.
func (v *View) KnowsIndex(table, index uint32) bool {
	return v.anyStored(table, func(t *Table) bool {
		return slices.ContainsFunc(t.Indexes, func(x Index) bool { return x.StorageID == index })
	})
}

// KnowsStorage reports whether a definition has this storage id. It looks at the same definitions
// as GlobalIndex.
func (v *View) KnowsStorage(table uint32) bool {
	return v.anyStored(table, func(*Table) bool { return true })
}

// anyStored reports whether fn is true for a definition with this storage id, either the one in
// force or one that waits for its transaction's decision.
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
