package storage

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/raftlog"
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

	// AskOutcome asks the anchor what became of a transaction prepared here; the anchor proposes abort if it does not know
	// (T7). SendResolve tells another writer; nil leaves it to that writer to ask. Peers offers both within one process.
	AskOutcome  func(ctx context.Context, anchor txn.FragmentID, id txn.ID, C txn.Timestamp) (txn.Outcome, error)
	SendResolve func(ctx context.Context, fragment txn.FragmentID, d txn.Decision) error
	// AskPrepared asks another writer of a transaction anchored here whether it has prepared at C; where it has not, it never will after
	// the answer.
	AskPrepared func(ctx context.Context, writer txn.FragmentID, id txn.ID, C txn.Timestamp) (bool, error)
	// AskHeld asks the home of a held transaction whether it stands; an incomplete one is dropped by the asking.
	AskHeld func(ctx context.Context, home txn.FragmentID, id txn.ID) (stands bool, err error)

	// Node, Transport, Peers and Join are those of raftgroup.Options; all empty for a fragment with one replica.
	Node      raft.ServerID
	Transport raft.Transport
	Peers     []raft.Server
	Join      bool

	// Added: the fragment was added to its database and owned nothing at first. The same at every replica, for ever.
	Added bool
	// Global tells whether an index of a table is global, so that its entries' keys begin with a bucket; nil: none is.
	Global func(table, index uint32) bool
	// CatchUp waits until Global knows every index that was defined before the call; nil: it always does. A leader that is behind would take entries of a new
	// global index for a local one's, and leave them behind in a move.
	CatchUp func(ctx context.Context) error

	// Version gives the version of the cluster (V4): of what came later nothing is written. nil: the newest.
	Version func() uint32

	// Name says what the fragment is called, and where this replica is, in messages for people; nil: by its number.
	Name func() string

	Pace *Pace // what the replicas of a node share; nil: one of its own

	// Device keeps the Raft log, shared with the other fragments of the node; nil: a log of its own in Dir.
	Device *raftlog.Device

	// VersionsKept returns how long old versions are kept now; 0, or a nil function, is GCTTL.
	VersionsKept func() time.Duration

	GCTTL        time.Duration // old versions are kept that long; default 15 min
	RecoverAfter time.Duration // an undecided transaction is asked about after that; default 5 s
	Election     time.Duration // raftgroup.Options.Election
	RecoverLive  time.Duration // the same where its stage is here, so that its coordinator may be at work; default 10 min
	MaxStage     int64         // bytes of one transaction's staged writes, on disk; default 64 GiB
	StageMemory  int64         // bytes of them that may be in memory; default 4 MiB
	WholeLocks   int           // locks of one transaction that are held with all that is known of them; default 8192 (locktable)
	MaxRow       int           // bytes of a value; default 16 MiB
	MemTable     int64         // bytes of a memtable, two are kept; default 4 MiB; 2 MiB is the least that takes a chunk of a row
	IndexCache   int64         // bytes for table indexes; 0 keeps them all in memory
	MinFree      int64         // bytes that must be free on the disk for clients to write, besides what merges may take; default 256 MiB
	LogSegment   int           // bytes of a log file; default 16 MiB
	LogEntries   uint64        // log entries between snapshots; default 8192
	EndingWait   time.Duration // bound of the wait for a transaction that is committing, of a request that shall not wait; default 1 s
	YieldTime    time.Duration // how long no transaction may begin at a leader that gives way while others end there; default 500 ms

	stopped bool // see Stopped

	free func(dir string) (int64, error) // bytes on the disk; nil: as the system says

	// Fault is for tests: called with the name of every durable step before and after it is made.
	Fault func(point string)
}

func (c *Config) setDefaults() {
	if c.Deadlock == nil {
		c.Deadlock = txn.NewDetector()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Fault == nil {
		c.Fault = func(string) {}
	}
	if c.Version == nil {
		c.Version = func() uint32 { return clusterversion.Newest }
	}
	if c.Name == nil {
		c.Name = func() string { return fmt.Sprintf("fragment %d", c.Fragment) }
	}
	if c.Pace == nil {
		c.Pace = NewPace()
	}
	setDefault(&c.GCTTL, 15*time.Minute)
	setDefault(&c.RecoverAfter, 5*time.Second)
	setDefault(&c.RecoverLive, 10*time.Minute)
	setDefault(&c.MaxStage, 64<<30)
	setDefault(&c.StageMemory, 4<<20)
	c.MaxStage, c.StageMemory = min(c.MaxStage, writebuf.MaxBytes), min(c.StageMemory, 1<<30)
	setDefault(&c.WholeLocks, 8192)
	setDefault(&c.MaxRow, 16<<20)
	setDefault(&c.MemTable, 4<<20)
	setDefault(&c.MinFree, 256<<20)
	setDefault(&c.LogSegment, 16<<20)
	setDefault(&c.LogEntries, 8192)
	setDefault(&c.EndingWait, time.Second)
	setDefault(&c.YieldTime, 500*time.Millisecond)
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// knows tells whether all replicas understand what a version of the cluster brought.
func (c *Config) knows(version uint32) bool { return c.Version() >= version }
