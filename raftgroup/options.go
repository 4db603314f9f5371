package raftgroup

import (
	"context"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/raftlog"
)

// MaxEntry bounds the bytes of one entry. raft-wal refuses 64 MiB; the bound is far lower to limit
// the memory of a batch.
const MaxEntry = 16 << 20

const (
	maxAppendEntries   = 256                    // entries of one batch: shares an fsync, bounds memory
	commitTimeout      = 500 * time.Millisecond // idle heartbeat of commit indexes; halves idle CPU at 128 groups
	defaultElection    = time.Second
	defaultSegmentSize = 16 << 20
	defaultThreshold   = 8192
	defaultTrailing    = 1024
	defaultInterval    = 30 * time.Second
)

// Options are the options of Open. Dir, Name and FSM are required.
type Options struct {
	Dir  string // snapshots in Dir/snapshots, the log in Dir/log if there is no Device
	Name string // for messages; also the server id and address if ID is empty
	FSM  raft.FSM

	// Device, if set, keeps the log under the number DeviceGroup, and shares its fsyncs with the
	// other groups there. A log that is found in Dir/log is moved into it.
	Device      *raftlog.Device
	DeviceGroup uint64

	ID        raft.ServerID  // this server; default Name
	Transport raft.Transport // nil: in memory, this process is the only voter
	Peers     []raft.Server  // configuration to write if the log is empty; nil: this server alone
	Join      bool           // write no configuration: the leader of an existing group adds this server

	// Snapshots is the store of snapshots; nil keeps two as ordinary files.
	Snapshots raft.SnapshotStore
	// RestoreOnStart makes Open restore the newest snapshot into FSM. It is off for a state machine
	// that is durable by itself.
	RestoreOnStart bool
	// Recover, if set, is called before Raft starts with the log and the index of the newest
	// snapshot (0 if none). A durable state machine applies again from the log what it lost in a
	// crash and Raft considers applied.
	Recover func(log raft.LogStore, snapshotIndex uint64) error
	// Restoring, if set, is called with the index of each snapshot before the state machine
	// restores it, at Open too. A state machine itself knows only the last command before that
	// index; entries of Raft's own may follow the command.
	Restoring func(snapshotIndex uint64)
	// WrapLog, if set, wraps the log that Raft uses; storage uses it to refuse truncation above
	// what is in its tables.
	WrapLog func(raft.LogStore) raft.LogStore

	SegmentSize       int           // bytes of a log file; default 16 MiB
	SnapshotThreshold uint64        // entries between snapshots; default 8192
	SnapshotInterval  time.Duration // how often the threshold is checked; default 30 s
	TrailingLogs      uint64        // entries kept before a snapshot's index; default 1024

	// OnLeader is called after this server has become leader and an entry of its own term has been
	// applied (T4); OnFollower when it has lost leadership. Calls come one after another, in order.
	OnLeader   func(term uint64)
	OnFollower func()

	// BeforeTransfer, if set, is called before Reconcile hands leadership to another server; the
	// function that it returns is called after the transfer or its failure. An error postpones the
	// transfer. must is set when it has been postponed too often; it should not fail then.
	BeforeTransfer func(ctx context.Context, must bool) (after func(), err error)

	// Election is how long a leader may be silent before the others elect another. It is twice the
	// time that a leader may be without answers itself. Default 1 s.
	Election time.Duration

	Logger *slog.Logger // default slog.Default()
}

func (o *Options) setDefaults() {
	if o.ID == "" {
		o.ID = raft.ServerID(o.Name)
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = defaultSegmentSize
	}
	if o.SnapshotThreshold == 0 {
		o.SnapshotThreshold = defaultThreshold
	}
	if o.SnapshotInterval == 0 {
		o.SnapshotInterval = defaultInterval
	}
	if o.TrailingLogs == 0 {
		o.TrailingLogs = defaultTrailing
	}
	if o.Election == 0 {
		o.Election = defaultElection
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

func (o *Options) raftConfig(notify chan<- bool) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = o.ID
	c.HeartbeatTimeout = o.Election
	c.ElectionTimeout = o.Election
	c.LeaderLeaseTimeout = o.Election / 2
	c.CommitTimeout = commitTimeout
	c.MaxAppendEntries = maxAppendEntries
	c.BatchApplyCh = true
	c.SnapshotThreshold = o.SnapshotThreshold
	c.SnapshotInterval = o.SnapshotInterval
	c.TrailingLogs = o.TrailingLogs
	c.NoSnapshotRestoreOnStart = !o.RestoreOnStart
	c.NotifyCh = notify
	c.NoLegacyTelemetry = true
	c.Logger = newLogger(o.Logger, o.Name)
	return c
}
