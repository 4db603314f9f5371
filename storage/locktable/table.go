package locktable

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/txn"
)

const stripes = 64

// Config says how a table is made.
type Config struct {
	Fragment txn.FragmentID // in what is reported about locks
	Detector *txn.Detector  // shared by all tables of the process
	// Whole is the number of locks of one transaction that are held with all that is known of them.
	Whole int
	// EndingWait bounds the wait for a transaction that is committing, of a request that must not
	// wait for others.
	EndingWait time.Duration
	// Given returns the key to report for a locked one; nil: the same.
	Given func(key []byte) []byte
}

// Table is a lock table. All methods may be called concurrently.
type Table struct {
	cfg     Config
	seed    maphash.Seed
	stripes [stripes]stripe
	// owners with a compact set, nil: none; a new list for each change
	sets atomic.Pointer[[]*Owner]
	smu  sync.Mutex // held while sets is changed
}

type stripe struct {
	mu    sync.Mutex
	locks map[string]*Lock // one of the holders of each locked row; guarded by mu
}

// New makes a table without locks.
func New(cfg Config) *Table {
	lt := &Table{cfg: cfg, seed: maphash.MakeSeed()}
	if cfg.Given == nil {
		lt.cfg.Given = func(key []byte) []byte { return key }
	}
	for i := range lt.stripes {
		lt.stripes[i].locks = map[string]*Lock{}
	}
	return lt
}

func (lt *Table) hashOf(key string) uint64 { return maphash.String(lt.seed, key) }

func (lt *Table) stripe(key []byte) (*stripe, uint64) {
	hash := maphash.Bytes(lt.seed, key)
	return &lt.stripes[hash%stripes], hash
}

func (lt *Table) stripeOf(l *Lock) *stripe {
	return &lt.stripes[lt.hashOf(l.key)%stripes]
}

// Reset drops all locks, as at the end of a term, and answers the requests that wait with err.
func (lt *Table) Reset(err error) {
	lt.smu.Lock()
	lt.sets.Store(nil)
	lt.smu.Unlock()
	for i := range lt.stripes {
		s := &lt.stripes[i]
		s.mu.Lock()
		for _, entry := range s.locks {
			if entry.contention != nil {
				lt.failQueue(entry, err)
			}
		}
		s.locks = map[string]*Lock{}
		s.mu.Unlock()
	}
}

// Fail answers the requests that wait for some keys with err.
func (lt *Table) Fail(err error, of func(key []byte) bool) {
	for i := range lt.stripes {
		s := &lt.stripes[i]
		s.mu.Lock()
		for _, entry := range s.locks {
			if entry.contention == nil || !of([]byte(entry.key)) {
				continue
			}
			lt.failQueue(entry, err)
			entry.contention.queue = nil
			entry.simplify()
		}
		s.mu.Unlock()
	}
}

// failQueue is called with the stripe's mu held.
func (lt *Table) failQueue(entry *Lock, err error) {
	for _, w := range entry.contention.queue {
		lt.answer(w, err)
	}
}

// Info is a row lock that is held or waited for.
type Info struct {
	Fragment txn.FragmentID
	Holder   txn.LockOwner // or the waiter
	Key      []byte        // of the row, or of an index entry
	Mode     txn.LockMode
	Granted  bool
	Since    time.Time       // the wait began; zero for a lock that is held
	Blockers []txn.LockOwner // of a wait: holders, and those next ahead in the queue
}

// List returns about limit row locks, waits included, and the number of all. Those in compact sets
// are counted and not listed, because their keys are not known. It is no snapshot: the table may
// change while it is walked.
func (lt *Table) List(limit int) (out []Info, total int) {
	for i := range lt.stripes {
		s := &lt.stripes[i]
		s.mu.Lock()
		for _, entry := range s.locks {
			total += 1 + entry.waiting()
			if entry.contention != nil {
				total += len(entry.contention.holders) - 1
			}
			if len(out) < limit {
				out = lt.appendInfo(out, entry)
			}
		}
		s.mu.Unlock()
	}
	if sets := lt.sets.Load(); sets != nil {
		for _, o := range *sets {
			total += o.set.Load().count()
		}
	}
	return out, total
}

// appendInfo appends a row's locks: holders, then the queue. Called with the stripe's mu held.
func (lt *Table) appendInfo(out []Info, entry *Lock) []Info {
	f, key := lt.cfg.Fragment, lt.cfg.Given([]byte(entry.key))
	held := func(h *Lock) {
		out = append(out, Info{Fragment: f, Holder: h.owner.LockOwner(), Key: key, Mode: h.mode, Granted: true})
	}
	if entry.contention == nil {
		held(entry)
		return out
	}
	for _, h := range entry.contention.holders {
		held(h)
	}
	for _, w := range entry.contention.queue {
		out = append(out, Info{
			Fragment: f, Holder: w.wait.Waiter, Key: key, Mode: w.mode, Since: w.since, Blockers: entry.blockersOf(w),
		})
	}
	return out
}

// blockersOf returns the holders that w waits for, and what the detector knows of the queue ahead.
func (l *Lock) blockersOf(w *request) (out []txn.LockOwner) {
	for _, h := range l.contention.holders {
		if h.owner != w.owner && h.mode.Conflicts(w.mode) {
			out = append(out, h.owner.LockOwner())
		}
	}
	for _, p := range w.by {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
