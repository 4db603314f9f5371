package catalog

import (
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/shardmap"
)

// OID identifies an object of the cluster: 32 bits, from 16384, never reused (V5). Smaller numbers
// are PostgreSQL's own.
type OID = uint32

// Database is a database and its topology: the fragments that hold its buckets.
type Database struct {
	OID             OID
	Name            string
	Owner           OID // role
	Fragments       []Fragment
	Map             *shardmap.Map // bucket ranges → fragment, with epoch
	ConnectionLimit int32         // -1: no limit
	Settings        map[string]string
	Comment         string
	// ReplicationFactor is the number of replicas that each fragment should have. If there are too
	// few nodes, replicas are added as nodes join.
	ReplicationFactor int
	Pins              []Pin // sorted, without overlaps
	// Labels restricts which nodes may have replicas of the database's fragments.
	Labels shardmap.LabelRule
	// Prefixes holds the rules for prefixes, sorted; PrefixEpoch counts how often one was created
	// or dropped.
	Prefixes    []PrefixRule
	PrefixEpoch uint64
	ACL         acl.List
	// DefaultACLs are those of ALTER DEFAULT PRIVILEGES, by OID.
	DefaultACLs []DefaultACL
	// LanguageACLs has the access lists of languages that have not the default one.
	LanguageACLs map[OID]acl.List
}

// DefaultACL is what ALTER DEFAULT PRIVILEGES has granted on the objects that a role will create.
type DefaultACL struct {
	OID    OID
	Role   OID
	Schema OID  // 0: in all schemas
	Kind   byte // pg_default_acl.defaclobjtype: 'r', 'S', 'f', 'T', 'n'
	// ACL is added to the default list if Schema is set, and takes its place otherwise.
	ACL acl.List
}

// PrefixRule assigns buckets, which are in some fragments only, to the ids under a prefix.
type PrefixRule struct {
	shardmap.Prefix
	Fragments []uint32 // at least one, sorted
}

// DefaultReplicationFactor is the factor of databases that name none.
const DefaultReplicationFactor = 3

// Fragment is a replicated part of one database, and owns ranges of its buckets. Its name is
// database$ordinal.
type Fragment struct {
	ID      uint32   // cluster-wide, names the Raft group and its folder; never reused
	Ordinal int      // the n of orders$n
	Nodes   []uint32 // with a replica; the first is the preferred leader
	Joining []uint32 // of Nodes: their replicas are being filled and do not vote yet
	Leaving []uint32 // of Nodes: their replicas are removed once no replica is joining
	// Added: the fragment was added to an existing database, so it started without buckets.
	// Draining: it moves its buckets to other fragments, gets no more, and is then dropped.
	Added, Draining bool
	// Replicas is the number of replicas that it should have; 0 is the database's number. On lists
	// the only nodes that may have one; if it is empty, any node may.
	Replicas int
	On       []uint32
	// Labels restricts which nodes may have replicas of the fragment, in addition to the labels of
	// the database.
	Labels shardmap.LabelRule
}

// Factor is how many replicas a fragment shall have.
func (d *Database) Factor(f *Fragment) int {
	if f.Replicas > 0 {
		return f.Replicas
	}
	return d.ReplicationFactor
}

// Pin keeps buckets in a fragment: they are not moved to another one.
type Pin struct {
	shardmap.Interval
	Fragment uint32
	// Anchors lists, sorted, what the buckets are pinned for; the pin ends with the last of them.
	// If it is empty, the buckets themselves are pinned.
	Anchors []string
}

// Schema is a namespace of tables and types.
type Schema struct {
	OID       OID
	Database  OID
	Name      string
	Owner     OID
	Comment   string
	ACL       acl.List
	Temporary bool // of a session's temporary objects; also named TemporarySchema
}

// RelKind is pg_class.relkind.
type RelKind byte

// Kinds of relations.
const (
	KindTable    RelKind = 'r'
	KindIndex    RelKind = 'i'
	KindSequence RelKind = 'S'
	KindView     RelKind = 'v'
	// KindMaterialized is a materialized view: its rows are stored as those of a table.
	KindMaterialized RelKind = 'm'
	// KindParts is the table for parts of another table's split documents. Statements cannot name
	// it. 't' is PostgreSQL's letter for TOAST tables.
	KindParts RelKind = 't'
)

// Table is a relation with rows. Its Version grows with each change of its definition (C2).
type Table struct {
	OID         OID
	Database    OID
	Schema      OID
	Name        string
	Owner       OID
	Kind        RelKind
	Version     uint64
	StorageID   uint32 // table(4) in the row keys; TRUNCATE and rewrites assign a new one
	Columns     []Column
	Constraints []Constraint
	Indexes     []Index
	// For collections: tables with one text key column and a document column, in whose ids $ has a
	// meaning.
	Anchors  bool   // $ in keys has meaning (decided when the primary key is made)
	Document int16  // attnum of the document column, 0 if there is none
	AnchorBy string // WITH (anchor_by = …)
	Policy   *shardmap.Policy
	// PolicyValidated reports whether routing by content may rely on the policy
	// (docs/design/placement.md).
	PolicyValidated bool
	// Segments lists the ranges of the primary key that decide a row's bucket, if shard_by is
	// range; otherwise it is empty.
	Segments shardmap.Segments
	// Prefixes holds the rules for prefixes that decide the buckets of rows of a hashed table:
	// those of its database, as of PrefixEpoch. Change.PutTable sets them.
	Prefixes       shardmap.Prefixes
	PrefixEpoch    uint64
	Options        map[string]string // reloptions as the user wrote them, storage options included
	Comment        string
	ColumnComments map[int16]string
	NextAttNum     int16
	Special
	Hot *Hot // nil: no document of the table has ever been split
	// The table whose split documents have their parts here, 0 for all others.
	HotOf OID
	FormerIDs
	Statistics []ExtendedStatistics // by OID
}

// Special is what only some relations have.
type Special struct {
	Triggers []Trigger // of tables and views, by OID
	// KeyTriggers is pg_trigger.tgenabled of the triggers by which PostgreSQL checks the table's foreign
	// keys, on its side of them; 0 is 'O'.
	KeyTriggers byte
	Sequence    *Sequence    // of KindSequence, nil for all others
	View        *ViewRule    // of KindView and KindMaterialized, nil for all others
	ACL         acl.List     // nil is the default one
	OnCommit    OnCommit     // of temporary relations, 0 for all others
	RowSecurity *RowSecurity // of tables, nil if it was never switched on and there are no policies
}

// FormerIDs connects a collection with the table of its forwarding entries, which map former ids of
// documents to their present ids. Forwarding is that table, 0 if there is none; in that table
// ForwardingOf is the collection.
type FormerIDs struct {
	Forwarding, ForwardingOf OID
}

// Column is one column. Its AttNum is never reused; a dropped column keeps its place (V2).
type Column struct {
	AttNum    int16 // from 1
	Name      string
	Type      OID
	Typmod    int32 // -1: none
	Collation OID
	NotNull   bool
	Default   string // SQL text of the expression, "" if there is none; analysed at each use
	Identity  byte   // 0, 'a' ALWAYS, 'd' BY DEFAULT
	Generated string // SQL text of a stored generated column
	// Value, encoded, of rows written before ADD COLUMN (constant default); nil is null.
	Missing []byte
	Dropped bool
	// Adding, together with Dropped: the column is being added. No statement can name it, but a
	// writer of a row keeps the value that is there (C2, write-only). If the addition is not
	// continued, the column stays dropped.
	Adding bool
	// Sequence generates the values of an identity column; 0 for all others.
	Sequence OID
	// Target is the statistics target plus 1; 0 is the default.
	Target uint32
	ACL    acl.List
}

// StatisticsTarget is pg_attribute.attstattarget: how much ANALYZE keeps of the column, -1 is the
// default.
func (c *Column) StatisticsTarget() int { return int(c.Target) - 1 }

// Stored reports whether rows contain a value of the column.
func (c *Column) Stored() bool { return !c.Dropped || c.Adding }

// ConstraintKind is pg_constraint.contype.
type ConstraintKind byte

// Kinds of constraints.
const (
	PrimaryKey ConstraintKind = 'p'
	Unique     ConstraintKind = 'u'
	Check      ConstraintKind = 'c'
	ForeignKey ConstraintKind = 'f'
	// TriggerConstraint is that of a constraint trigger. It is no Table.Constraints.
	TriggerConstraint ConstraintKind = 't'
)

// Constraint is a table constraint. NOT NULL is part of the column, the sharding policy is part of
// the table.
type Constraint struct {
	OID       OID
	Name      string
	Kind      ConstraintKind
	Columns   []int16
	Check     string // SQL text of the expression
	NoInherit bool
	Valid     bool
	Index     OID // of a primary key or UNIQUE
	Comment   string
	// Deferrable: SET CONSTRAINTS may defer the check to the commit. InitiallyDeferred: the check
	// is deferred unless SET CONSTRAINTS says otherwise. A deferrable UNIQUE is checked at the end
	// of the statement.
	Deferrable        bool
	InitiallyDeferred bool
	// Primary: a UNIQUE that is shown as the primary key. It is a DEFERRABLE one, so rows cannot be
	// stored under it.
	Primary   bool
	Reference *Reference // of a foreign key, nil for all others
}

// Role is a user or group.
type Role struct {
	OID             OID
	Name            string
	Superuser       bool
	Inherit         bool
	CreateRole      bool
	CreateDB        bool
	Login           bool
	Replication     bool
	BypassRLS       bool
	ConnectionLimit int32
	Password        string // SCRAM-SHA-256 verifier as in pg_authid, "" if there is none
	ValidUntil      string
	Settings        map[string]string
	Comment         string
	MemberOf        []Membership
}

// Membership makes a role a member of another one, Role.
type Membership struct {
	Role, Grantor OID
	Admin         bool // the member may grant the membership
}

// Setting is a cluster setting made by ALTER SYSTEM.
type Setting struct {
	Name  string
	Value string
}

// NodeState is the administrative state of a node. Durable: never renumber.
type NodeState byte

// States of nodes.
const (
	NodeActive   NodeState = 0
	NodeDraining NodeState = 1 // its replicas and leaders move to other nodes, and it gets no more
	// The descriptor stays so that the node can be told. It has no name, no block and no fragment.
	NodeRemoved NodeState = 2
	// Unsafe recovery continued without this node. It is never admitted again, and its replicas are
	// given up.
	NodeLost NodeState = 3
)

// Node is a Sherd process of the cluster.
type Node struct {
	ID       uint32
	Name     string
	Block    string // the letter or letters at the end of ids made here: A, B, …
	SQLAddr  string
	NodeAddr string
	HTTPAddr string
	Labels   map[string]string
	Gateway  bool   // the node holds no fragments, because of --role
	Release  string // of the program that it last started with
	Speaks   uint32 // the newest version of the node protocol that this release knows; 0 is unknown
	State    NodeState
	Weight   float64 // its share of data relative to other nodes; 0 is 1
	MaxBytes uint64  // of all its replicas together; 0 is no limit
}

// HoldsFragments reports whether replicas may be placed on the node.
func (n *Node) HoldsFragments() bool { return !n.Gateway && n.State == NodeActive }

// GivesReplicas reports whether the node's replicas have to move to other nodes.
func (n *Node) GivesReplicas() bool { return n.State == NodeDraining || n.State == NodeLost }
