package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// FragmentID names a fragment.
type FragmentID = txn.FragmentID

// Replica is one fragment's replica on this disk. All methods may be called concurrently.
type Replica struct {
	cfg      Config
	db       *engine.Engine
	group    *raftgroup.Group
	machine  *machine
	stats    *statistics
	exact    *exactScanner
	durable  *durable
	locks    *locktable.Table
	drops    *dropper
	installs *installer
	snaps    *markerStore

	// What readers look at first. The applying goroutine writes it after the keys are in Badger.
	applied   appliedStamp
	ceiling   atomic.Uint64 // the last lease expiry (T4)
	watermark atomic.Uint64 // reads below are refused
	visible   atomic.Uint64 // applied without prepares, for a build without rule.T6Prepared

	pmu          sync.Mutex    // held while a stamp is assigned and its entry enqueued (T1)
	promised     atomic.Uint64 // low-water timestamp, see T1; only rises
	lastProposed uint64        // largest stamp enqueued; guarded by pmu
	inflight     inflight      // the newest proposals; guarded by pmu
	// the term in which this replica leads and serves, 0 otherwise; changed under pmu
	term atomic.Uint64
	over atomic.Pointer[chan struct{}] // closed when that term ends; changed under pmu
	// not 0: the replica is about to hand over leadership, and no transaction may begin here
	yielding atomic.Int32
	retired  atomic.Bool // yielding counts this permanently (Retire)

	txns transactions // in the log
	live liveTxs      // in the leader's memory

	closed closings // what is closed above applied (T9)

	cmu     sync.Mutex // held while the ceiling is extended
	guards  guards
	moves   keyMoves
	undone  undoneCopies
	swept   atomic.Uint64 // the stamp of the last "sweep" entry that this process has applied
	scans   scans
	leases  leases
	forgets forgets
	settler settler

	omu sync.Mutex                   // held while own is replaced; taken under pmu
	own atomic.Pointer[ownedBuckets] // which buckets the fragment owns; nil: all, nothing ever moved
	// logentry.Index → struct{}: indexes that a caller reported as global, though Config.Global may
	// not know them yet
	told  sync.Map
	gate  atomic.Pointer[prepareGate]
	recvs sync.Mutex // held while ingested rows are counted and put into the log

	retained retention
	several  atomic.Bool // the group has several replicas; may lag by a moment

	logged atomic.Int64 // bytes of entries applied since the log was last cut

	began  chan struct{} // a term has begun: housekeeping need not wait for its next round
	stop   chan struct{} // closed when the replica closes
	stopMu sync.Mutex    // held while stop is closed, and while a reader joins done
	done   sync.WaitGroup
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
	r.done.Add(1)
	go r.housekeeping()
	return r, nil
}

func newReplica(cfg Config) *Replica {
	r := &Replica{cfg: cfg, began: make(chan struct{}, 1), stop: make(chan struct{})}
	r.applied.stop = r.stop
	r.txns.clear()
	r.live.reset()
	r.locks = locktable.New(locktable.Config{
		Fragment: cfg.Fragment, Detector: cfg.Deadlock, Whole: cfg.WholeLocks, EndingWait: cfg.EndingWait, Given: r.given,
	})
	r.guards.waiting = map[*Tx]LockInfo{}
	over := make(chan struct{})
	close(over)
	r.over.Store(&over)
	return r
}

func (r *Replica) open() (err error) {
	if err := r.openFiles(); err != nil {
		return err
	}
	r.group, err = raftgroup.Open(raftgroup.Options{
		Dir: filepath.Join(r.cfg.Dir, "raft"), Name: fmt.Sprintf("fragment-%d", r.cfg.Fragment), FSM: r.machine,
		Device: r.cfg.Device, DeviceGroup: uint64(r.cfg.Fragment),
		ID: r.cfg.Node, Transport: r.cfg.Transport, Peers: r.cfg.Peers, Join: r.cfg.Join,
		Snapshots: r.snaps, Recover: r.machine.recover, WrapLog: r.guardLog,
		SegmentSize: r.cfg.LogSegment, SnapshotThreshold: r.cfg.LogEntries, TrailingLogs: trailingEntries,
		OnLeader: r.lead, OnFollower: r.follow, BeforeTransfer: r.yield, Election: r.cfg.Election, Logger: r.cfg.Logger,
	})
	return err
}

// openFiles opens everything but the log: the state machine is as of its checkpoint.
func (r *Replica) openFiles() (err error) {
	if r.db, err = r.openEngine(); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(r.cfg.Dir, stageFolder)); err != nil { // a crash may leave an empty file
		return err
	}
	s, stats, err := loadState(r.db)
	if err != nil {
		return err
	}
	if r.snaps, err = newMarkerStore(filepath.Join(r.cfg.Dir, "snapshots"), r); err != nil {
		return err
	}
	if r.durable, err = openDurable(r.cfg.Dir, s, r.snaps.received()); err != nil {
		return err
	}
	r.stats = stats
	r.exact = newExactScanner(r)
	r.machine = &machine{r: r, s: s, kvs: r.db.NewBatch(), expired: map[keyspace.Kind]txn.Timestamp{}}
	r.installs = newInstaller(r)
	r.drops, err = openDropper(r)
	return err
}

func (r *Replica) openEngine() (*engine.Engine, error) {
	c := &r.cfg
	return engine.Open(engine.Options{
		Dir: c.Dir, Fragment: c.Fragment, Logger: c.Logger, Merges: &c.Pace.merges, Stop: r.stop,
		MemTable: c.MemTable, IndexCache: c.IndexCache, MinFree: c.MinFree, ReadOnly: c.stopped,
		Name: c.Name, Free: c.free, Fault: r.fault, Follows: r.follows, Keep: r.keepIngested, Closed: errNoLeader,
	})
}

// follows reports whether another replica leads, which may have more room on its disk.
func (r *Replica) follows() bool { return r.term.Load() == 0 && r.several.Load() }

// recover brings the state machine from its checkpoint to the entry that Raft regards as applied
// (S2). It reads the writes of transactions that were open at the checkpoint again, then applies
// the entries up to the last snapshot. Raft applies the rest.
func (m *machine) recover(log raft.LogStore, snapshotIndex uint64) error {
	var l raft.Log
	m.log = log
	m.kvs.Starting = true
	defer func() { m.kvs.Starting = false }()
	if m.r.snaps.received() { // a stream that is not in tables yet: start with it again
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
			if err := m.log.GetLog(i, &l); err != nil {
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
	o.keys = &keySummary{}
	return m.eachPiece(o, m.s.stamp+1, o.keys.add)
}

func damaged(format string, args ...any) error {
	return pgerr.New(pgerr.DataCorrupted, "the fragment's data is damaged: "+format, args...)
}

// ID returns the fragment's number.
func (r *Replica) ID() FragmentID { return r.cfg.Fragment }

// WaitReady waits until the replica leads its group and serves.
func (r *Replica) WaitReady(ctx context.Context) error { return r.group.WaitLeader(ctx) }

// Applied returns the largest stamp applied.
func (r *Replica) Applied() txn.Timestamp { return txn.Timestamp(r.applied.Load()) }

// Close writes a checkpoint, flushes the database and ends the group.
func (r *Replica) Close() error {
	select {
	case <-r.stop:
		return nil
	default:
	}
	r.stopMu.Lock()
	close(r.stop)
	r.stopMu.Unlock()
	r.done.Wait()
	err := r.group.Close()
	r.follow() // wakes all that still wait
	r.drops.wait()
	r.installs.wait()
	r.installs.forgetPieces()
	// Without room no checkpoint is written and no table of what is in memory: each of them might end the process by
	// SIGBUS. Without the mark of a clean end the next start applies the log again, which has all of it.
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
	r.scans.close()
	if cerr := r.db.Close(err == nil && room); err == nil {
		err = cerr
	}
	return err
}

// abandon ends what an Open of r has begun that fails.
func abandon(r *Replica) {
	close(r.stop)
	r.done.Wait()
	if r.drops != nil {
		r.drops.wait()
		r.installs.wait()
	}
	if r.db != nil {
		r.db.Abandon()
	}
}

func (r *Replica) fault(point string) { r.cfg.Fault(point) }

// lead takes over at the start of a term in which this replica leads, after an entry of the term
// has been applied (T4): promised starts at the effective ceiling (lease expiry), the locks at
// those of the prepared transactions.
func (r *Replica) lead(term uint64) {
	r.pmu.Lock()
	defer r.pmu.Unlock()
	if r.raise(r.applied.Load()); rule.T4Ceiling {
		r.raise(r.ceiling.Load())
	}
	r.cfg.Clock.Observe(txn.Timestamp(r.promised.Load()))
	r.dropPending()
	r.lastProposed = r.applied.Load()
	r.inflight = inflight{cut: r.lastProposed}
	r.locks.Reset(errStageLost)
	r.moves.unknown(r.newestStamp())
	r.live.reset()
	r.txns.mu.Lock()
	for _, p := range r.txns.prepared {
		if rule.T4Locks {
			r.adopt(p, term)
		}
	}
	for _, h := range r.txns.held {
		r.adoptHeld(h, term)
	}
	r.guards.reset(r.txns.held)
	for _, d := range r.txns.decided {
		d.since = time.Time{} // its writers get the outcome at once
	}
	r.txns.mu.Unlock()
	if r.term.Load() != 0 {
		close(*r.over.Load())
	}
	over := make(chan struct{})
	r.over.Store(&over)
	r.term.Store(term)
	select {
	case r.began <- struct{}{}:
	default:
	}
}

// follow ends the term: its locks and write buffers end with it, and the proposers that wait for
// one of its entries are notified.
func (r *Replica) follow() {
	r.pmu.Lock()
	if r.term.Swap(0) != 0 {
		close(*r.over.Load())
	}
	r.dropPending()
	r.pmu.Unlock()
	r.locks.Reset(errStageLost)
	r.guards.reset(nil) // transactions that wait for a guard are notified
	r.applied.wakeAll()
}

var errNoLeader = pgerr.New(pgerr.CannotConnectNow, "the fragment has no leader at present").WithHint("Try again in a moment.")
