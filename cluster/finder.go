package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sherddb/sherd/cluster/failure"
	"github.com/sherddb/sherd/cluster/presence"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

const (
	// leaderTime bounds the wait for a fragment's leader if nothing else bounds it.
	leaderTime = 30 * time.Second
	// findPause is the pause before the next attempt if nothing has changed.
	findPause = 20 * time.Millisecond
	maxPause  = 250 * time.Millisecond
)

// place is where a fragment is led: on this node, or on another one.
type place struct {
	replica *storage.Replica // nil: on another node
	node    *remote.Node
}

// find returns where a fragment is led. It waits while there is no leader, and finally returns
// 57P03.
func (h *Host) find(ctx context.Context, f txn.FragmentID) (place, error) {
	if h.links == nil {
		r, err := h.Replica(f)
		return place{replica: r}, err
	}
	if p, ok := h.leading(f); ok {
		return p, nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaderTime)
	defer cancel()
	for {
		changed := h.links.presence.Changed()
		if p, ok := h.leading(f); ok {
			return p, nil
		}
		select {
		case <-changed:
		case <-time.After(findPause): // a replica here does not signal that it leads
		case <-ctx.Done():
			return place{}, h.leaderless(f, context.Cause(ctx))
		}
	}
}

// leading returns where a fragment is led, as far as is known now.
func (h *Host) leading(f txn.FragmentID) (place, bool) {
	r := h.replica(f)
	if r != nil && r.Term() != 0 {
		return place{replica: r}, true
	}
	l, ok := h.links.presence.Leader(f)
	if !ok {
		return place{}, false
	}
	n, err := h.links.nodes.Node(l.Node)
	return place{node: n}, err == nil
}

// LeaderOf returns which node leads a fragment, as far as is known now. The term is set only if it
// is this node.
func (h *Host) LeaderOf(f txn.FragmentID) (node uint32, term uint64, ok bool) {
	if r := h.replica(f); r != nil {
		if term := r.Term(); term != 0 {
			return h.cfg.Node, term, true
		}
	}
	if h.links == nil {
		return 0, 0, false
	}
	l, ok := h.links.presence.Leader(f)
	return l.Node, 0, ok
}

// ConfirmTerm proves that this node leads a fragment in a term, at some moment after the call began.
func (h *Host) ConfirmTerm(ctx context.Context, f txn.FragmentID, term uint64) error {
	r, err := h.Replica(f)
	if err != nil {
		return err
	}
	if _, err := r.Snapshot(ctx); err != nil {
		return err
	}
	if r.Term() != term {
		return h.leaderless(f, nil)
	}
	return nil
}

func (h *Host) leaderless(f txn.FragmentID, cause error) error {
	if pgerr.Is(cause, pgerr.QueryCanceled) { // statement_timeout, or a cancelled statement
		return cause
	}
	if errors.Is(cause, context.Canceled) {
		return cause
	}
	e := pgerr.New(pgerr.CannotConnectNow, "fragment %s has no leader at present", h.fragmentName(f))
	all, silent := h.replicaNames(f)
	if len(silent) == 0 {
		e = e.WithDetail("Its replicas are on %s.", strings.Join(all, ", ")).WithHint("Try again in a moment.")
	} else {
		e = e.WithDetail("A leader needs most of its replicas, which are on %s; no answer from %s.", strings.Join(all, ", "), strings.Join(silent, ", ")).
			WithHint("Start the nodes that are missing.")
	}
	return &txn.UnreachableError{Fragment: f, Err: e}
}

// answers reports whether a fragment has a leader that answers, as far as is known now.
func (h *Host) answers(f txn.FragmentID) bool {
	p, ok := h.leading(f)
	return ok && (p.replica != nil || !h.Silent(p.node.ID()))
}

// replicaNames returns the nodes that have a replica of a fragment, and those of them that do not
// answer.
func (h *Host) replicaNames(f txn.FragmentID) (all, silent []string) {
	view := h.cfg.Catalog.View()
	_, x := view.Fragment(f)
	if x == nil {
		return nil, nil
	}
	for _, id := range slices.Sorted(slices.Values(x.Nodes)) {
		n := view.Node(id)
		if n == nil {
			continue
		}
		all = append(all, n.Name)
		if h.Silent(id) {
			silent = append(silent, n.Name)
		}
	}
	return all, silent
}

func (h *Host) fragmentName(id txn.FragmentID) string {
	if d, f := h.cfg.Catalog.View().Fragment(id); f != nil {
		return d.FragmentName(f)
	}
	return "?"
}

// moved reports whether an error means only that the node asked does not lead the fragment, or does
// not answer. That is 57P03, which is returned only if nothing was done, except for
// remote.NoAnswer.
func moved(err error) bool { return pgerr.Is(err, pgerr.CannotConnectNow) }

// cutOff reports whether an error leaves the outcome of the request open.
func cutOff(err error) bool {
	var silent *remote.NoAnswer
	return errors.As(err, &silent) || pgerr.Is(err, pgerr.StatementCompletionUnknown) || storage.TermEnded(err)
}

// heed updates the leader hint from an error.
func (h *Host) heed(f txn.FragmentID, err error) {
	var x *failure.NotLeader
	if h.links != nil && errors.As(err, &x) && x.Leader != 0 {
		h.links.presence.Hint(f, presence.Leadership{Node: x.Leader, Term: x.Term})
	}
}

// gaveUp returns the error after a search for a leader that took too long: it names the fragment.
func (h *Host) gaveUp(f txn.FragmentID, why, last error) error {
	var silent *remote.NoAnswer
	switch {
	case why != errImpatient || h.answers(f):
		return last
	case errors.As(last, &silent) || !moved(last):
		return &txn.UnreachableError{Fragment: f, Err: last}
	}
	return h.leaderless(f, why)
}

// patience is the backoff between attempts, and its limit.
type patience struct {
	began time.Time
	next  time.Duration
}

var errImpatient = errors.New("cluster: no leader was found in time")

func (p *patience) wait(ctx context.Context) error {
	if p.began.IsZero() {
		p.began = time.Now()
	}
	if time.Since(p.began) > leaderTime {
		return errImpatient
	}
	p.next = min(max(2*p.next, findPause), maxPause)
	t := time.NewTimer(p.next)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
