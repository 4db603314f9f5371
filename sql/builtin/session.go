package builtin

import (
	"math/rand/v2"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// SessionInfo is the session that runs a function. Package sql implements it; if Ctx has none,
// functions that need it return 0A000. Lookup methods return ok = false if the object does not
// exist; errors are *pgerr.Error.
type SessionInfo interface {
	IdentityInfo
	SettingInfo
	CatalogInfo
	DefinitionInfo
	PrivilegeInfo
	SequenceInfo
	SizeInfo
	ActivityInfo
	TransactionInfo
	LockInfo
	Gateway
}

// IdentityInfo has information about the user and the connection.
type IdentityInfo interface {
	CurrentUser() string
	SessionUser() string
	CurrentDatabase() string
	// CurrentSchemas returns the existing schemas of the search path; with implicit, also
	// pg_catalog if it is searched.
	CurrentSchemas(implicit bool) []string
	BackendPID() int32
	// ServerVersion returns the text of version().
	ServerVersion() string
	// ClientAddress and ServerAddress return host and port of the connection's ends; host is "" for
	// a local socket.
	ClientAddress() (host string, port int)
	ServerAddress() (host string, port int)
}

// SettingInfo reads and sets configuration parameters.
type SettingInfo interface {
	Setting(name string) (value string, ok bool)
	// SetSetting sets a parameter for the session, or for the transaction if local is set. It
	// returns the value as SHOW would.
	SetSetting(name, value string, local bool) (string, error)
}

// ObjectKind is a catalog whose objects have names and OIDs.
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
	ObjStatistics // pg_statistic_ext
)

// CatalogInfo looks up objects by name and by OID.
type CatalogInfo interface {
	// FindObject resolves a possibly qualified name as its reg* type does ("public"."Orders", int4,
	// pg_catalog.now); ok is false if several functions or operators match. err is set if the text
	// is not a name.
	FindObject(kind ObjectKind, name string) (oid uint32, ok bool, err error)
	// ObjectName returns the bare name and its schema ("" if the kind has none).
	ObjectName(kind ObjectKind, oid uint32) (schema, name string, ok bool)
	// IsVisible reports whether the unqualified name finds this object; ok is false if the object
	// does not exist.
	IsVisible(kind ObjectKind, oid uint32) (visible, ok bool)
	// RelationColumns returns the columns of a relation or composite type in order, without dropped
	// ones.
	RelationColumns(oid uint32) ([]Column, bool)
	// ColumnNumber returns the number of a relation's column.
	ColumnNumber(relation uint32, name string) (int16, bool)
	// FormatType returns the type's SQL name, as format_type does; "???" if the type does not
	// exist.
	FormatType(oid uint32, typmod int32) string
	// Comment returns the comment on an object. sub is the column number, 0 for the object itself.
	// catalog is the system catalog's name (pg_class, pg_type …); "" means any.
	Comment(catalog string, oid uint32, sub int32) (string, bool)
}

// DefinitionInfo returns definitions as the pg_get_* functions do.
type DefinitionInfo interface {
	ConstraintDef(oid uint32, pretty bool) (string, bool)
	// IndexDef returns CREATE INDEX …; if column > 0, that column's expression.
	IndexDef(oid uint32, column int, pretty bool) (string, bool)
	// Updatable returns the events that a relation allows, as pg_relation_is_updatable does: of a
	// column if column is not 0.
	Updatable(relation uint32, column int16) int
	// ViewDef returns the query of a view. Lists continue on another line beyond width.
	ViewDef(oid uint32, pretty bool, width int) (string, bool)
	// These return a function's texts: CREATE FUNCTION …, its result, its arguments with and
	// without defaults.
	FunctionDef(oid uint32) (string, bool)
	// TriggerDef returns the text of pg_get_triggerdef.
	TriggerDef(oid uint32, pretty bool) (string, bool)
	FunctionResult(oid uint32) (string, bool)
	FunctionArguments(oid uint32) (string, bool)
	FunctionIdentityArguments(oid uint32) (string, bool)
	// FunctionBody returns the body of a function that has RETURN or BEGIN ATOMIC.
	FunctionBody(oid uint32) (string, bool)
	// Expression returns the text of a stored expression (pg_node_tree has Sherd's own text form).
	Expression(node string, relation uint32, pretty bool) (string, bool)
	// StatisticsDef returns CREATE STATISTICS …, or what it names before FROM; StatisticsExpressions
	// returns its expressions.
	StatisticsDef(oid uint32, columnsOnly bool) (string, bool)
	StatisticsExpressions(oid uint32) (list []string, ok bool)
	// SerialSequence returns the qualified name of the sequence that a column owns.
	SerialSequence(relation uint32, column string) (string, bool, error)
}

// PrivilegeInfo is used by has_*_privilege and pg_has_role.
type PrivilegeInfo interface {
	// HasPrivilege reports whether role has one privilege ("SELECT", "USAGE WITH GRANT OPTION" …,
	// in upper case) on an object. column is used with ObjColumn, for which oid is the relation's.
	HasPrivilege(role uint32, kind ObjectKind, oid uint32, column int16, privilege string) (bool, error)
	// HasRole reports whether role is a member of other, or may switch to it (privilege MEMBER,
	// USAGE or SET).
	HasRole(role, other uint32, privilege string) (bool, error)
	// RowSecurity reports whether role reads and writes only some rows of a relation.
	RowSecurity(role, relation uint32) (bool, error)
}

// SequenceInfo is used by nextval, currval, setval and lastval. Errors: 55000 if the value is not
// yet defined in this session, 2200H at the end.
type SequenceInfo interface {
	NextValue(sequence uint32) (int64, error)
	CurrentValue(sequence uint32) (int64, error)
	LastValue() (int64, error)
	SetValue(sequence uint32, value int64, called bool) error
	// SequenceState returns the last value of a sequence, and whether nextval has returned it;
	// SequenceParameters returns its definition.
	SequenceState(sequence uint32) (value int64, called bool, err error)
	SequenceParameters(sequence uint32) (SequenceParameters, error)
}

// SequenceParameters is the result of pg_sequence_parameters.
type SequenceParameters struct {
	Start, Min, Max, Increment int64
	Cycle                      bool
	Cache                      int64
	Type                       uint32
}

// SizeInfo has the sizes of objects.
type SizeInfo interface {
	RelationSize(oid uint32) (bytes int64, ok bool, err error)
	IndexesSize(oid uint32) (bytes int64, ok bool, err error)
	// DatabaseSize returns the size of a database; for 0, the sum over all databases.
	DatabaseSize(oid uint32) (bytes int64, ok bool, err error)
}

// TransactionInfo is about the running transaction, and the outcome of others.
type TransactionInfo interface {
	// TriggerDepth returns how many trigger functions call each other now.
	TriggerDepth() int
	// Notify sends a notification on a channel when the transaction commits.
	Notify(channel, payload string) error
	// ListeningChannels returns the channels that the session listens on; NotificationUsage the
	// used fraction of the notification queue.
	ListeningChannels() []string
	NotificationUsage() float64
	// ExportSnapshot lets other sessions read the snapshot of this transaction while it is open.
	ExportSnapshot() (id string, err error)
	// TransactionName returns an id that is never used for another transaction.
	TransactionName() string
	// TransactionOutcome returns the state of a transaction: committed, aborted, in progress,
	// unknown.
	TransactionOutcome(id string) (string, error)
}

// ActivityInfo is about the server, the transaction and the statement.
type ActivityInfo interface {
	StartTime() time.Time     // of the server
	StatementTime() time.Time // start of the statement
	ReloadTime() time.Time    // of the configuration
	Query() string            // text of the statement
	// TransactionID returns the 64-bit id of the running transaction. If assign is false and it has
	// none yet, ok is false.
	TransactionID(assign bool) (id uint64, ok bool, err error)
	// Snapshot returns the snapshot of the running transaction as text xmin:xmax:xip.
	Snapshot() string
	// Random returns the next number in [0, 1) of the session's generator; SetSeed restarts the
	// generator.
	Random() float64
	SetSeed(seed float64)
}

// LockInfo is about advisory locks, and ending statements and sessions of others.
type LockInfo interface {
	// AdvisoryLock takes a lock; it returns false if it would have to wait.
	AdvisoryLock(l AdvisoryLock) (bool, error)
	// AdvisoryUnlock releases a lock of the session once. It returns false, with a warning, if the
	// session does not hold it.
	AdvisoryUnlock(key AdvisoryKey, shared bool) bool
	AdvisoryUnlockAll()
	// BlockingPIDs returns the backends that a backend's lock wait waits for.
	BlockingPIDs(pid int32) ([]int32, error)
	// CancelBackend cancels a backend's statement, TerminateBackend ends its session and waits up
	// to timeout for that. They return false, with a warning, if there is no such backend or it
	// did not end in time.
	CancelBackend(pid int32) (bool, error)
	TerminateBackend(pid int32, timeout time.Duration) (bool, error)
}

// Sessionless answers the questions that only a client's session can answer, for a program that has
// none: with an error, or with an empty value if there can be no error.
type Sessionless struct{}

func noSession() error {
	return pgerr.Unsupported("this function needs a session").
		WithHint("It cannot stand in constraints, indexes or policies.")
}

// SerialSequence implements DefinitionInfo.
func (Sessionless) SerialSequence(uint32, string) (string, bool, error) {
	return "", false, noSession()
}

// HasPrivilege implements PrivilegeInfo.
func (Sessionless) HasPrivilege(uint32, ObjectKind, uint32, int16, string) (bool, error) {
	return false, noSession()
}

// RowSecurity implements PrivilegeInfo.
func (Sessionless) RowSecurity(uint32, uint32) (bool, error) { return false, noSession() }

// HasRole implements PrivilegeInfo.
func (Sessionless) HasRole(uint32, uint32, string) (bool, error) { return false, noSession() }

// NextValue implements SequenceInfo.
func (Sessionless) NextValue(uint32) (int64, error) { return 0, noSession() }

// CurrentValue implements SequenceInfo.
func (Sessionless) CurrentValue(uint32) (int64, error) { return 0, noSession() }

// LastValue implements SequenceInfo.
func (Sessionless) LastValue() (int64, error) { return 0, noSession() }

// SetValue implements SequenceInfo.
func (Sessionless) SetValue(uint32, int64, bool) error { return noSession() }

// SequenceState implements SequenceInfo.
func (Sessionless) SequenceState(uint32) (int64, bool, error) { return 0, false, noSession() }

// SequenceParameters implements SequenceInfo.
func (Sessionless) SequenceParameters(uint32) (SequenceParameters, error) {
	return SequenceParameters{}, noSession()
}

// RelationSize implements SizeInfo.
func (Sessionless) RelationSize(uint32) (int64, bool, error) { return 0, false, noSession() }

// IndexesSize implements SizeInfo.
func (Sessionless) IndexesSize(uint32) (int64, bool, error) { return 0, false, noSession() }

// DatabaseSize implements SizeInfo.
func (Sessionless) DatabaseSize(uint32) (int64, bool, error) { return 0, false, noSession() }

// StartTime implements ActivityInfo.
func (Sessionless) StartTime() time.Time { return time.Time{} }

// StatementTime implements ActivityInfo.
func (Sessionless) StatementTime() time.Time { return time.Time{} }

// ReloadTime implements ActivityInfo.
func (Sessionless) ReloadTime() time.Time { return time.Time{} }

// Query implements ActivityInfo.
func (Sessionless) Query() string { return "" }

// TransactionID implements ActivityInfo.
func (Sessionless) TransactionID(bool) (uint64, bool, error) { return 0, false, noSession() }

// Snapshot implements ActivityInfo.
func (Sessionless) Snapshot() string { return "" }

// Random implements ActivityInfo.
func (Sessionless) Random() float64 { return rand.Float64() }

// SetSeed implements ActivityInfo.
func (Sessionless) SetSeed(float64) {}

// TriggerDepth implements TransactionInfo.
func (Sessionless) TriggerDepth() int { return 0 }

// Notify implements TransactionInfo.
func (Sessionless) Notify(string, string) error { return noSession() }

// ListeningChannels implements TransactionInfo.
func (Sessionless) ListeningChannels() []string { return nil }

// NotificationUsage implements TransactionInfo.
func (Sessionless) NotificationUsage() float64 { return 0 }

// ExportSnapshot implements TransactionInfo.
func (Sessionless) ExportSnapshot() (string, error) { return "", noSession() }

// TransactionName implements TransactionInfo.
func (Sessionless) TransactionName() string { return "" }

// TransactionOutcome implements TransactionInfo.
func (Sessionless) TransactionOutcome(string) (string, error) { return "", noSession() }

// AdvisoryLock implements LockInfo.
func (Sessionless) AdvisoryLock(AdvisoryLock) (bool, error) { return false, noSession() }

// AdvisoryUnlock implements LockInfo.
func (Sessionless) AdvisoryUnlock(AdvisoryKey, bool) bool { return false }

// AdvisoryUnlockAll implements LockInfo.
func (Sessionless) AdvisoryUnlockAll() {}

// BlockingPIDs implements LockInfo.
func (Sessionless) BlockingPIDs(int32) ([]int32, error) { return nil, noSession() }

// CancelBackend implements LockInfo.
func (Sessionless) CancelBackend(int32) (bool, error) { return false, noSession() }

// TerminateBackend implements LockInfo.
func (Sessionless) TerminateBackend(int32, time.Duration) (bool, error) { return false, noSession() }

// Run implements Gateway.
func (Sessionless) Run(*Ctx, *pgcatalog.Proc, []types.Datum) (types.Datum, error) {
	return types.Null, noSession()
}

// RunTable implements Gateway.
func (Sessionless) RunTable(*Ctx, *pgcatalog.Proc, []types.Datum, func([]types.Datum) error) error {
	return noSession()
}
