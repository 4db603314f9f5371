package catalog

import (
	"iter"

	"github.com/tidwall/btree"
)

// View is the catalog as of a version. It is immutable (K1); lookups take no lock. Lookups of what
// does not exist return nil.
type View struct {
	version           uint64
	definitionVersion uint64
	objects           btree.Map[uint64, entry]     // by objectKey
	names             btree.Map[string, uint64]    // by nameKey; to the objectKey that holds the name
	numbers           btree.Map[uint64, objectKey] // by numberKey
	prepared          []*prepared                  // by id
	decided           []*decided                   // by id
	superseded        chan struct{}
	referrers         *referrers
}

// entry is a descriptor with the version of the view that it first appeared in.
type entry struct {
	revision uint64
	desc     descriptor
}

func emptyView() *View { return &View{superseded: make(chan struct{}), referrers: &referrers{}} }

// draft copies the view for a writer. Trees are shared copy-on-write.
func (v *View) draft() *View {
	d := &View{version: v.version, definitionVersion: v.definitionVersion, superseded: make(chan struct{}), referrers: &referrers{}}
	d.prepared, d.decided = v.prepared, v.decided
	// Copy writes to the tree that it copies: here to copies of the trees' heads, since several may draft from one view at once. Nodes that
	// v owns stay as they are, for v is never written to again.
	objects, names, numbers := v.objects, v.names, v.numbers
	d.objects, d.names, d.numbers = *objects.Copy(), *names.Copy(), *numbers.Copy()
	return d
}

// Version grows by one with each change. 0 is a catalog that was not bootstrapped.
func (v *View) Version() uint64 { return v.version }

// DefinitionVersion is the version of the last change that can matter to a plan: of anything but nodes, jobs, and where buckets and
// replicas are.
func (v *View) DefinitionVersion() uint64 { return v.definitionVersion }

// Superseded is closed when a newer view has taken this one's place.
func (v *View) Superseded() <-chan struct{} { return v.superseded }

// get returns the descriptor under key as a D, or the zero value.
func get[D descriptor](v *View, key objectKey) D {
	e, _ := v.objects.Get(uint64(key))
	d, _ := e.desc.(D)
	return d
}

// byName returns the descriptor that holds a name.
func byName[D descriptor](v *View, space nameSpace, parent OID, name string) D {
	var none D
	k, ok := v.names.Get(nameKey(space, parent, name))
	if !ok {
		return none
	}
	return get[D](v, objectKey(k))
}

// all returns the descriptors of a kind in the order of their numbers.
func all[D descriptor](v *View, kind objectKind) iter.Seq[D] {
	return func(yield func(D) bool) {
		v.objects.Ascend(uint64(newKey(kind, 0)), func(k uint64, e entry) bool {
			return objectKey(k).kind() == kind && yield(e.desc.(D))
		})
	}
}

// named returns the descriptors that hold names in a name space of parent, in name order; one that
// holds several comes several times.
func named[D descriptor](v *View, space nameSpace, parent OID) iter.Seq2[string, D] {
	return func(yield func(string, D) bool) {
		prefix := nameKey(space, parent, "")
		v.names.Ascend(prefix, func(k string, key uint64) bool {
			return len(k) >= len(prefix) && k[:len(prefix)] == prefix && yield(k[len(prefix):], get[D](v, objectKey(key)))
		})
	}
}

// Cluster returns what concerns the whole cluster, nil before Bootstrap.
func (v *View) Cluster() *Cluster { return get[*Cluster](v, newKey(clusterObject, 0)) }

// Database looks a database up by OID.
func (v *View) Database(oid OID) *Database {
	return get[*Database](v, newKey(databaseObject, uint64(oid)))
}

// DatabaseByName looks a database up by name.
func (v *View) DatabaseByName(name string) *Database {
	return byName[*Database](v, databaseNames, 0, name)
}

// Databases returns all databases by OID.
func (v *View) Databases() iter.Seq[*Database] { return all[*Database](v, databaseObject) }

// Fragment looks a fragment and its database up by the fragment's number.
func (v *View) Fragment(id uint32) (*Database, *Fragment) {
	k, ok := v.numbers.Get(numberKey(fragmentNumbers, id))
	if !ok {
		return nil, nil
	}
	d := get[*Database](v, k)
	return d, d.FragmentByID(id)
}

// Schema looks a schema up by OID.
func (v *View) Schema(oid OID) *Schema { return get[*Schema](v, newKey(schemaObject, uint64(oid))) }

// SchemaByName looks a schema up by database and name. Built-in schemas are not kept here.
func (v *View) SchemaByName(database OID, name string) *Schema {
	return byName[*Schema](v, schemaNames, database, name)
}

// Schemas returns a database's schemas by name.
func (v *View) Schemas(database OID) iter.Seq[*Schema] {
	return values(named[*Schema](v, schemaNames, database))
}

// Table looks a table up by OID.
func (v *View) Table(oid OID) *Table { return get[*Table](v, newKey(tableObject, uint64(oid))) }

// Relation looks a name up in a schema: the table and a nil index, or the table and the index of that name.
func (v *View) Relation(schema OID, name string) (*Table, *Index) {
	t := byName[*Table](v, relationNames, schema, name)
	if t == nil || t.Name == name {
		return t, nil
	}
	for i := range t.Indexes {
		if t.Indexes[i].Name == name {
			return t, &t.Indexes[i]
		}
	}
	panic("catalog: relation name without a holder") // K4
}

// TableByName looks a table (sequence, view) up by schema and name; for the name of an index it
// returns nil.
func (v *View) TableByName(schema OID, name string) *Table {
	t, i := v.Relation(schema, name)
	if i != nil {
		return nil
	}
	return t
}

// FindTable looks a table up by database, schema name and name.
func (v *View) FindTable(database OID, schema, name string) *Table {
	s := v.SchemaByName(database, schema)
	if s == nil {
		return nil
	}
	return v.TableByName(s.OID, name)
}

// TablesIn returns a schema's tables by name.
func (v *View) TablesIn(schema OID) iter.Seq[*Table] {
	return func(yield func(*Table) bool) {
		for name, t := range named[*Table](v, relationNames, schema) {
			if t.Name == name && !yield(t) {
				return
			}
		}
	}
}

// Tables returns the tables of a database by OID, those of all databases for 0.
func (v *View) Tables(database OID) iter.Seq[*Table] {
	return func(yield func(*Table) bool) {
		for t := range all[*Table](v, tableObject) {
			if (database == 0 || t.Database == database) && !yield(t) {
				return
			}
		}
	}
}

// TableOfPart returns the table whose index or constraint has the OID.
func (v *View) TableOfPart(oid OID) *Table {
	k, _ := v.numbers.Get(numberKey(partNumbers, oid))
	return get[*Table](v, k)
}

// Index looks an index and its table up by the index's OID.
func (v *View) Index(oid OID) (*Table, *Index) {
	t := v.TableOfPart(oid)
	if t == nil {
		return nil, nil
	}
	for i := range t.Indexes {
		if t.Indexes[i].OID == oid {
			return t, &t.Indexes[i]
		}
	}
	return nil, nil
}

// TableByStorage returns the table whose rows are kept under a storage id.
func (v *View) TableByStorage(storageID uint32) *Table {
	k, _ := v.numbers.Get(numberKey(storageNumbers, storageID))
	return get[*Table](v, k)
}

// Role looks a role up by OID.
func (v *View) Role(oid OID) *Role { return get[*Role](v, newKey(roleObject, uint64(oid))) }

// RoleByName looks a role up by name.
func (v *View) RoleByName(name string) *Role { return byName[*Role](v, roleNames, 0, name) }

// Roles returns all roles by OID.
func (v *View) Roles() iter.Seq[*Role] { return all[*Role](v, roleObject) }

// Node looks a node up by number; one that was removed is not there.
func (v *View) Node(id uint32) *Node {
	if n := get[*Node](v, newKey(nodeObject, uint64(id))); n != nil && n.State != NodeRemoved {
		return n
	}
	return nil
}

// LostNode returns a node that was declared lost and is not removed yet; nil if it was not.
func (v *View) LostNode(id uint32) *Node {
	if n := v.Node(id); n != nil && n.State == NodeLost {
		return n
	}
	return nil
}

// RemovedNode returns what was known of a node that was removed, nil if it was not.
func (v *View) RemovedNode(id uint32) *Node {
	if n := get[*Node](v, newKey(nodeObject, uint64(id))); n != nil && n.State == NodeRemoved {
		return n
	}
	return nil
}

// NodeByName looks a node up by name.
func (v *View) NodeByName(name string) *Node { return byName[*Node](v, nodeNames, 0, name) }

// RemovedNodes returns what was known of nodes that were removed.
func (v *View) RemovedNodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for n := range all[*Node](v, nodeObject) {
			if n.State == NodeRemoved && !yield(n) {
				return
			}
		}
	}
}

// Nodes returns all nodes by number, without those that were removed.
func (v *View) Nodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for n := range all[*Node](v, nodeObject) {
			if n.State != NodeRemoved && !yield(n) {
				return
			}
		}
	}
}

// Job looks a job up by number.
func (v *View) Job(id uint64) *Job { return get[*Job](v, newKey(jobObject, id)) }

// Jobs returns all jobs by number.
func (v *View) Jobs() iter.Seq[*Job] { return all[*Job](v, jobObject) }

func values[K, V any](seq iter.Seq2[K, V]) iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, v := range seq {
			if !yield(v) {
				return
			}
		}
	}
}
