package catalog

import (
	"maps"
	"slices"
	"strings"
)

// OnCommit is what the end of a transaction does with a temporary table. Other tables have 0.
type OnCommit byte

// What ON COMMIT says.
const (
	PreserveRows OnCommit = 'p'
	DeleteRows   OnCommit = 'd'
	DropTable    OnCommit = 'x'
)

// TemporarySchema is the name by which each session finds the schema of its temporary objects. The
// schema has a name of its own too.
const TemporarySchema = "pg_temp"

// IsTemporarySchema reports whether a name is that of a schema of temporary objects.
func IsTemporarySchema(name string) bool {
	return name == TemporarySchema || strings.HasPrefix(name, TemporarySchema+"_")
}

// WrittenPath returns a search path without the schemas that come before the written ones: those of
// temporary objects, and pg_catalog behind it.
func WrittenPath(path []string) []string {
	if len(path) == 0 || path[0] == TemporarySchema || !IsTemporarySchema(path[0]) {
		return path
	}
	if path = path[1:]; len(path) > 0 && path[0] == "pg_catalog" {
		path = path[1:]
	}
	return path
}

// SearchPath returns a written search path with the schemas that come before: that of temporary
// objects, nil if there is none, unless the path lists it; and pg_catalog.
func SearchPath(temporary *Schema, written []string) []string {
	if temporary == nil || slices.Contains(written, TemporarySchema) {
		return written
	}
	out := []string{temporary.Name}
	if !slices.Contains(written, "pg_catalog") {
		out = append(out, "pg_catalog")
	}
	return append(out, written...)
}

// IsTemporary reports whether only one session has the relation.
func (t *Table) IsTemporary() bool { return t.OnCommit != 0 }

// Temporary is the definitions of one session's temporary objects: its schema of them and what is
// in it. They are in views of that session only (On), and never proposed. A Temporary does
// not change; nil has no objects.
type Temporary struct {
	schema  OID
	objects map[objectKey]entry
	last    uint64 // revision
}

// temporaryRevisions are the revisions of temporary objects. They are above those of all other
// objects, and stay the same when the session goes on with a newer catalog.
const temporaryRevisions = 1 << 62

// Schema returns the OID of the schema of temporary objects, 0 if the session has none.
func (t *Temporary) Schema() OID {
	if t == nil {
		return 0
	}
	return t.schema
}

// Has reports whether the session has a temporary relation.
func (t *Temporary) Has(table OID) bool {
	if t == nil {
		return false
	}
	_, ok := t.objects[newKey(tableObject, uint64(table))]
	return ok
}

// Tables returns the temporary relations by OID.
func (t *Temporary) Tables() (out []*Table) {
	if t == nil {
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(t.objects)) {
		if x, ok := t.objects[k].desc.(*Table); ok {
			out = append(out, x)
		}
	}
	return out
}

// AfterCommit returns the objects without the tables that ON COMMIT drops, and what depends on them.
// dropped reports whether there are such tables.
func (t *Temporary) AfterCommit() (left *Temporary, dropped bool) {
	gone := map[OID]bool{}
	tables := t.Tables()
	for more := true; more; {
		more = false
		for _, x := range tables {
			if !gone[x.OID] && (x.OnCommit == DropTable || x.dependsOn(gone)) {
				gone[x.OID], more = true, true
			}
		}
	}
	if len(gone) == 0 {
		return t, false
	}
	out := *t
	out.objects = maps.Clone(t.objects)
	for _, x := range tables {
		key := keyOf(x)
		switch refers := func(c Constraint) bool { return c.Reference != nil && gone[c.Reference.Table] }; {
		case gone[x.OID]:
			out.remove(key)
		case slices.ContainsFunc(x.Constraints, refers):
			x = x.Clone()
			x.Constraints = slices.DeleteFunc(x.Constraints, refers)
			out.last++
			out.objects[key] = entry{out.last, x}
		}
	}
	return &out, true
}

// dependsOn reports whether a relation is dropped with others: a sequence that a column owns, or a
// view.
func (t *Table) dependsOn(gone map[OID]bool) bool {
	return t.Sequence != nil && gone[t.Sequence.Table] ||
		t.View != nil && slices.ContainsFunc(t.View.Uses, func(u Use) bool { return gone[u.Relation] })
}

// On returns a view with the temporary objects, which has none yet. The caller chooses its definition
// version.
func (t *Temporary) On(v *View, definitionVersion uint64) (*View, error) {
	d := v.draft()
	d.definitionVersion, d.temporary, d.onto = definitionVersion, t, v
	for _, k := range slices.Sorted(maps.Keys(t.objects)) {
		if err := d.insert(t.objects[k]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// TemporaryOf returns the definitions of the temporary objects in a view, nil if it has none.
func TemporaryOf(v *View) *Temporary { return v.temporary }

// PutTemporarySchema creates the schema of a session's temporary objects.
func PutTemporarySchema(c *Change, s *Schema) error {
	s = s.Clone()
	s.Temporary = true
	return c.put(s)
}

// ChangesTemporary reports whether a change concerns temporary objects.
func ChangesTemporary(c *Change) bool {
	return slices.ContainsFunc(c.ops, func(o op) bool {
		return o.kind == putOp && c.base.temporary.owns(o.desc) || o.kind == dropOp && o.expect >= temporaryRevisions
	})
}

// Apart splits a change into what it does to the definitions of all sessions and the temporary
// objects that are there after it.
func Apart(c *Change) (shared *Change, left *Temporary) {
	was := c.base.temporary
	t := &Temporary{schema: was.Schema(), objects: map[objectKey]entry{}, last: temporaryRevisions}
	if was != nil {
		t.objects, t.last = maps.Clone(was.objects), was.last
	}
	for _, o := range c.ops {
		if s, ok := o.desc.(*Schema); ok && s.Temporary {
			t.schema = s.OID
		}
	}
	shared = &Change{base: c.base, at: map[objectKey]int{}, lock: c.lock}
	for _, o := range c.ops {
		_, known := t.objects[o.key]
		switch {
		case o.kind == putOp && (known || t.owns(o.desc)):
			t.last++
			t.objects[o.key] = entry{t.last, o.desc}
		case o.kind == dropOp && known:
			t.remove(o.key)
		case known || o.kind == requireOp && o.expect >= temporaryRevisions:
		default:
			shared.at[o.key] = len(shared.ops)
			shared.ops = append(shared.ops, o)
		}
	}
	if len(t.objects) == 0 {
		t = nil
	}
	changes := func(o op) bool { return o.kind != requireOp }
	if !slices.ContainsFunc(shared.ops, changes) && len(shared.ops) < len(c.ops) {
		shared.ops = nil // they are what the temporary objects need
	}
	return shared, t
}

// remove removes an object, with the statistics of its rows.
func (t *Temporary) remove(key objectKey) {
	delete(t.objects, key)
	if key.kind() == tableObject {
		delete(t.objects, newKey(statisticsObject, key.id()))
	}
}

// owns reports whether a descriptor is that of a temporary object.
func (t *Temporary) owns(d descriptor) bool {
	switch d := d.(type) {
	case *Schema:
		return d.Temporary
	case *Table:
		return d.IsTemporary()
	case *Type:
		return t != nil && d.Schema == t.schema
	case *Function:
		return t != nil && d.Schema == t.schema
	case *Statistics:
		return t.Has(d.Table)
	}
	return false
}
