package catalog

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Change is a batch of puts and drops planned against a view. Each step remembers the revision that
// the object has in that view; if the object has another revision when the change is applied, the
// change is refused as a conflict. Descriptors are copied when they are put. A later step on the
// same object replaces the earlier one. A Change must not be used by several goroutines at once.
type Change struct {
	base *View
	ops  []op
	at   map[objectKey]int // index in ops
	lock []TableLock       // locks of a transaction to prepare
}

// Plan starts a change planned against the view.
func (v *View) Plan() *Change { return &Change{base: v, at: map[objectKey]int{}} }

// Empty reports whether the change has no step.
func (c *Change) Empty() bool { return len(c.ops) == 0 }

func (c *Change) add(kind opKind, key objectKey, d descriptor) {
	e, _ := c.base.objects.Get(uint64(key))
	o := op{kind: kind, key: key, expect: e.revision, desc: d}
	if i, ok := c.at[key]; ok {
		if kind != requireOp {
			c.ops[i] = o
		}
		return
	}
	c.at[key] = len(c.ops)
	c.ops = append(c.ops, o)
}

// put checks a descriptor, which the caller has copied, and adds it. It refuses features that the
// version of the cluster does not have yet (features.go).
func (c *Change) put(d descriptor) error {
	if err := checkDescriptor(d); err != nil {
		return err
	}
	if err := c.base.mayPut(d); err != nil {
		return err
	}
	c.add(putOp, keyOf(d), d)
	return nil
}

// drop adds the removal of an object, if the view has it.
func (c *Change) drop(kind objectKind, id uint64) {
	key := newKey(kind, id)
	if _, ok := c.base.objects.Get(uint64(key)); ok {
		c.add(dropOp, key, nil)
		return
	}
	if i, ok := c.at[key]; ok { // the same change has put it
		c.ops[i] = op{kind: requireOp, key: key}
	}
}

// PutDatabase creates a database or replaces its definition.
func (c *Change) PutDatabase(d *Database) error { return c.put(d.Clone()) }

// DropDatabase drops a database with all its schemas and tables.
func (c *Change) DropDatabase(oid OID) { c.drop(databaseObject, uint64(oid)) }

// PutSchema creates a schema or replaces its definition. It refuses the names of built-in schemas
// with 42P06.
func (c *Change) PutSchema(s *Schema) error { return c.put(s.Clone()) }

// DropSchema drops a schema, which must have no table when the change is applied (2BP01).
func (c *Change) DropSchema(oid OID) { c.drop(schemaObject, uint64(oid)) }

// PutTable creates a table or replaces its definition. It sets the table's version to one more than
// the version in the view.
func (c *Change) PutTable(t *Table) error {
	t = t.Clone()
	t.Version = 1
	if old := c.base.Table(t.OID); old != nil {
		if err := t.keepsCounters(old); err != nil {
			return err
		}
		t.Version = old.Version + 1
	}
	t.takePrefixes(c.databaseOf(t))
	if c.base.version > 0 && c.base.Schema(t.Schema) != nil {
		// conflict if the schema is renamed or dropped meanwhile
		c.add(requireOp, newKey(schemaObject, uint64(t.Schema)), nil)
	}
	return c.put(t)
}

// databaseOf returns the database of a table with the earlier steps of the change applied, nil if
// there is none.
func (c *Change) databaseOf(t *Table) *Database {
	d := c.base.Database(t.Database)
	if i, ok := c.at[newKey(databaseObject, uint64(t.Database))]; ok && c.ops[i].kind == putOp {
		d = c.ops[i].desc.(*Database)
	}
	return d
}

// DropTable drops a table with its indexes.
func (c *Change) DropTable(oid OID) { c.drop(tableObject, uint64(oid)) }

// PutRole creates a role or replaces its definition.
func (c *Change) PutRole(r *Role) error { return c.put(r.Clone()) }

// DropRole drops a role, which must own nothing when the change is applied (2BP01).
func (c *Change) DropRole(oid OID) { c.drop(roleObject, uint64(oid)) }

// PutNode adds a node or replaces its descriptor.
func (c *Change) PutNode(n *Node) error { return c.put(n.Clone()) }

// RemoveNode removes a node, which must hold no fragment when the change is applied (2BP01). The
// descriptor stays, so the number is not reused and the node learns that it was removed.
func (c *Change) RemoveNode(n *Node) error {
	gone := n.Clone()
	gone.State = NodeRemoved
	return c.put(gone)
}

// DeclareLost notes that unsafe recovery went on without a node: it is never let in again.
func (c *Change) DeclareLost(n *Node) error {
	lost := n.Clone()
	lost.State = NodeLost
	return c.put(lost)
}

// DropNode deletes the descriptor of a node, which must hold no fragment when the change is applied
// (2BP01).
func (c *Change) DropNode(id uint32) { c.drop(nodeObject, uint64(id)) }

// PutJob records a job or how far it is.
func (c *Change) PutJob(j *Job) error { return c.put(j.Clone()) }

// DropJob forgets a job.
func (c *Change) DropJob(id uint64) { c.drop(jobObject, id) }

// PutSetting sets a setting of the cluster, as ALTER SYSTEM SET does.
func (c *Change) PutSetting(s Setting) error {
	return c.editCluster(func(k *Cluster) {
		if k.Settings == nil {
			k.Settings = map[string]string{}
		}
		k.Settings[s.Name] = s.Value
	})
}

// DropSetting resets a setting of the cluster, as ALTER SYSTEM RESET does.
func (c *Change) DropSetting(name string) error {
	return c.editCluster(func(k *Cluster) { delete(k.Settings, name) })
}

// DropSettings resets all settings of the cluster, as ALTER SYSTEM RESET ALL does.
func (c *Change) DropSettings() error { return c.editCluster(func(k *Cluster) { k.Settings = nil }) }

// RaiseFormat raises the version of the cluster (V4). From then on nodes that know only older
// versions are refused.
func (c *Change) RaiseFormat(to uint32) error {
	return c.editCluster(func(k *Cluster) { k.Format = max(k.Format, to) })
}

// editCluster changes the cluster as the change has left it so far.
func (c *Change) editCluster(edit func(*Cluster)) error {
	k := c.base.Cluster()
	if i, ok := c.at[newKey(clusterObject, 0)]; ok && c.ops[i].kind == putOp {
		k = c.ops[i].desc.(*Cluster)
	}
	if k == nil {
		return pgerr.New(pgerr.CannotConnectNow, "the catalog has not been set up yet")
	}
	k = k.clone()
	edit(k)
	return c.put(k)
}

// Require makes the change a conflict if the table, schema, database or role with this OID is
// changed meanwhile. The view must have it.
func (c *Change) Require(oid OID) error {
	for _, kind := range []objectKind{tableObject, schemaObject, databaseObject, roleObject} {
		key := newKey(kind, uint64(oid))
		if _, ok := c.base.objects.Get(uint64(key)); ok {
			c.add(requireOp, key, nil)
			return nil
		}
	}
	return fmt.Errorf("catalog: required object %d does not exist", oid)
}

// StartIDs sets the first number for ids that the server completes, for a table that the change
// creates: the transaction has already used the numbers below next.
func (c *Change) StartIDs(table OID, next uint64) {
	if i, ok := c.at[newKey(tableObject, uint64(table))]; ok && c.ops[i].kind == putOp {
		c.ops[i].nextID = next
	}
}

// Makes reports whether the change creates a table. No other transaction can know that table yet.
func (c *Change) Makes(table OID) bool {
	i, ok := c.at[newKey(tableObject, uint64(table))]
	return ok && c.ops[i].kind == putOp && c.ops[i].expect == 0
}

// Then returns a change that does what c does and then what next does, which was planned against
// c's Preview. It modifies neither, so if a statement is undone, its transaction still has the
// change from before the statement.
func (c *Change) Then(next *Change) *Change {
	out := &Change{base: c.base, ops: slices.Clone(c.ops), at: maps.Clone(c.at), lock: c.lock}
	for _, o := range next.ops {
		i, known := out.at[o.key]
		switch {
		case !known:
			out.at[o.key] = len(out.ops)
			out.ops = append(out.ops, o)
		case o.kind == requireOp: // c's own step requires it already
		case o.kind == dropOp && out.ops[i].expect == 0: // made by c: nothing is left of it
			out.ops[i] = op{kind: requireOp, key: o.key}
		default:
			o.expect, o.nextID = out.ops[i].expect, max(o.nextID, out.ops[i].nextID)
			out.ops[i] = o
		}
	}
	return out
}

// On returns the same change planned against a newer view. It returns a conflict (IsConflict) if an
// object that the change touches has changed meanwhile, except if another change has dropped the
// same old records.
func (c *Change) On(v *View) (*Change, error) {
	ops := slices.Clone(c.ops)
	for i, o := range ops {
		if o.kind != dropOp || o.key.kind() != recordObject {
			continue
		}
		if _, ok := v.objects.Get(uint64(o.key)); !ok {
			ops[i] = op{kind: requireOp, key: o.key}
		}
	}
	if err := v.expectAll(ops); err != nil {
		return nil, err
	}
	return &Change{base: v, ops: ops, at: c.at, lock: c.lock}, nil
}

// Rebase is On for a change whose transaction continues. A database that the change only requires,
// as a new schema requires its database, may have got other buckets or replicas meanwhile: the same
// transaction does that when it creates a range table. The name and owner of the database must be
// the same.
func (c *Change) Rebase(v *View) (*Change, error) {
	ops := slices.Clone(c.ops)
	for i, o := range ops {
		if o.kind != requireOp || o.key.kind() != databaseObject {
			continue
		}
		was, now := c.base.Database(OID(o.key.id())), v.Database(OID(o.key.id()))
		if was == nil || now == nil || was.Name != now.Name || was.Owner != now.Owner {
			return nil, conflict()
		}
		e, _ := v.objects.Get(uint64(o.key))
		ops[i].expect = e.revision
	}
	return (&Change{base: c.base, ops: ops, at: c.at, lock: c.lock}).On(v)
}

// Base returns the view that the change was planned against.
func (c *Change) Base() *View { return c.base }

// Preview returns the view that the change would lead to, without proposing it. It answers
// questions about definitions that are not in force yet.
func (c *Change) Preview() (*View, error) {
	return c.PreviewAs(c.base.definitionVersion + 1)
}

// PreviewAs is Preview with a definition version chosen by the caller. The version that Preview
// uses is also that of the next real change.
func (c *Change) PreviewAs(definitionVersion uint64) (*View, error) {
	base := *c.base
	base.prepared = nil // the real change waits for prepared changes, not the preview
	v, err := base.apply(c.ops, counters{oid: math.MaxUint64, fragment: math.MaxUint64, node: math.MaxUint64,
		job: math.MaxUint64})
	if err != nil {
		return nil, err
	}
	v.definitionVersion = definitionVersion
	if v.onto = c.base.onto; v.onto == nil {
		v.onto = c.base
	}
	return v, nil
}

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
