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

	// AskOutcome asks the anchor for the outcome of a transaction prepared here; the anchor
	// proposes an abort if it does not know the transaction (T7). SendResolve sends the outcome to
	// another writer; if it is nil, the writer has to ask. Peers has both within one process.
	AskOutcome  func(ctx context.Context, anchor txn.FragmentID, id txn.ID, C txn.Timestamp) (txn.Outcome, error)
	SendResolve func(ctx context.Context, fragment txn.FragmentID, d txn.Decision) error
	// AskPrepared asks another writer of a transaction anchored here whether it has prepared at C.
	// If it answers no, it never will.
	AskPrepared func(ctx context.Context, writer txn.FragmentID, id txn.ID, C txn.Timestamp) (bool, error)
	// AskHeld asks the home of a held transaction whether it stands. The question drops an
	// incomplete one.
	AskHeld func(ctx context.Context, home txn.FragmentID, id txn.ID) (stands bool, err error)

	// Node, Transport, Peers and Join are those of raftgroup.Options. All are empty for a fragment
	// with one replica.
	Node      raft.ServerID
	Transport raft.Transport
	Peers     []raft.Server
	Join      bool

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

	Pace *Pace // what the replicas of a node share; nil: one of its own

	// Device keeps the Raft log, shared with the other fragments of the node; nil: a log in Dir.
	Device *raftlog.Device

	// VersionsKept returns how long old versions are kept now; 0, or a nil function, is GCTTL.
	VersionsKept func() time.Duration

	GCTTL time.Duration // how long old versions are kept; default 15 min
	// age at which the outcome of an undecided transaction is asked for; default 5 s
	RecoverAfter time.Duration
	Election     time.Duration // raftgroup.Options.Election
	// the same if its write buffer is here, so that its coordinator may be at work; default 10 min
	RecoverLive time.Duration
	MaxStage    int64 // bytes of one transaction's write buffer, on disk; default 64 GiB
	StageMemory int64 // bytes of it that may be in memory; default 4 MiB
	// locks of one transaction that are kept with all their details; default 8192 (locktable)
	WholeLocks int
	MaxRow     int // bytes of a value; default 16 MiB
	// bytes of a memtable, two are kept; default 4 MiB; at least 2 MiB, for a chunk of a row
	MemTable   int64
	IndexCache int64 // bytes for table indexes; 0 keeps them all in memory
	// bytes free on the disk for clients to write, besides what merges may take; default 256 MiB
	MinFree    int64
	LogSegment int    // bytes of a log file; default 16 MiB
	LogEntries uint64 // log entries between snapshots; default 8192
	// how long a request waits for a committing transaction if it shall not wait for long; default
	// 1 s
	EndingWait time.Duration
	// how long a leader that yields admits no new transactions while others end; default 500 ms
	YieldTime time.Duration

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

// knows reports whether all replicas understand what a version of the cluster introduced.
func (c *Config) knows(version uint32) bool { return c.Version() >= version }
