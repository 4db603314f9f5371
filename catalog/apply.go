package catalog

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
)

// op is one step of a batch: put desc, drop the object, or only require its revision.
type op struct {
	kind   opKind
	key    objectKey
	expect uint64 // revision that the object must have; 0: must not exist
	desc   descriptor
	nextID uint64 // of a new table: the document ids below it are already used; 0: none
}

type opKind uint8

const (
	putOp opKind = iota
	dropOp
	requireOp
)

// errConflict marks a change that was planned against an outdated view.
var errConflict = errors.New("catalog: the object was changed meanwhile")

// IsConflict reports whether a change was refused because another one came first. It may succeed if
// it is planned again, as Update does.
func IsConflict(err error) bool { return errors.Is(err, errConflict) }

func conflict() error {
	return fmt.Errorf("%w: %w", pgerr.New(pgerr.SerializationFailure,
		"could not serialize access due to concurrent update").
		WithDetail("A definition was changed by another statement at the same time.").
		WithHint("Try again."), errConflict)
}

// apply returns the view after a batch. If it returns an error, nothing has changed. It is
// deterministic (K2); the proposer gets the error.
func (v *View) apply(ops []op, c counters) (*View, error) {
	d := v.draft()
	d.version++
	if err := v.checkPrepared(ops); err != nil {
		return nil, err
	}
	if err := d.expectAll(ops); err != nil {
		return nil, err
	}
	// Remove old names first, so that a batch may swap the names of two objects.
	for _, o := range ops {
		if o.kind != requireOp {
			d.remove(o.key)
		}
	}
	for _, o := range ops {
		if o.kind == dropOp && o.key.kind() == databaseObject {
			d.removeDatabaseContents(OID(o.key.id()))
		}
		if o.kind == dropOp && o.key.kind() == tableObject {
			d.remove(newKey(statisticsObject, o.key.id())) // also those that the proposer has not seen
		}
	}
	for _, o := range ops {
		if o.kind != putOp {
			continue
		}
		if err := errors.Join(checkDescriptor(o.desc), c.checkAllotted(o.desc)); err != nil {
			return nil, err
		}
		if err := d.insert(entry{d.version, o.desc}); err != nil {
			return nil, err
		}
	}
	if err := d.checkReferences(v, ops); err != nil {
		return nil, err
	}
	for _, o := range ops {
		if o.defines(v) {
			d.definitionVersion = d.version
		}
	}
	return d, nil
}

// defines reports whether a step changes what query plans depend on. The places of a database's
// buckets and replicas do not count, because the node that runs a plan looks them up. A put that
// writes the cluster's object unchanged (Change.begun) does not count either.
func (o *op) defines(base *View) bool {
	if o.kind == requireOp || !o.key.kind().isDefinition() {
		return false
	}
	if next, ok := o.desc.(*Cluster); ok {
		return !reflect.DeepEqual(base.Cluster(), next)
	}
	next, ok := o.desc.(*Database)
	old := get[*Database](base, o.key)
	return !ok || old == nil || !reflect.DeepEqual(old.unplaced(), next.unplaced())
}

// unplaced returns a copy of the database without the places of its buckets and replicas.
func (d *Database) unplaced() *Database {
	c := *d
	c.Prefixes = nil // query plans use the rules in the tables
	c.Map, c.Pins, c.Labels, c.Fragments = nil, nil, nil, slices.Clone(d.Fragments)
	for i := range c.Fragments {
		f := &c.Fragments[i]
		f.Nodes, f.Joining, f.Leaving, f.Labels = nil, nil, nil, nil
	}
	return &c
}

// expectAll compares revisions. It refuses batches that name an object twice.
func (v *View) expectAll(ops []op) error {
	seen := map[objectKey]bool{}
	for _, o := range ops {
		if seen[o.key] {
			return fmt.Errorf("catalog: object %x is twice in a change", o.key)
		}
		seen[o.key] = true
		if e, _ := v.objects.Get(uint64(o.key)); e.revision != o.expect {
			return conflict()
		}
	}
	return nil
}

// remove removes an object with its names and numbers. It does nothing if there is no such object.
func (v *View) remove(key objectKey) {
	e, ok := v.objects.Delete(uint64(key))
	if !ok {
		return
	}
	for _, n := range namesOf(e.desc) {
		v.names.Delete(n.key)
	}
	for _, n := range numbersOf(e.desc) {
		v.numbers.Delete(n)
	}
}

// removeDatabaseContents removes the contents of a dropped database, including definitions made
// after the drop was planned.
func (v *View) removeDatabaseContents(database OID) {
	var keys []objectKey
	for t := range v.Tables(database) {
		keys = append(keys, keyOf(t), newKey(statisticsObject, uint64(t.OID)))
	}
	for s := range all[*Schema](v, schemaObject) {
		if s.Database == database {
			keys = append(keys, keyOf(s))
		}
	}
	for t := range TypesOf(v, database) {
		keys = append(keys, keyOf(t))
	}
	for f := range FunctionsOf(v, database) {
		keys = append(keys, keyOf(f))
	}
	for _, k := range keys {
		v.remove(k)
	}
}

// insert adds a new object. It refuses names and numbers that are already used (K4).
func (v *View) insert(e entry) error {
	key := keyOf(e.desc)
	for _, n := range namesOf(e.desc) {
		if _, taken := v.names.Set(n.key, uint64(key)); taken {
			return n.taken()
		}
	}
	for _, n := range numbersOf(e.desc) {
		if _, taken := v.numbers.Set(n, key); taken {
			return fmt.Errorf("catalog: number %x of %T is taken", n, e.desc)
		}
	}
	v.objects.Set(uint64(key), e)
	return nil
}

// heldName is a name that a descriptor holds.
type heldName struct {
	key  string
	code string // SQLSTATE if a second object takes the name
	what string // the kind of object, for the message
	name string
}

func (n heldName) taken() error {
	return pgerr.New(n.code, `%s "%s" already exists`, n.what, n.name)
}

func namesOf(d descriptor) []heldName {
	one := func(space nameSpace, parent OID, name, code, what string) []heldName {
		return []heldName{{nameKey(space, parent, name), code, what, name}}
	}
	switch d := d.(type) {
	case *Database:
		return one(databaseNames, 0, d.Name, pgerr.DuplicateDatabase, "database")
	case *Schema:
		names := one(schemaNames, d.Database, d.Name, pgerr.DuplicateSchema, "schema")
		if d.Temporary {
			names = append(names, one(schemaNames, d.Database, TemporarySchema, pgerr.DuplicateSchema, "schema")...)
		}
		return names
	case *Role:
		return one(roleNames, 0, d.Name, pgerr.DuplicateObject, "role")
	case *Node:
		if d.State == NodeRemoved {
			return nil
		}
		names := one(nodeNames, 0, d.Name, pgerr.DuplicateObject, "node")
		return append(names, one(nodeBlocks, 0, d.Block, pgerr.DuplicateObject, "block of a node")...)
	case *Table:
		names := one(relationNames, d.Schema, d.Name, pgerr.DuplicateTable, "relation")
		if d.hasRowType() {
			names = append(names, one(typeNames, d.Schema, d.Name, pgerr.DuplicateObject, "type")...)
		}
		for _, x := range d.Indexes {
			names = append(names, one(relationNames, d.Schema, x.Name, pgerr.DuplicateTable, "relation")...)
		}
		for i := range d.Statistics {
			x := &d.Statistics[i]
			names = append(names,
				one(statisticsNames, x.Schema, x.Name, pgerr.DuplicateObject, "statistics object")...)
		}
		return names
	case *Type:
		return one(typeNames, d.Schema, d.Name, pgerr.DuplicateObject, "type")
	case *Function:
		return []heldName{d.heldName()}
	}
	return nil
}

// numbersOf returns the numbers, other than its own, that belong to a descriptor. A primary key and
// its index may share an OID.
func numbersOf(d descriptor) []uint64 {
	var out []uint64
	switch d := d.(type) {
	case *Database:
		for _, f := range d.Fragments {
			out = append(out, numberKey(fragmentNumbers, f.ID))
		}
	case *Table:
		if d.StorageID != 0 {
			out = append(out, numberKey(storageNumbers, d.StorageID))
		}
		indexes := map[OID]bool{}
		for _, x := range d.Indexes {
			indexes[x.OID] = true
			out = append(out, numberKey(partNumbers, x.OID))
		}
		for _, c := range d.Constraints {
			if !indexes[c.OID] {
				out = append(out, numberKey(partNumbers, c.OID))
			}
		}
		for i := range d.Statistics {
			out = append(out, numberKey(partNumbers, d.Statistics[i].OID))
		}
		for i := range d.Triggers {
			out = append(out, numberKey(partNumbers, d.Triggers[i].OID))
			if n := d.Triggers[i].Constraint; n != 0 {
				out = append(out, numberKey(partNumbers, n))
			}
		}
		for i := range d.RowPolicies() {
			out = append(out, numberKey(partNumbers, d.RowSecurity.Policies[i].OID))
		}
	case *Type:
		if d.Domain != nil {
			for i := range d.Domain.Checks {
				out = append(out, numberKey(partNumbers, d.Domain.Checks[i].OID))
			}
		}
	}
	return out
}
