package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/stopper"
)

// Nodes are known to Raft by their numbers.

func serverID(node uint32) raft.ServerID { return raft.ServerID(strconv.FormatUint(uint64(node), 10)) }

func nodeOf(id raft.ServerID) uint32 {
	n, err := strconv.ParseUint(string(id), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// Group shows the fragment's Raft group to other packages, and lets other replicas lead it.
type Group struct {
	raft     *raftgroup.Group
	cfg      *Config
	proposer *proposer.Proposer
	log      logWriter
	live     *liveTxs
	stopper  *stopper.Stopper

	// not 0: the replica is about to yield leadership, and no transaction may begin here
	yielding atomic.Int32
	retired  atomic.Bool // yielding counts this permanently (Retire)
	// signals that a term has begun, so that housekeeping does not wait for its next round
	began chan struct{}
}

func newGroup(r *Replica) *Group {
	return &Group{
		cfg: &r.cfg, proposer: r.proposer, log: r.log, live: &r.live, stopper: r.stopper, began: make(chan struct{}, 1),
	}
}

// Leader returns the node that leads the fragment as far as this replica knows, or 0 if it knows of
// none, and the term that this replica is in. The leader may have been replaced already (T5).
func (r *Group) Leader() (node uint32, term uint64) {
	id, term := r.raft.Leader()
	return nodeOf(id), term
}

// LeaderChanged returns a channel that is closed when the fragment's leader is no longer the one at
// the time of the call.
func (r *Group) LeaderChanged() <-chan struct{} { return r.raft.LeaderChanged() }

// Alone reports whether this replica is the only voter.
func (r *Group) Alone() bool { return r.raft.SoleVoter() }

// Member is a replica as the leader sees it.
type Member struct {
	Node    uint32
	Voter   bool
	Lag     uint64    // entries that it has not confirmed
	Contact time.Time // of its last answer; zero: none in this term
}

// Members returns the replicas of the fragment. Only the leader knows their progress.
func (r *Group) Members() []Member {
	var out []Member
	last := r.raft.LastIndex()
	for _, s := range r.raft.Members() {
		p := r.raft.Progress(s.ID)
		out = append(out, Member{Node: nodeOf(s.ID), Voter: s.Suffrage == raft.Voter, Lag: last - min(p.Match, last),
			Contact: p.Contact})
	}
	return out
}

// Placement says where a fragment's replicas should be.
type Placement struct {
	Nodes  []uint32 // the voters
	Leader uint32   // the preferred leader, if it can lead; 0: any
}

// Follow changes the members of the fragment, one at a time, to those that want returns, whenever
// this replica leads. It calls looked with the members each time it has looked. It changes none
// while want returns no nodes.
func (r *Group) Follow(want func() Placement, looked func([]Member)) {
	r.raft.Reconcile(func() raftgroup.Membership {
		p := want()
		w := raftgroup.Membership{}
		for _, n := range p.Nodes {
			w.Voters = append(w.Voters, serverID(n))
		}
		if p.Leader != 0 {
			w.Leader = serverID(p.Leader)
		}
		return w
	}, func([]raft.Server) { looked(r.Members()) })
}

// Look has what Follow was given looked at now.
func (r *Group) Look() { r.raft.Nudge() }

// ErrInUse says that a replica goes on leading, because transactions have something here that would
// be lost with its term.
var ErrInUse = errors.New("storage: transactions use the fragment")

// yieldLook is how often a leader that yields checks whether it is still in use.
const yieldLook = 2 * time.Millisecond

// yield admits no new transactions until after is called, and waits for a while until nothing is
// here that would be lost with this term; it returns ErrInUse if something remains. Transactions
// that begin meanwhile are answered that this replica does not lead, and look for the leader, which
// soon is the next one. must is set if leadership is given up in any case.
func (r *Group) yield(ctx context.Context, must bool) (after func(), err error) {
	r.yielding.Add(1)
	after = func() {
		r.yielding.Add(-1)
		r.leadOn()
	}
	// a session may stay in a transaction for hours
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timing.Yield)
	defer cancel()
	t := time.NewTicker(yieldLook)
	defer t.Stop()
	for r.inUse() {
		select {
		case <-t.C:
			continue
		case <-ctx.Done():
		}
		if must {
			break
		}
		r.yielding.Add(-1)
		return nil, ErrInUse
	}
	return after, nil
}

// leadOnEvery is how often a leader that has not given way tries its log again.
const leadOnEvery = 20 * time.Millisecond

// leadOn makes a leader that has not yielded after all take part in full again: entries were
// refused meanwhile, and readers would wait for their stamps. The log may go on refusing for a
// while after the attempt.
func (r *Group) leadOn() {
	term, over := r.proposer.Term(), r.proposer.Over()
	if term == 0 {
		return
	}
	go func() {
		t := time.NewTicker(leadOnEvery)
		defer t.Stop()
		for r.proposer.Term() == term {
			if _, _, err := r.log.run((&logentry.ReadLease{}).Encode(), 0); err == nil {
				return
			}
			select {
			case <-t.C:
			case <-over:
				return
			case <-r.stopper.Stopped():
				return
			}
		}
	}()
}

// Yielding reports whether the replica is about to let another lead: transactions that have nothing
// here then look for the new leader.
func (r *Group) Yielding() bool { return r.yielding.Load() > 0 }

// inUse reports whether a transaction has something here that ends with the term, or is being
// committed. The coordinator of such a commit would find another leader at each step, and that
// leader at once asks for the outcome.
func (r *Group) inUse() bool {
	r.live.mu.Lock()
	txs := slices.Collect(maps.Values(r.live.txs))
	for t := range r.live.readers {
		txs = append(txs, t)
	}
	r.live.mu.Unlock()
	for _, t := range txs {
		t.mu.Lock()
		open := t.phase == phaseOpen || t.phase == phaseBusy
		used := open && (t.term != 0 || t.reads != nil && !t.reads.Empty()) ||
			t.phase == phasePrepared && t.locks.Ending() && !t.adopted.Load() && !t.byName
		t.mu.Unlock()
		if used {
			return true
		}
	}
	return false
}

// Retire admits no new transactions any more, even if this replica leads again: the node is about
// to stop. It does nothing if there is no other replica.
func (r *Group) Retire() {
	if !r.Alone() && r.retired.CompareAndSwap(false, true) {
		r.yielding.Add(1)
	}
}

// HandOver lets another replica lead, if this one does and there is another. It returns ErrInUse if
// transactions use this one, unless must is set.
func (r *Group) HandOver(ctx context.Context, must bool) error {
	if r.proposer.Term() == 0 || r.Alone() {
		return nil
	}
	after, err := r.yield(ctx, must)
	if err != nil {
		return err
	}
	defer after()
	return r.raft.Transfer(ctx, nil)
}

// Term returns the term in which this replica leads and serves, 0 if it does not.
func (r *Group) Term() uint64 { return r.proposer.Term() }

// NotLed reports whether an error says that the replica does not lead its fragment, and nothing was
// done.
func NotLed(err error) bool { return errors.Is(err, proposer.ErrNotLeader) }

// BufferLost reports whether an error says that a write buffer belonged to an earlier term and
// ended with it.
func BufferLost(err error) bool { return errors.Is(err, proposer.ErrTermOver) }

// TermEnded reports whether an error says that the replica led when it put an entry into the log,
// but no longer when the entry was to be applied.
func TermEnded(err error) bool { return errors.Is(err, errTermEnded) }

// Term returns the term of the transaction's write buffer, or 0 if it has none yet.
func (t *Tx) Term() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.term
}

// InUse returns what keeps a fragment that owns nothing from being dropped, "" if nothing does:
// transactions that are prepared here, decisions that writers may still ask for (T7), open
// transactions, and pinned snapshots.
func (i *Inspector) InUse() string {
	i.r.txns.mu.RLock()
	prepared, decided, named := len(i.r.txns.prepared), len(i.r.txns.decided), len(i.r.txns.preparations)
	i.r.txns.mu.RUnlock()
	open := i.r.live.count()
	for _, x := range []struct {
		n    int
		what string
	}{
		{named, "transactions of PREPARE TRANSACTION"}, {prepared, "prepared transactions"},
		{decided, "decisions that writers may ask for"},
		{open, "open transactions"}, {len(i.r.pins.List()), "snapshots that are in use"},
	} {
		if x.n > 0 {
			return fmt.Sprintf("%s: %d", x.what, x.n)
		}
	}
	return ""
}
