package catalog

import "github.com/sherddb/sherd/shardmap"

// OID identifies every object of the cluster: 32 bits, from 16384, never reused (V5). Smaller ones are PostgreSQL's own.
type OID = uint32

// Database is one database and its topology: the fragments that hold its buckets.
type Database struct {
	OID             OID
	Name            string
	Owner           OID // role
	Fragments       []Fragment
	Map             *shardmap.Map // bucket ranges → fragment, with epoch
	ConnectionLimit int32         // -1 is none
	Settings        map[string]string
	Comment         string
	// ReplicationFactor is how many replicas each fragment shall have. Where there are fewer nodes it is met as nodes join.
	ReplicationFactor int
	Pins              []Pin // sorted; none overlaps another
	// Labels says which nodes may have replicas of its fragments.
	Labels shardmap.LabelRule
	// Prefixes has the rules for prefixes, sorted; PrefixEpoch counts how often one was made or dropped.
	Prefixes    []PrefixRule
	PrefixEpoch uint64
}

// PrefixRule has ids under a prefix lie in buckets of its own, which are in some fragments only.
type PrefixRule struct {
	shardmap.Prefix
	Fragments []uint32 // at least one, sorted
}

// DefaultReplicationFactor is that of databases which name none.
const DefaultReplicationFactor = 3

// Fragment is a physical database that holds bucket ranges of one database; its name is database$ordinal.
type Fragment struct {
	ID      uint32   // cluster-wide, names the Raft group and its folder; never reused
	Ordinal int      // the n of orders$n
	Nodes   []uint32 // with a replica; the first is to lead where it can
	Joining []uint32 // of Nodes: their replicas are being filled, and do not vote yet
	Leaving []uint32 // of Nodes: their replicas go once nobody is joining
	// Added: to a database that was there, so it began with no bucket. Draining: it gives its buckets to others, takes none, and goes.
	Added, Draining bool
	// Replicas is how many it shall have, 0 is as many as the database says, and On the nodes that alone may have one; none: any may.
	Replicas int
	On       []uint32
	// Labels says which nodes may have replicas of it, besides what the database says.
	Labels shardmap.LabelRule
}

// Factor is how many replicas a fragment shall have.
func (d *Database) Factor(f *Fragment) int {
	if f.Replicas > 0 {
		return f.Replicas
	}
	return d.ReplicationFactor
}

// Pin keeps buckets in a fragment: nothing moves them out.
type Pin struct {
	shardmap.Interval
	Fragment uint32
	// Anchors name what the buckets are pinned for, sorted; the pin ends with the last of them. None: for themselves.
	Anchors []string
}

// Schema is a namespace of tables and types.
type Schema struct {
	OID      OID
	Database OID
	Name     string
	Owner    OID
	Comment  string
}

// RelKind is pg_class.relkind.
type RelKind byte

// Kinds of relations.
const (
	KindTable    RelKind = 'r'
	KindIndex    RelKind = 'i'
	KindSequence RelKind = 'S'
	KindView     RelKind = 'v'
	KindParts    RelKind = 't' // the parts of another table's split documents, which nobody names: PostgreSQL's letter of what is kept aside of a table
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
	StorageID   uint32 // table(4) of the row keys; TRUNCATE and rewrites take a new one
	Columns     []Column
	Constraints []Constraint
	Indexes     []Index
	// Collection: the table has one text key column and a document column, so that $ means something in ids.
	Anchors  bool   // $ in keys has meaning (decided when the primary key is made)
	Document int16  // attnum of the document column, 0 if none
	AnchorBy string // WITH (anchor_by = …)
	Policy   *shardmap.Policy
	// PolicyValidated reports whether routing by content may trust the policy (docs/design/placement.md).
	PolicyValidated bool
	// Segments has the ranges of the primary key by which rows lie, where shard_by is range; none otherwise.
	Segments shardmap.Segments
	// Prefixes has the rules for prefixes by which rows of a hashed table lie: those of its database, as of the PrefixEpoch. Change.PutTable sets them.
	Prefixes       shardmap.Prefixes
	PrefixEpoch    uint64
	Options        map[string]string // reloptions as given, storage options included
	Comment        string
	ColumnComments map[int16]string
	NextAttNum     int16
	Sequence       *Sequence // of KindSequence, nil for all others
	Hot            *Hot      // nil: no document of the table has ever been split
	HotOf          OID       // the rows are parts of split documents of that table, 0 for all others
	// Forwarding is the table of the collection's forwarding entries, which lead from ids that documents had to those that they have; 0 is none.
	// ForwardingOf is, of such a table, the collection.
	Forwarding, ForwardingOf OID
}

// Column is one column; AttNum is never reused, a dropped column keeps its place (V2).
type Column struct {
	AttNum    int16 // from 1
	Name      string
	Type      OID
	Typmod    int32 // -1 is none
	Collation OID
	NotNull   bool
	Default   string // SQL text of the expression, "" is none; re-analysed at use
	Identity  byte   // 0, 'a' ALWAYS, 'd' BY DEFAULT
	Generated string // SQL text of a stored generated column
	Missing   []byte // encoded value that rows written before ADD COLUMN have (constant default); nil is null
	Dropped   bool
	// Adding, with Dropped: the column is being added. No statement can name it, but a writer of a
	// row keeps the value that is there (C2, write-only). If the addition is not continued, the
	// column stays dropped.
	Adding bool
	// Sequence gives the values of an identity column, 0 for all others.
	Sequence OID
}

// Stored reports whether rows keep a value of the column.
func (c *Column) Stored() bool { return !c.Dropped || c.Adding }

// ConstraintKind is pg_constraint.contype.
type ConstraintKind byte

// Kinds of constraints.
const (
	PrimaryKey ConstraintKind = 'p'
	Unique     ConstraintKind = 'u'
	Check      ConstraintKind = 'c'
	ForeignKey ConstraintKind = 'f'
)

// Constraint is a table constraint. NOT NULL is kept in the column; the sharding policy in the table.
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
	// Deferrable: SET CONSTRAINTS may put the check off to the commit, and InitiallyDeferred says that it is put off. A UNIQUE that is deferrable is
	// checked at the end of the statement.
	Deferrable        bool
	InitiallyDeferred bool
	// Primary: a UNIQUE is called the primary key. That is DEFERRABLE, so that rows cannot be stored under it.
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
	Password        string // SCRAM-SHA-256 verifier as in pg_authid, "" is none
	ValidUntil      string
	Settings        map[string]string
	Comment         string
}

// Setting is a cluster setting made by ALTER SYSTEM.
type Setting struct {
	Name  string
	Value string
}

// NodeState says what is to become of a node. Durable: never renumber.
type NodeState byte

// States of nodes.
const (
	NodeActive   NodeState = 0
	NodeDraining NodeState = 1 // it gives its replicas and leaders to others and is given none
	NodeRemoved  NodeState = 2 // kept so that it can be told so; holds no name, no block and no fragment
	NodeLost     NodeState = 3 // unsafe recovery went on without it: it is never let in again, and its replicas are given up
)

// Node is a Sherd process of the cluster.
type Node struct {
	ID       uint32
	Name     string
	Block    string // the letter(s) that end ids made here: A, B, …
	SQLAddr  string
	NodeAddr string
	HTTPAddr string
	Labels   map[string]string
	Gateway  bool   // it holds no fragments, by its --role
	Release  string // of the program that it last started with
	Speaks   uint32 // the newest version of the node protocol that that release knows; 0 is not known
	State    NodeState
	Weight   float64 // its share of data beside those of others; 0 is 1
	MaxBytes uint64  // of all its replicas together; 0 is no limit
}

// HoldsFragments reports whether replicas may be placed on the node.
func (n *Node) HoldsFragments() bool { return !n.Gateway && n.State == NodeActive }

// GivesReplicas reports whether the node's replicas belong on other nodes.
func (n *Node) GivesReplicas() bool { return n.State == NodeDraining || n.State == NodeLost }
