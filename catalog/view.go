package catalog

import (
	"iter"
	"strings"

	"github.com/tidwall/btree"
)

// View is the catalog as of a version. It is immutable (K1), so lookups take no lock. A lookup of
// something that does not exist returns nil.
type View struct {
	version           uint64
	definitionVersion uint64
	objects           btree.Map[uint64, entry] // by objectKey
	// By nameKey; the value is the objectKey of the object with that name.
	names      btree.Map[string, uint64]
	numbers    btree.Map[uint64, objectKey] // by numberKey
	prepared   []*prepared                  // by id
	decided    []*decided                   // by id
	superseded chan struct{}
	referrers  *referrers
	onto       *View // of a preview: the view in force that it was planned against; nil for all others
	temporary  *Temporary
}

// entry is a descriptor with the version of the view that it first appeared in.
type entry struct {
	revision uint64
	desc     descriptor
}

func emptyView() *View { return &View{superseded: make(chan struct{}), referrers: &referrers{}} }

// draft copies the view for a writer. Trees are shared copy-on-write.
func (v *View) draft() *View {
	d := &View{version: v.version, definitionVersion: v.definitionVersion, superseded: make(chan struct{}),
		referrers: &referrers{}}
	d.prepared, d.decided, d.temporary = v.prepared, v.decided, v.temporary
	// Copy modifies the head of the tree that it copies, so it gets copies of the heads: several
	// goroutines may draft from one view at once. The nodes that v owns stay unchanged, because v
	// is never written to again.
	objects, names, numbers := v.objects, v.names, v.numbers
	d.objects, d.names, d.numbers = *objects.Copy(), *names.Copy(), *numbers.Copy()
	return d
}

// Version grows by one with each change. It is 0 in a catalog that was not bootstrapped.
func (v *View) Version() uint64 { return v.version }

// DefinitionVersion is the version of the last change that can matter to a query plan: all changes
// except those of nodes, of jobs, and of the places of buckets and replicas.
func (v *View) DefinitionVersion() uint64 { return v.definitionVersion }

// Superseded returns a channel that is closed when a newer view replaces this one.
func (v *View) Superseded() <-chan struct{} { return v.superseded }

// get returns the descriptor under key as a D, or the zero value.
func get[D descriptor](v *View, key objectKey) D {
	e, _ := v.objects.Get(uint64(key))
	d, _ := e.desc.(D)
	return d
}

// byName returns the descriptor with a name.
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

// named returns the descriptors with names in a name space of parent, in name order: those that begin
// with a text. A descriptor with several names is returned several times.
func named[D descriptor](v *View, space nameSpace, parent OID, begin ...string) iter.Seq2[string, D] {
	return func(yield func(string, D) bool) {
		prefix := nameKey(space, parent, strings.Join(begin, ""))
		v.names.Ascend(prefix, func(k string, key uint64) bool {
			return len(k) >= len(prefix) && k[:len(prefix)] == prefix &&
				yield(k[len(prefix):], get[D](v, objectKey(key)))
		})
	}
}

// Cluster returns the descriptor of the whole cluster, nil before Bootstrap.
func (v *View) Cluster() *Cluster { return get[*Cluster](v, newKey(clusterObject, 0)) }

// Database returns the database with an OID.
func (v *View) Database(oid OID) *Database {
	return get[*Database](v, newKey(databaseObject, uint64(oid)))
}

// DatabaseByName returns the database with a name.
func (v *View) DatabaseByName(name string) *Database {
	return byName[*Database](v, databaseNames, 0, name)
}

// Databases returns all databases by OID.
func (v *View) Databases() iter.Seq[*Database] { return all[*Database](v, databaseObject) }

// Fragment returns the fragment with a number, and its database.
func (v *View) Fragment(id uint32) (*Database, *Fragment) {
	k, ok := v.numbers.Get(numberKey(fragmentNumbers, id))
	if !ok {
		return nil, nil
	}
	d := get[*Database](v, k)
	return d, d.FragmentByID(id)
}

// Schema returns the schema with an OID.
func (v *View) Schema(oid OID) *Schema { return get[*Schema](v, newKey(schemaObject, uint64(oid))) }

// SchemaByName returns the schema with a name. Built-in schemas are not in the catalog.
func (v *View) SchemaByName(database OID, name string) *Schema {
	return byName[*Schema](v, schemaNames, database, name)
}

// Schemas returns a database's schemas by name.
func (v *View) Schemas(database OID) iter.Seq[*Schema] {
	return func(yield func(*Schema) bool) {
		for name, s := range named[*Schema](v, schemaNames, database) {
			if s.Name == name && !yield(s) {
				return
			}
		}
	}
}

// Table returns the table with an OID.
func (v *View) Table(oid OID) *Table { return get[*Table](v, newKey(tableObject, uint64(oid))) }

// Relation returns the relation with a name in a schema. For a table the index is nil; for an index
// it returns the index and its table.
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

// TableByName returns the table, sequence or SQL view with a name in a schema; for the name of an
// index it returns nil.
func (v *View) TableByName(schema OID, name string) *Table {
	t, i := v.Relation(schema, name)
	if i != nil {
		return nil
	}
	return t
}

// FindTable returns the table with a name in the schema with a name.
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

// Tables returns the tables of a database by OID; database 0 means all databases.
func (v *View) Tables(database OID) iter.Seq[*Table] {
	return func(yield func(*Table) bool) {
		for t := range all[*Table](v, tableObject) {
			if (database == 0 || t.Database == database) && !yield(t) {
				return
			}
		}
	}
}

// TableOfPart returns the table that has an index or constraint with this OID.
func (v *View) TableOfPart(oid OID) *Table {
	k, _ := v.numbers.Get(numberKey(partNumbers, oid))
	return get[*Table](v, k)
}

// Index returns the index with an OID, and its table.
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

// TableByStorage returns the table with a storage id.
func (v *View) TableByStorage(storageID uint32) *Table {
	k, _ := v.numbers.Get(numberKey(storageNumbers, storageID))
	return get[*Table](v, k)
}

// Role returns the role with an OID.
func (v *View) Role(oid OID) *Role { return get[*Role](v, newKey(roleObject, uint64(oid))) }

// RoleByName returns the role with a name.
func (v *View) RoleByName(name string) *Role { return byName[*Role](v, roleNames, 0, name) }

// Roles returns all roles by OID.
func (v *View) Roles() iter.Seq[*Role] { return all[*Role](v, roleObject) }

// Node returns the node with a number, nil if it was removed.
func (v *View) Node(id uint32) *Node {
	if n := get[*Node](v, newKey(nodeObject, uint64(id))); n != nil && n.State != NodeRemoved {
		return n
	}
	return nil
}

// LostNode returns a node that was declared lost and is not removed yet, nil if there is none.
func (v *View) LostNode(id uint32) *Node {
	if n := v.Node(id); n != nil && n.State == NodeLost {
		return n
	}
	return nil
}

// RemovedNode returns the descriptor of a removed node, nil if there is none.
func (v *View) RemovedNode(id uint32) *Node {
	if n := get[*Node](v, newKey(nodeObject, uint64(id))); n != nil && n.State == NodeRemoved {
		return n
	}
	return nil
}

// NodeByName returns the node with a name.
func (v *View) NodeByName(name string) *Node { return byName[*Node](v, nodeNames, 0, name) }

// RemovedNodes returns the descriptors of removed nodes.
func (v *View) RemovedNodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for n := range all[*Node](v, nodeObject) {
			if n.State == NodeRemoved && !yield(n) {
				return
			}
		}
	}
}

// Nodes returns all nodes by number, without removed ones.
func (v *View) Nodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for n := range all[*Node](v, nodeObject) {
			if n.State != NodeRemoved && !yield(n) {
				return
			}
		}
	}
}

// Job returns the job with a number.
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
