package storage

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/raftlog"
	"github.com/sherddb/sherd/storage/install"
	"github.com/sherddb/sherd/storage/rowcache"
	"github.com/sherddb/sherd/storage/writebuf"
	"github.com/sherddb/sherd/txn"
)

// Config says how a replica is opened. Dir and Clock are required.
type Config struct {
	Dir      string
	Fragment txn.FragmentID
	Clock    *txn.Clock    // the node's
	Deadlock *txn.Detector // shared by all fragments of the process; nil: one of its own
	Logger   *slog.Logger
	Pace     *install.Pace // what the replicas of a node share; nil: one of its own
	// Rows has the rows that were read lately, of all replicas of a node; nil: a small one
	Rows *rowcache.Cache

	Group  GroupConfig // empty for a fragment with one replica
	Others Others
	Timing Timing
	Limits Limits
	Disk   Disk

	// Added is set if the fragment was added to its database and owned nothing at first. It is the
	// same at every replica and never changes.
	Added bool
	// Global reports whether an index of a table is global, so that its entries' keys begin with a
	// bucket. nil means that no index is.
	Global func(table, index uint32) bool
	// CatchUp waits until Global knows every index that was defined before the call. nil means that
	// Global always does. A leader that is behind would take entries of a new global index for
	// local ones, and a move would leave them behind.
	CatchUp func(ctx context.Context) error

	// Version returns the version of the cluster (V4); nothing that came with a later version is
	// written. nil means the newest version.
	Version func() uint32

	// Name returns the fragment's name and this replica's place, for messages that people read. nil
	// means the fragment's number.
	Name func() string

	Knobs   Knobs
	stopped bool // see Stopped
}

// GroupConfig says how the fragment's Raft group is opened. Node, Transport, Peers, Join and
// Election are those of raftgroup.Options.
type GroupConfig struct {
	Node      raft.ServerID
	Transport raft.Transport
	Peers     []raft.Server
	Join      bool
	Election  time.Duration

	// Device keeps the Raft log, shared with the other fragments of the node; nil: a log in Dir.
	Device     *raftlog.Device
	LogSegment int    // bytes of a log file; default 16 MiB
	LogEntries uint64 // log entries between snapshots; default 8192
}

// Others are the functions with which the replica asks the leaders of other fragments. Peers has
// them within one process.
type Others struct {
	// Outcome asks the coordinator fragment for the outcome of a transaction that is prepared here.
	// The coordinator fragment proposes an abort if it does not know the transaction (T7).
	Outcome func(ctx context.Context, coordinator txn.FragmentID, id txn.ID, C txn.Timestamp) (txn.Outcome, error)
	// Resolve sends the outcome to another writer; if it is nil, the writer has to ask.
	Resolve func(ctx context.Context, writer txn.FragmentID, d txn.Decision) error
	// Prepared asks another writer of a transaction, whose coordinator fragment this one is,
	// whether it has prepared at C. If it answers no, it never will.
	Prepared func(ctx context.Context, writer txn.FragmentID, id txn.ID, C txn.Timestamp) (bool, error)
	// Stands asks the home of a prepared transaction whether it stands. The question drops an
	// incomplete one.
	Stands func(ctx context.Context, home txn.FragmentID, id txn.ID) (bool, error)
}

// Timing has how long things are kept or waited for.
type Timing struct {
	GCTTL time.Duration // how long old versions are kept; default 15 min
	// VersionsKept returns how long old versions are kept now; 0, or a nil function, is GCTTL.
	VersionsKept func() time.Duration
	// age at which the outcome of an undecided transaction is asked for; default 5 s
	RecoverAfter time.Duration
	// the same if its write buffer is here, so that its coordinator may be at work; default 10 min
	RecoverLive time.Duration
	// how long a request waits for a committing transaction if it shall not wait for long; default
	// 1 s
	EndingWait time.Duration
	// how long a leader that yields admits no new transactions while others end; default 500 ms
	Yield time.Duration
}

// Limits bound one transaction and one row.
type Limits struct {
	Buffer       int64 // bytes of one transaction's write buffer, on disk; default 64 GiB
	BufferMemory int64 // bytes of it that may be in memory; default 4 MiB
	// locks of one transaction that are kept with all their details; default 8192 (locktable)
	WholeLocks int
	Row        int // bytes of a value; default 16 MiB
}

// Disk has the sizes of the database's parts.
type Disk struct {
	// bytes of a memtable, two are kept; default 4 MiB; at least 2 MiB, for a chunk of a row
	MemTable   int64
	IndexCache int64 // bytes for table indexes; 0 keeps them all in memory
	// bytes free on the disk for clients to write, besides what merges may take; default 256 MiB
	MinFree int64
}

// Knobs are for tests.
type Knobs struct {
	Fault func(point string)              // called before and after every durable step, with its name
	Free  func(dir string) (int64, error) // bytes free on the disk; nil: what the system reports
}

func (c *Config) setDefaults() {
	if c.Deadlock == nil {
		c.Deadlock = txn.NewDetector()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Knobs.Fault == nil {
		c.Knobs.Fault = func(string) {}
	}
	if c.Version == nil {
		c.Version = func() uint32 { return clusterversion.Newest }
	}
	if c.Name == nil {
		c.Name = func() string { return fmt.Sprintf("fragment %d", c.Fragment) }
	}
	if c.Pace == nil {
		c.Pace = install.NewPace()
	}
	if c.Rows == nil {
		c.Rows = rowcache.New(smallRowCache)
	}
	setDefault(&c.Timing.GCTTL, 15*time.Minute)
	setDefault(&c.Timing.RecoverAfter, 5*time.Second)
	setDefault(&c.Timing.RecoverLive, 10*time.Minute)
	setDefault(&c.Limits.Buffer, 64<<30)
	setDefault(&c.Limits.BufferMemory, 4<<20)
	c.Limits.Buffer, c.Limits.BufferMemory = min(c.Limits.Buffer, writebuf.MaxBytes), min(c.Limits.BufferMemory, 1<<30)
	setDefault(&c.Limits.WholeLocks, 8192)
	setDefault(&c.Limits.Row, 16<<20)
	setDefault(&c.Disk.MemTable, 4<<20)
	setDefault(&c.Disk.MinFree, 256<<20)
	setDefault(&c.Group.LogSegment, 16<<20)
	setDefault(&c.Group.LogEntries, 8192)
	setDefault(&c.Timing.EndingWait, time.Second)
	setDefault(&c.Timing.Yield, 500*time.Millisecond)
}

// smallRowCache is for replicas that share nothing with others, in bytes.
const smallRowCache = 2 << 20

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// knows reports whether all replicas understand what a version of the cluster introduced.
func (c *Config) knows(version uint32) bool { return c.Version() >= version }
