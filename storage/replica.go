package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/guards"
	"github.com/sherddb/sherd/storage/install"
	"github.com/sherddb/sherd/storage/keymoves"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/keysummary"
	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/marker"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/pins"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/stopper"
	"github.com/sherddb/sherd/storage/truncation"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// FragmentID names a fragment.
type FragmentID = txn.FragmentID

// Replica is one fragment's replica on this disk. All methods may be called concurrently.
type Replica struct {
	Group    *Group            // the Raft group: its leader and members
	Owned    *owned.Set        // which buckets the fragment owns
	Globals  *keyspace.Globals // which indexes are global
	Moves    *Mover            // the steps of moves
	Outcomes *Outcomes         // what becomes of transactions over several fragments
	Inspect  *Inspector        // statistics, checks and lists

	cfg      Config
	db       *engine.Engine
	machine  *machine
	kept     *truncation.Keeper // of the log
	snaps    *marker.Store
	stats    *counts.Sums
	drops    *dropper
	installs *install.Installer
	rows     *rowReader
	stopper  *stopper.Stopper

	proposer *proposer.Proposer // stamps, the term, and what can be read
	log      logWriter          // puts entries into the log that come from no write buffer
	learned  proposer.Learned   // closed timestamps that a leader has reported (T9)
	pins     pins.Set           // the watermark, and snapshots above it

	txns   transactions // in the log
	live   liveTxs      // in the leader's memory
	locks  *locktable.Table
	guards guards.Set
	left   keymoves.Recent
}

// Open opens the replica in cfg.Dir, creating it if there is none, and starts its group. It returns
// before the replica serves; see WaitReady.
func Open(cfg Config) (*Replica, error) {
	cfg.setDefaults()
	if cfg.Dir == "" || cfg.Clock == nil {
		return nil, fmt.Errorf("storage: Dir and Clock are required")
	}
	r := newReplica(cfg)
	if err := r.open(); err != nil {
		abandon(r)
		return nil, fmt.Errorf("open fragment %d: %w", cfg.Fragment, err)
	}
	r.stopper.Go(r.housekeeping)
	return r, nil
}

func newReplica(cfg Config) *Replica {
	r := &Replica{cfg: cfg, stopper: stopper.New()}
	r.proposer = proposer.New(proposer.Config{
		Clock: cfg.Clock, Enqueue: r.enqueue, Extend: r.extendLease, Stop: r.stopper.Stopped(), Fault: cfg.Knobs.Fault,
	})
	r.log = logWriter{r.proposer}
	r.Group = newGroup(r)
	r.Owned = owned.New(owned.Config{
		Fragment: cfg.Fragment, Added: cfg.Added, Term: r.proposer.Term, Stop: r.stopper.Stopped(),
	})
	r.Globals = keyspace.NewGlobals(cfg.Global)
	r.snaps = marker.New(marker.Config{
		Dir: filepath.Join(cfg.Dir, "snapshots"), Stream: r.streamTo, Fault: r.fault,
	})
	r.kept = truncation.New(truncation.Config{
		Dir: cfg.Dir, Newest: func() txn.Timestamp { return r.db.InTables() },
		Replaced: func() bool { return r.machine.fresh.Load() }, Release: r.snaps.Release, Fault: r.fault,
	})
	r.txns.clear()
	r.live.reset()
	r.locks = locktable.New(locktable.Config{
		Fragment: cfg.Fragment, Detector: cfg.Deadlock, Whole: cfg.Limits.WholeLocks, EndingWait: cfg.Timing.EndingWait,
		Given: r.given,
	})
	return r
}

func (r *Replica) open() (err error) {
	if err := r.openFiles(); err != nil {
		return err
	}
	r.Group.raft, err = raftgroup.Open(raftgroup.Options{
		Dir: filepath.Join(r.cfg.Dir, "raft"), Name: fmt.Sprintf("fragment-%d", r.cfg.Fragment), FSM: r.machine,
		Device: r.cfg.Group.Device, DeviceGroup: uint64(r.cfg.Fragment),
		ID: r.cfg.Group.Node, Transport: r.cfg.Group.Transport, Peers: r.cfg.Group.Peers, Join: r.cfg.Group.Join,
		Snapshots: r.snaps, Recover: r.machine.recover, WrapLog: r.kept.Wrap,
		SegmentSize: r.cfg.Group.LogSegment, SnapshotThreshold: r.cfg.Group.LogEntries, TrailingLogs: trailingEntries,
		OnLeader: r.lead, OnFollower: r.follow, BeforeTransfer: r.Group.yield, Election: r.cfg.Group.Election,
		Logger: r.cfg.Logger,
	})
	return err
}

// openFiles opens everything but the log: the state machine is as of its checkpoint.
func (r *Replica) openFiles() (err error) {
	if r.db, err = r.openEngine(); err != nil {
		return err
	}
	// A crash may leave an empty file.
	if err := os.RemoveAll(filepath.Join(r.cfg.Dir, bufferFolder)); err != nil {
		return err
	}
	s, stats, err := loadState(r.db)
	if err != nil {
		return err
	}
	if err := r.snaps.Init(); err != nil {
		return err
	}
	if err = r.kept.Open(s.index, r.snaps.Received()); err != nil {
		return err
	}
	if s.index > 0 {
		r.kept.Note(s.mark(s.remaining()))
	}
	r.stats = stats
	r.machine = &machine{r: r, s: s, kvs: r.db.NewBatch(), pieces: pieceReader{db: r.db},
		expired: map[keyspace.Kind]txn.Timestamp{}}
	r.installs = install.New(install.Config{
		DB: r.db, Pace: r.cfg.Pace, Stopper: r.stopper, Fragment: r.cfg.Fragment,
		Installed: func(x *install.Rows) { r.txns.installed(x.ID) }, Closed: proposer.ErrNotLeader, Fault: r.fault,
	})
	r.rows = &rowReader{db: r.db, txns: &r.txns, installs: r.installs, pins: &r.pins, stopper: r.stopper}
	r.Moves = newMover(r)
	r.Outcomes = newOutcomes(r)
	r.Inspect = &Inspector{r}
	r.drops, err = openDropper(r)
	return err
}

func (r *Replica) openEngine() (*engine.Engine, error) {
	c := &r.cfg
	return engine.Open(engine.Options{
		Dir: c.Dir, Fragment: c.Fragment, Logger: c.Logger, Merges: c.Pace.Merges(), Rows: c.Rows,
		Stop:     r.stopper.Stopped(),
		MemTable: c.Disk.MemTable, IndexCache: c.Disk.IndexCache, MinFree: c.Disk.MinFree, ReadOnly: c.stopped,
		Name: c.Name, Free: c.Knobs.Free, Fault: r.fault, Follows: r.follows, Keep: r.Owned.Keep,
		Closed: proposer.ErrNotLeader,
	})
}

// follows reports whether another replica leads, which may have more room on its disk.
func (r *Replica) follows() bool { return r.proposer.Term() == 0 && r.kept.Several() }

// recover brings the state machine from its checkpoint to the entry that Raft regards as applied
// (S2). It reads the writes of transactions that were open at the checkpoint again, then applies
// the entries up to the last snapshot. Raft applies the rest.
func (m *machine) recover(log raft.LogStore, snapshotIndex uint64) error {
	var l raft.Log
	m.pieces.log = log
	m.kvs.Starting = true
	defer func() { m.kvs.Starting = false }()
	if m.r.snaps.Received() { // a stream that is not in tables yet: start with it again
		_, rd, err := m.r.snaps.Open("")
		if err != nil {
			return err
		}
		// The marker may be a newer one by now. The log is not cut before the stream is in tables,
		// so it begins after the stream's.
		first, err := log.FirstIndex()
		if err != nil {
			return errors.Join(err, rd.Close())
		}
		covered := snapshotIndex
		if first > 0 {
			covered = min(first-1, snapshotIndex)
		}
		if err := m.restoreAt(rd, covered); err != nil {
			return err
		}
	}
	for _, o := range m.s.open {
		if err := m.reopen(o); err != nil {
			return err
		}
	}
	if err := m.finishInstalls(); err != nil {
		return err
	}
	m.r.publishAll(m.s)
	m.r.drops.resume()
	for i := m.s.index + 1; i <= snapshotIndex; i++ {
		if err := log.GetLog(i, &l); err != nil {
			return damaged("log entry %d is missing: %v", i, err)
		}
		m.ApplyBatch([]*raft.Log{&l})
		if m.halted != nil {
			return m.halted
		}
		m.r.fault("recover.entry")
	}
	return nil
}

// reopen fills in what a checkpoint does not contain of an open transaction.
func (m *machine) reopen(o *openTxn) error {
	if o.parts == partsInLog {
		o.parts = 0
		for _, i := range o.indexes {
			var l raft.Log
			if err := m.pieces.log.GetLog(i, &l); err != nil {
				return damaged("log entry %d of an open transaction: %v", i, err)
			}
			e, err := logentry.Decode(l.Data)
			if err == nil {
				if id, _, ok := logentry.WritesOf(e); !ok || id != o.id {
					err = codec.ErrMalformed
				}
			}
			if err != nil {
				return damaged("log entry %d is not of the open transaction %s", i, o.id)
			}
			if p, ok := e.(*logentry.Prepare); ok {
				o.stats = p.Stats
			} else {
				o.parts++
			}
		}
	}
	o.keys = &keysummary.Summary{}
	return m.pieces.each(o, m.s.stamp+1, o.keys.Add)
}

func damaged(format string, args ...any) error {
	return pgerr.New(pgerr.DataCorrupted, "the fragment's data is damaged: "+format, args...)
}

// ID returns the fragment's number.
func (r *Replica) ID() FragmentID { return r.cfg.Fragment }

// WaitReady waits until the replica leads its group and serves.
func (r *Group) WaitReady(ctx context.Context) error { return r.raft.WaitLeader(ctx) }

// Applied returns the largest stamp applied.
func (r *Replica) Applied() txn.Timestamp { return txn.Timestamp(r.proposer.Applied.Load()) }

// Close writes a checkpoint, flushes the database and ends the group.
func (r *Replica) Close() error {
	if !r.stopper.Stop() {
		return nil
	}
	err := r.Group.raft.Close()
	r.follow() // wakes all that still wait
	r.drops.wait()
	r.installs.Wait()
	r.installs.ForgetPieces()
	// Without room, no checkpoint and no memtable is written, because each of them might end the
	// process by SIGBUS. Without the mark of a clean end, the next start applies the log again,
	// which contains everything.
	room := r.db.HasRoom()
	if err == nil && room {
		err = r.machine.checkpoint()
	}
	if errors.Is(err, engine.ErrHalted) {
		err, room = nil, false
	}
	if !room {
		r.cfg.Logger.Warn("closed without room to write the newest rows to tables", "fragment", r.cfg.Fragment)
		r.db.DiscardMemory()
	}
	r.fault("close.checkpoint")
	if cerr := r.db.Close(err == nil && room); err == nil {
		err = cerr
	}
	return err
}

// abandon ends what an Open of r has begun that fails.
func abandon(r *Replica) {
	r.stopper.Stop()
	if r.drops != nil {
		r.drops.wait()
		r.installs.Wait()
	}
	if r.db != nil {
		r.db.Abandon()
	}
}

func (r *Replica) fault(point string) { r.cfg.Knobs.Fault(point) }

// lead takes over at the start of a term in which this replica leads, after an entry of the term
// has been applied (T4): with the lease's expiry as low-water timestamp, and the locks of the
// prepared transactions.
func (r *Replica) lead(term uint64) {
	r.proposer.Lock()
	defer r.proposer.Unlock()
	r.proposer.Prepare()
	r.Owned.DropPending()
	r.locks.Reset(proposer.ErrTermOver)
	r.left.Unknown(r.proposer.NewestStamp())
	r.live.reset()
	r.txns.mu.Lock()
	for _, p := range r.txns.prepared {
		if rule.T4Locks {
			r.adopt(p, term)
		}
	}
	for _, h := range r.txns.preparations {
		r.adoptPreparation(h, term)
	}
	r.guardAgain()
	for _, d := range r.txns.decided {
		d.since = time.Time{} // its writers get the outcome at once
	}
	r.txns.mu.Unlock()
	r.proposer.Begin(term)
	select {
	case r.Group.began <- struct{}{}:
	default:
	}
}

// follow ends the term: its locks and write buffers end with it, and the proposers that wait for
// one of its entries are notified.
func (r *Replica) follow() {
	r.proposer.Lock()
	r.proposer.End()
	r.Owned.DropPending()
	r.proposer.Unlock()
	r.locks.Reset(proposer.ErrTermOver)
	r.guards.Replace(nil) // transactions that wait for a guard are notified
	r.proposer.Applied.WakeAll()
}
