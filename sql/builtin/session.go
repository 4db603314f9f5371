package builtin

import (
	"time"

	"github.com/sherddb/sherd/sql/advice"
	"github.com/sherddb/sherd/sql/types"
)

// SessionInfo is what functions ask of the session that runs them. Package sql implements it; a nil SessionInfo in Ctx makes these
// functions answer 0A000. Methods that look something up give ok = false where it does not exist; errors are *pgerr.Error.
type SessionInfo interface {
	IdentityInfo
	SettingInfo
	CatalogInfo
	DefinitionInfo
	PrivilegeInfo
	SequenceInfo
	PlacementInfo
	PolicyInfo
	ActivityInfo
	TransactionInfo
	LockInfo
	NodeInfo
	PlanInfo
	TopologyInfo
	SegmentInfo
	HotInfo
	ZoneInfo
	PrefixInfo
	IDInfo
}

// IdentityInfo says who is connected to what.
type IdentityInfo interface {
	CurrentUser() string
	SessionUser() string
	CurrentDatabase() string
	// CurrentSchemas is the search path without what does not exist; with implicit, pg_catalog too where it is searched.
	CurrentSchemas(implicit bool) []string
	BackendPID() int32
	// ServerVersion is the text of version().
	ServerVersion() string
	// Addresses are host and port of the connection's ends; host is "" for a local socket.
	ClientAddress() (host string, port int)
	ServerAddress() (host string, port int)
}

// SettingInfo reads and sets configuration parameters.
type SettingInfo interface {
	Setting(name string) (value string, ok bool)
	// SetSetting sets for the session, or for the transaction where local; it gives the value as SHOW would.
	SetSetting(name, value string, local bool) (string, error)
}

// ObjectKind names a catalog whose objects have names and OIDs.
type ObjectKind uint8

// Kinds of catalog objects.
const (
	ObjRelation  ObjectKind = iota // pg_class: tables, indexes, sequences, views
	ObjType                        // pg_type
	ObjFunction                    // pg_proc
	ObjOperator                    // pg_operator
	ObjSchema                      // pg_namespace
	ObjRole                        // pg_authid
	ObjDatabase                    // pg_database
	ObjCollation                   // pg_collation
	ObjConstraint
	ObjColumn
	ObjProcedure  // pg_proc, named with its argument types: now()
	ObjOpClass    // pg_opclass
	ObjOpFamily   // pg_opfamily
	ObjTablespace // pg_tablespace
)

// CatalogInfo looks up objects by name and by OID.
type CatalogInfo interface {
	// FindObject resolves a possibly qualified name as its reg* type does in text form ("public"."Orders", int4, pg_catalog.now);
	// for functions and operators with more than one match ok is false. err is for text that is no name at all.
	FindObject(kind ObjectKind, name string) (oid uint32, ok bool, err error)
	// ObjectName gives the bare name and its schema ("" where the kind has none).
	ObjectName(kind ObjectKind, oid uint32) (schema, name string, ok bool)
	// IsVisible tells whether the unqualified name finds this very object; ok is false where there is no such object.
	IsVisible(kind ObjectKind, oid uint32) (visible, ok bool)
	// RelationColumns gives the live columns of a relation or composite type in order.
	RelationColumns(oid uint32) ([]Column, bool)
	// ColumnNumber gives the number of a relation's column.
	ColumnNumber(relation uint32, name string) (int16, bool)
	// FormatType gives the type's SQL name, as format_type does; "???" where it does not exist.
	FormatType(oid uint32, typmod int32) string
	// Comment gives the comment on an object: sub is the column number, 0 the object itself. catalog is the system catalog's name
	// (pg_class, pg_type …), "" any.
	Comment(catalog string, oid uint32, sub int32) (string, bool)
}

// DefinitionInfo deparses definitions as the pg_get_* functions show them.
type DefinitionInfo interface {
	ConstraintDef(oid uint32, pretty bool) (string, bool)
	// IndexDef gives CREATE INDEX …, or with column > 0 that column's expression.
	IndexDef(oid uint32, column int, pretty bool) (string, bool)
	ViewDef(oid uint32, pretty bool) (string, bool)
	// The texts of a function: CREATE FUNCTION …, its result, its arguments with and without defaults.
	FunctionDef(oid uint32) (string, bool)
	FunctionResult(oid uint32) (string, bool)
	FunctionArguments(oid uint32) (string, bool)
	FunctionIdentityArguments(oid uint32) (string, bool)
	// Expression gives the text of a stored expression (pg_node_tree holds our own text form).
	Expression(node string, relation uint32, pretty bool) (string, bool)
	// SerialSequence gives the qualified name of the sequence that a column owns.
	SerialSequence(relation uint32, column string) (string, bool, error)
}

// PrivilegeInfo answers has_*_privilege and pg_has_role.
type PrivilegeInfo interface {
	// HasPrivilege tells whether role may do privilege ("SELECT", "USAGE WITH GRANT OPTION" …, upper case, one) on an object;
	// column is for ObjColumn, where oid is the relation's.
	HasPrivilege(role uint32, kind ObjectKind, oid uint32, column int16, privilege string) (bool, error)
	// HasRole tells whether role is member of, or may set itself to, other (privilege MEMBER, USAGE or SET).
	HasRole(role, other uint32, privilege string) (bool, error)
}

// SequenceInfo is nextval and its kin. Errors: 55000 where the value is not yet defined in this session, 2200H at the end.
type SequenceInfo interface {
	NextValue(sequence uint32) (int64, error)
	CurrentValue(sequence uint32) (int64, error)
	LastValue() (int64, error)
	SetValue(sequence uint32, value int64, called bool) error
	// SequenceState gives the last value of a sequence, and whether it was given to anybody; SequenceParameters what it counts by.
	SequenceState(sequence uint32) (value int64, called bool, err error)
	SequenceParameters(sequence uint32) (SequenceParameters, error)
}

// SequenceParameters is what pg_sequence_parameters gives.
type SequenceParameters struct {
	Start, Min, Max, Increment int64
	Cycle                      bool
	Cache                      int64
	Type                       uint32
}

// RowKey is a primary key as a client states it: a value for each of its columns, or one text that joins them by "/".
type RowKey struct {
	Values []types.Datum
	Types  []types.OID
}

// PlacementInfo says where documents lie.
type PlacementInfo interface {
	// SherdVersion is the version of Sherd itself.
	SherdVersion() string
	// Route returns the bucket and the fragment that hold the row of a table with this key.
	Route(table uint32, key RowKey) (bucket uint32, fragment string, err error)
	// RouteAddress returns the address, for clients, of the node that leads the row's fragment.
	RouteAddress(table uint32, key RowKey) (string, error)
	RelationSize(oid uint32) (bytes int64, ok bool, err error)
	IndexesSize(oid uint32) (bytes int64, ok bool, err error)
	// DatabaseSize sums over all databases for 0.
	DatabaseSize(oid uint32) (bytes int64, ok bool, err error)
}

// PolicyInfo is the functions that set and check where documents lie.
type PolicyInfo interface {
	// SetPolicy gives a table its policy; "" takes it away.
	SetPolicy(table uint32, policy string) error
	// ValidatePolicy looks for documents that lie where the policy does not allow, and trusts the policy where there are none.
	ValidatePolicy(table uint32, emit func(id string, bucket uint32, detail string) error) error
	// PolicyAdvice judges a policy, or for "" those worth looking at, by the documents and by statements that ran.
	PolicyAdvice(table uint32, policy string, emit func(*advice.Report) error) error
	// Check looks over the database; with an index that is not 0 it tells about that one only.
	Check(index uint32, emit func(check, subject string, ok bool, detail string) error) error
}

// TransactionInfo is about the running transaction, and what became of others.
type TransactionInfo interface {
	// Notify says something on a channel when the transaction commits.
	Notify(channel, payload string) error
	// ListeningChannels are those that the session listens on; NotificationUsage is how much of the room for notifications is taken, of 1.
	ListeningChannels() []string
	NotificationUsage() float64
	// ExportSnapshot lets other sessions read what this transaction reads, while it is open.
	ExportSnapshot() (id string, err error)
	// TransactionName is the id that names the transaction for ever.
	TransactionName() string
	// TransactionOutcome says of a transaction: committed, aborted, in progress, unknown.
	TransactionOutcome(id string) (string, error)
	// ResolveTransaction is an operator's word, commit or abort, about a transaction that stays undecided.
	ResolveTransaction(id, word string) error
}

// ActivityInfo is about the running server, transaction and statement.
type ActivityInfo interface {
	StartTime() time.Time     // of the server
	StatementTime() time.Time // start of the statement
	ReloadTime() time.Time    // of the configuration
	Query() string            // text of the statement
	// TransactionID is the 64-bit id of the running transaction; with assign = false ok is false where it has none yet.
	TransactionID(assign bool) (id uint64, ok bool, err error)
	// Snapshot is the text xmin:xmax:xip of the running transaction.
	Snapshot() string
	// Random gives the next number in [0, 1) of the session's generator; SetSeed restarts it.
	Random() float64
	SetSeed(seed float64)
}

// LockInfo is advisory locks and the other sessions' fate.
type LockInfo interface {
	// AdvisoryLock takes a lock; false says that it would have to wait.
	AdvisoryLock(l AdvisoryLock) (bool, error)
	// AdvisoryUnlock gives a lock of the session back once; false, and a warning, where it does not have it.
	AdvisoryUnlock(key AdvisoryKey, shared bool) bool
	AdvisoryUnlockAll()
	// BlockingPIDs gives the backends that a backend's lock wait waits for.
	BlockingPIDs(pid int32) ([]int32, error)
	// CancelBackend ends a backend's statement, TerminateBackend its session; where patience is not 0 it waits as long for the end. False, and
	// a warning, where there is no such backend or it did not end in time.
	CancelBackend(pid int32) (bool, error)
	TerminateBackend(pid int32, patience time.Duration) (bool, error)
}
