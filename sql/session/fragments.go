package session

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tablestats"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/txn"
)

// Fragments is the databases' fragments; package node provides it.
type Fragments interface {
	Begin() exec.Transaction
	// WaitFragments waits until all fragments of a database serve.
	WaitFragments(ctx context.Context, d *catalog.Database) error
	// Silent reports whether a node does not answer.
	Silent(node uint32) bool
	// TableStats counts the rows of a storage id in each fragment of a database. 0 means all ids.
	TableStats(ctx context.Context, d *catalog.Database, storageID uint32) ([]sysview.Stat, error)
	// CountRows is TableStats for the fragments that answer soon. It does not ask the fragments in
	// missing, and adds those that do not answer.
	CountRows(
		ctx context.Context, d *catalog.Database, storageID uint32, missing map[uint32]bool,
	) ([]sysview.Stat, error)
	// Totals returns what each fragment of a database has of a storage id, of all if it is 0. All of
	// them must answer.
	Totals(ctx context.Context, d *catalog.Database, storageID uint32) ([]tablestats.Total, error)
	// TableTotalHere returns the rows of a storage id and their bytes in the replica of a fragment
	// on this node. It reports whether there is one. TableTotal asks the fragment's leader.
	TableTotalHere(fragment, storageID uint32) (rows, bytes int64, ok bool)
	TableTotal(ctx context.Context, fragment, storageID uint32) (rows, bytes int64, err error)
	// PlanRebalance makes a plan for a database, and keeps it as a proposal. Its number is 0 if
	// there is nothing to do.
	PlanRebalance(ctx context.Context, database catalog.OID, a catalog.Author) (id uint64, p *catalog.Plan, err error)
	// SegmentCut returns the keys at which a segment of a range table is split if it is above a
	// limit of its size, and the key that divides its bytes if it is not; none if it cannot be
	// split.
	SegmentCut(
		ctx context.Context, t *catalog.Table, b shardmap.Bucket, f shardmap.FragmentID, limit int64,
	) ([][]byte, error)
	// FillFragments returns a plan that moves to every fragment of grown its share of the buckets.
	// now is the database before fragments were added.
	FillFragments(ctx context.Context, now, grown *catalog.Database) (*catalog.Plan, error)
	// ListRowLocks returns row locks, held and waited for. ListTransactions returns transactions
	// that hold locks or have buffered writes. Both lists are cut; the number is how many there
	// are.
	ListRowLocks() ([]txn.RowLock, int)
	ListTransactions() ([]txn.OpenTransaction, int)
	// ListReplicas returns the replicas of the fragments that this node leads.
	ListReplicas() []sysview.Replica
	// ListHeat returns the most used rows and buckets of the fragments that this node leads.
	ListHeat() []sysview.Heat
	// Check proves that what a database's fragments store agrees with its definitions.
	Check(ctx context.Context, database catalog.OID, emit verify.Emit) error
	// Prepared lists the prepared transactions of a database by name. CommitPrepared and
	// RollbackPrepared end one; they return 42704 if there is none of that name. After any other
	// error but 40003 it is still prepared.
	Prepared(ctx context.Context, database catalog.OID) ([]txn.PreparedTransaction, error)
	// PreparedSoon is Prepared, without tables, for the fragments that answer; the others are
	// missing. It does not ask fragments most of whose nodes are silent; it asks the others for as
	// long as timeout, and with timeout 0 for as long as any statement waits.
	PreparedSoon(ctx context.Context, database catalog.OID, timeout time.Duration) (
		prepared []txn.PreparedTransaction, missing []txn.FragmentID, err error)
	// Lost reports whether all nodes that have a replica of a fragment have left the cluster, or
	// have been silent for sherd.dead_node_after.
	Lost(f *catalog.Fragment) bool
	CommitPrepared(ctx context.Context, database catalog.OID, gid string, floor txn.Timestamp) (txn.Timestamp, error)
	RollbackPrepared(ctx context.Context, database catalog.OID, gid string) error
	// Outcome returns the outcome of a transaction, if it ended within gc_ttl. ResolveTransaction
	// records an operator's decision about a transaction whose coordinator fragment is out of reach
	// (T7).
	Outcome(ctx context.Context, database catalog.OID, id txn.ID) (txn.Outcome, txn.Timestamp, error)
	ResolveTransaction(ctx context.Context, database catalog.OID, id txn.ID, outcome txn.Outcome) error
}
