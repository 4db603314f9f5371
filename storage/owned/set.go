package owned

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/storage/pins"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// Config is what a Set depends on. Term and Stop are required.
type Config struct {
	Fragment txn.FragmentID
	Added    bool            // the fragment was added to its database, and owned nothing at first
	Term     func() uint64   // in which this replica leads, 0 if it does not
	Stop     <-chan struct{} // closed when the replica closes
}

// Set publishes the Buckets of one fragment. All methods may be called concurrently.
type Set struct {
	cfg  Config
	mu   sync.Mutex // held while now is replaced; taken under the proposer's lock
	now  atomic.Pointer[Buckets]
	gate atomic.Pointer[Gate]
}

// New makes a Set of a fragment before its first move.
func New(c Config) *Set { return &Set{cfg: c} }

// Load returns the present Buckets, nil if nothing ever moved.
func (s *Set) Load() *Buckets { return s.now.Load() }

// First returns the state of the buckets to which keys are hashed, unless the log names them.
func (s *Set) First() ownership.State {
	if s.cfg.Added {
		return ownership.NotOwned
	}
	return ownership.Owned
}

// longestWait bounds the wait for a move to flip or to be undone.
const longestWait = 5 * time.Second

func errMoving() error {
	return pgerr.New(pgerr.CannotConnectNow, "rows are being moved to another fragment").
		WithHint("Try again in a moment.")
}

// Await waits while say returns wait. If say returns here, Await returns the Buckets with that
// verdict, or nil if nothing ever moved. Other verdicts are errors; T is for their texts.
func (s *Set) Await(
	ctx context.Context, T txn.Timestamp, say func(*Buckets) (ownership.Verdict, ownership.Piece),
) (*Buckets, error) {
	var timeout <-chan time.Time
	for began := s.cfg.Term(); ; {
		o := s.now.Load()
		if o == nil {
			return nil, nil
		}
		switch v, p := say(o); v {
		case ownership.Here:
			return o, nil
		case ownership.Elsewhere:
			return nil, &txn.MovedError{Fragment: s.cfg.Fragment, Move: p.Move}
		case ownership.TooOld:
			return nil, pins.TooOld(T)
		}
		if timeout == nil {
			timer := time.NewTimer(longestWait)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-o.changed:
		case <-timeout:
			return nil, errMoving()
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.cfg.Stop:
			return nil, proposer.ErrNotLeader
		}
		if began != 0 && s.cfg.Term() != began {
			return nil, proposer.ErrNotLeader // the log continues under another leader
		}
	}
}

// AwaitRead is Await until ranges can be read at T.
func (s *Set) AwaitRead(ctx context.Context, T txn.Timestamp, ranges []ownership.BucketRange) (*Buckets, error) {
	return s.Await(ctx, T, func(o *Buckets) (ownership.Verdict, ownership.Piece) {
		return o.About(ranges, func(p *ownership.Piece) ownership.Verdict { return p.Read(T) })
	})
}

// Publish publishes what the log says now. Versions above keep are not discarded. decided are the
// changes of moves that were proposed and are in the log, or void. It reports whether anything ever
// moved.
func (s *Set) Publish(m *ownership.Machine, keep txn.Timestamp, decided []Change) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.now.Load()
	if old == nil && !m.Moved() && !s.cfg.Added {
		return false
	}
	next := &Buckets{Map: ownership.Map{First: s.First()}, Applied: m.List, keep: keep}
	if old != nil {
		for _, p := range old.pending {
			if !slices.Contains(decided, p.Change) {
				next.pending = append(next.pending, p)
			}
		}
	}
	s.replace(old, next)
	return true
}

// AddPending publishes a change. That of an entry which is about to be enqueued is published with
// the proposer's lock held: a reader that was promised something above its stamp has seen it.
func (s *Set) AddPending(c Pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.now.Load()
	next := &Buckets{Map: ownership.Map{First: s.First()}, keep: txn.MaxTimestamp}
	if old != nil {
		next.Applied, next.keep, next.pending = old.Applied, old.keep, slices.Clone(old.pending)
	}
	next.pending = append(next.pending, c)
	s.replace(old, next)
}

// DropPending forgets what is proposed, when a term begins or ends: the log says which of it
// counts.
func (s *Set) DropPending() {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.now.Load()
	if old == nil {
		return
	}
	s.replace(&Buckets{changed: old.changed}, &Buckets{
		Map: ownership.Map{First: old.First}, Applied: old.Applied, keep: old.keep,
	})
}

// replace is called with mu held.
func (s *Set) replace(old, next *Buckets) {
	next.List = next.Applied
	for _, c := range next.pending {
		now := next.Pieces(c.Ranges...)
		for i := range now {
			c.show(&now[i])
		}
		next.List = next.List.With(now)
	}
	next.fenced = map[uint64]time.Time{}
	for _, p := range next.List {
		if p.State != ownership.Fenced {
			continue
		}
		next.fenced[p.Move] = s.gatedSince(p.Move)
		if old != nil {
			if t, ok := old.fenced[p.Move]; ok {
				next.fenced[p.Move] = t
			}
		}
	}
	next.changed = make(chan struct{})
	s.now.Store(next)
	if old != nil {
		close(old.changed)
	}
}

// Keep returns the timestamp above which no version is discarded, because a late batch must not
// bring back what a deletion has covered.
func (s *Set) Keep() txn.Timestamp {
	if o := s.now.Load(); o != nil {
		return o.keep
	}
	return txn.MaxTimestamp
}

// Ranges lists the ranges that have been moved, or are being moved, in or out. All others are owned
// at generation 0, or not owned at all if the fragment was added to its database.
func (s *Set) Ranges() (out []ownership.Range) {
	o := s.now.Load()
	if o == nil {
		return nil
	}
	for _, p := range o.List {
		out = append(out, p.Range)
	}
	return out
}

// FencedMove is a fence that stands.
type FencedMove struct {
	Move   uint64
	Ranges []ownership.BucketRange
	Since  time.Time // as far as this leader knows
}

// Fenced lists the fences that stand here, so that the caller can have those that are too old
// declared aborted.
func (s *Set) Fenced() (out []FencedMove) {
	o := s.now.Load()
	if o == nil {
		return nil
	}
	for _, p := range o.List {
		if p.State != ownership.Fenced {
			continue
		}
		i := slices.IndexFunc(out, func(f FencedMove) bool { return f.Move == p.Move })
		if i < 0 {
			out = append(out, FencedMove{Move: p.Move, Since: o.fenced[p.Move]})
			i = len(out) - 1
		}
		out[i].Ranges = append(out[i].Ranges, p.BucketRange)
	}
	return out
}

// LastImport returns the largest number of the moves that have brought something here, or have
// tried to. quiet reports whether none is under way.
func (s *Set) LastImport() (move uint64, quiet bool) {
	o := s.now.Load()
	if o == nil {
		return 0, true
	}
	return o.List.LastIngest()
}

// LongGone returns the largest number of the moves by which buckets went away so long before T that
// what they have left can be deleted; 0: there are none.
func (s *Set) LongGone(T txn.Timestamp) (move uint64) {
	o := s.now.Load()
	if o == nil || T == 0 {
		return 0
	}
	for i := range o.Applied {
		if p := &o.Applied[i]; p.LongGone(T) {
			move = max(move, p.Move)
		}
	}
	return move
}

// Generation returns the generation of a bucket, and whether it is owned here.
func (s *Set) Generation(bucket uint32) (generation uint32, owned bool) {
	p := s.now.Load().OrFirst().Find(bucket)
	return p.Generation, p.State == ownership.Owned
}

// Untidy reports whether the list could be shorter with this watermark.
func (s *Set) Untidy(watermark txn.Timestamp) bool {
	o := s.now.Load()
	return o != nil && len(o.Applied.Tidied(watermark)) < len(o.Applied)
}
