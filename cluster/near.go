package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// closeTime is how long a follower read waits for the leader to close its timestamp.
const closeTime = 2 * time.Second

// nearPart is a fragment for tasks that read at a timestamp which may be in the past: the nearest
// replica runs them, whether it leads or not (T9), and the leader if that replica cannot.
type nearPart struct {
	of       *Transaction
	fragment txn.FragmentID
}

// Near returns a fragment for tasks that name their timestamp and change nothing.
func (t *Transaction) Near(id txn.FragmentID) (exec.Fragment, error) {
	if t.host.links == nil || t.host.links.presence.Alone() {
		return t.part(id)
	}
	return nearPart{t, id}, nil
}

// NearTime returns the newest timestamp at which the replicas here can be read without waiting; it
// returns least if that timestamp is older or if there are no replicas here. ok is false if all the
// fragments are led here, because then no such timestamp is needed.
func (t *Transaction) NearTime(fragments []txn.FragmentID, least txn.Timestamp) (T txn.Timestamp, ok bool) {
	h := t.host
	if T = txn.MaxTimestamp; h.links == nil {
		return 0, false
	}
	for _, id := range fragments {
		r := h.replica(id)
		switch {
		case r == nil:
			T = least
		case r.Term() == 0:
			T = max(min(T, r.Servable()), least)
			h.refresh(r, least)
		}
	}
	return T, T != txn.MaxTimestamp
}

// Run implements exec.Fragment.
func (x nearPart) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	h := x.of.host
	passed := false
	watched := func(row types.Row) error {
		passed = true
		return emit(row)
	}
	res, tried, err := h.readNear(ctx, x, task, watched)
	switch {
	case tried && err == nil:
		return res, nil
	case tried && (ctx.Err() != nil || !kv.LeaderGone(err) && !kv.OutcomeOpen(err) && !goneFrom(err)):
		return res, err
	case passed:
		return res, txn.NewLost(x.fragment, false)
	}
	p, err := x.of.part(x.fragment)
	if err != nil {
		return exec.Result{}, err
	}
	return p.Run(ctx, task, emit)
}

// goneFrom reports whether an error says that buckets are elsewhere, according to the replica,
// which may be behind.
func goneFrom(err error) bool {
	var gone *txn.MovedError
	return errors.As(err, &gone)
}

// readNear has the nearest replica run a task; tried is false if that is the leader, or no replica
// is nearer than the leader.
func (h *Host) readNear(ctx context.Context, x nearPart, task *exec.Task, emit exec.Emit) (res exec.Result, tried bool, err error) {
	if r := h.replica(x.fragment); r != nil {
		if r.Term() != 0 {
			return res, false, nil
		}
		res, err = h.ReadReplica(ctx, r, task, emit)
		return res, true, err
	}
	id, ok := h.neighbour(x.fragment)
	if !ok {
		return res, false, nil
	}
	n, err := h.links.nodes.Node(id)
	if err != nil {
		return res, true, err
	}
	x.of.mu.Lock()
	o := x.of.options
	x.of.mu.Unlock()
	res, err = n.ReplicaPart(x.fragment, x.of.id, o).Run(ctx, task, emit)
	return res, true, err
}

// neighbour returns a node of this node's zone that has a replica of a fragment, if the leader is
// in another zone.
func (h *Host) neighbour(id txn.FragmentID) (uint32, bool) {
	view := h.cfg.Catalog.View()
	zone := zoneOf(view, h.cfg.Node)
	_, f := view.Fragment(uint32(id))
	if f == nil || zone == "" {
		return 0, false
	}
	l, led := h.links.presence.Leader(id)
	if led && zoneOf(view, l.Node) == zone {
		return 0, false
	}
	for _, n := range f.Nodes {
		if zoneOf(view, n) == zone && !slices.Contains(f.Joining, n) && !slices.Contains(f.Leaving, n) && h.links.presence.Alive(n) {
			return n, true
		}
	}
	return 0, false
}

func zoneOf(view *catalog.View, node uint32) string {
	if n := view.Node(node); n != nil {
		return n.Labels["zone"]
	}
	return ""
}

// ReadReplica runs a task that changes nothing at a replica here, which need not lead: at its
// timestamp, once that is closed (T9). It returns 57P03 if the replica does not get that far;
// nothing was read then.
func (h *Host) ReadReplica(ctx context.Context, r *storage.Replica, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	if task.T == 0 || len(task.Writes) > 0 {
		return exec.Result{}, pgerr.New(pgerr.ProtocolViolation, "a task for any replica names no timestamp, or writes")
	}
	if r.Term() != 0 {
		if err := Admit(ctx, r, task); err != nil {
			return exec.Result{}, err
		}
		return RunTask(ctx, h.fragments.NewPart(r.Tx(task.Txn)), task, emit)
	}
	if err := h.hear(ctx, r, task.Epoch); err != nil {
		return exec.Result{}, err
	}
	if err := h.closeTo(ctx, r, task.T); err != nil {
		return exec.Result{}, err
	}
	res, err := exec.RunTask(ctx, closedTx{r: r, id: task.Txn, buckets: task.Buckets}, task, emit)
	res.Node = nodeName(h.cfg.Catalog.View(), h.cfg.Node) + " (follower)"
	return res, err
}

// closedTx is the exec.Tx of a task that changes nothing, over a replica that need not lead. A call
// that would change something panics, which ends the task: there is no Tx behind it.
type closedTx struct {
	exec.Tx
	r       *storage.Replica
	id      txn.ID
	buckets shardmap.BucketSet // that the task reads
}

// View opens a reader at T.
func (x closedTx) View(ctx context.Context, T txn.Timestamp) (exec.View, error) {
	v, err := x.r.ClosedView(ctx, x.id, T, x.buckets.Intervals())
	if err != nil {
		return nil, err
	}
	return closedView{v}, nil
}

// Global implements exec.Tx.
func (x closedTx) Global(table, index uint32) { x.r.Global(table, index) }

// closedView is the view of such a task. Its reads do not count as heat: heat belongs to the
// leader, for what could move.
type closedView struct{ *storage.View }

// Arrival implements exec.Stays.
func (v closedView) Arrival(b shardmap.Bucket) (arrival uint32, ok bool) {
	return v.View.Arrival(uint32(b)), true
}

// closeTo makes sure that T is closed at a replica that does not lead, and if it is not, asks the
// leader to close it. One reader of the fragment asks at a time, and what the leader closes beyond
// T serves the next ones. closeTo does not wait for the replica to apply what the leader had
// proposed: a follower of an idle fragment learns up to a second later what was committed last, and
// a reader that goes to the leader meanwhile is answered at once.
func (h *Host) closeTo(ctx context.Context, r *storage.Replica, T txn.Timestamp) error {
	if T <= r.Servable() || !rule.T9Closed {
		return nil
	}
	if r.Closing(T) {
		return h.behind(ctx, r)
	}
	turn := h.closing(r.ID())
	limited, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-limited.Done():
		return h.behind(ctx, r)
	}
	if T > r.Servable() && !r.Closing(T) {
		err := h.closeAt(limited, r, T)
		if err != nil && limited.Err() == nil && !kv.LeaderGone(err) && !kv.OutcomeOpen(err) {
			return err
		}
	}
	if T > r.Servable() {
		return h.behind(ctx, r)
	}
	return nil
}

// closeAt has the leader close a timestamp, or more (T9), and a replica here learn it.
func (h *Host) closeAt(ctx context.Context, r *storage.Replica, T txn.Timestamp) error {
	a, err := h.Send(ctx, &pb.Request{Fragment: uint32(r.ID()), Op: &pb.Request_Close{Close: &pb.CloseRequest{T: uint64(T)}}})
	if err == nil {
		c := a.GetClosed()
		r.LearnClosed(storage.Closed{T: txn.Timestamp(c.GetT()), Last: txn.Timestamp(c.GetLast())})
	}
	return err
}

// behind returns the error of a reader that a replica cannot serve yet, or the statement's own
// error if the statement has ended.
func (h *Host) behind(ctx context.Context, r *storage.Replica) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return pgerr.New(pgerr.CannotConnectNow, "the replica of fragment %s here does not have everything up to the time to be read", h.FragmentName(r.ID())).
		WithHint("Try again in a moment.")
}

// hear waits until a follower has applied what its fragment's log says about the buckets that the
// map of an epoch assigns to the fragment. Before a follower has applied that they were ingested,
// it takes itself for the owner of these buckets, without rows, at old timestamps too. It waits for
// each epoch once, and the leader says how far to wait.
func (h *Host) hear(ctx context.Context, r *storage.Replica, epoch uint64) error {
	if known, ok := h.heard.Load(r.ID()); epoch <= firstEpoch || ok && known.(uint64) >= epoch {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	T, err := h.Snapshot(limited, []shardmap.Share{{Fragment: r.ID()}}, epoch)
	if err == nil {
		err = h.closeTo(limited, r, T)
	}
	if err != nil {
		if limited.Err() != nil || kv.LeaderGone(err) || kv.OutcomeOpen(err) {
			return h.behind(ctx, r)
		}
		return err
	}
	h.heard.Store(r.ID(), epoch) // if a caller with an older epoch overwrites this at the same time, the wait is repeated, no more
	return nil
}

// firstEpoch is the epoch of the map with which a database is created: in that map no bucket has
// come from another fragment.
const firstEpoch = 1

// closing returns the channel that a caller holds while it asks for a fragment to be closed.
func (h *Host) closing(id txn.FragmentID) chan struct{} {
	if c, ok := h.closings.Load(id); ok {
		return c.(chan struct{})
	}
	c, _ := h.closings.LoadOrStore(id, make(chan struct{}, 1))
	return c.(chan struct{})
}

// refresh asks for a fragment to be closed further before readers of an idle one would have to wait
// for that: when three quarters of the time have passed during which the closed timestamp is recent
// enough.
func (h *Host) refresh(r *storage.Replica, least txn.Timestamp) {
	now := h.cfg.Clock.Wall()
	if want := least.Add(now.Time().Sub(least.Time()) / 4); r.Servable() >= want || r.Closing(want) {
		return
	}
	turn := h.closing(r.ID())
	select {
	case turn <- struct{}{}:
	default:
		return // another caller is asking
	}
	go func() {
		defer func() { <-turn }()
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		_ = h.closeAt(ctx, r, least)
	}()
}
