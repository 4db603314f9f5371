package kv

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sherddb/sherd/cluster/liveness"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

const (
	// leaderTime bounds the wait for a fragment's leader if nothing else bounds it.
	leaderTime = 30 * time.Second
	// findPause is the pause before the next attempt if nothing has changed.
	findPause = 20 * time.Millisecond
	maxPause  = 250 * time.Millisecond
)

// Leader is the node that leads a fragment, as far as this node knows.
type Leader struct {
	Sender
	Node uint32
}

// Find returns the leader of a fragment. It waits while there is none, and finally returns 57P03.
// If there are no other nodes it returns this one, which answers if it has the fragment.
func (c *Client) Find(ctx context.Context, f txn.FragmentID) (Leader, error) {
	if c.cfg.Peers == nil {
		return Leader{c.cfg.Here, c.cfg.Node}, nil
	}
	if l, ok := c.known(f); ok {
		return l, nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaderTime)
	defer cancel()
	for {
		changed := c.cfg.Peers.Changed()
		if l, ok := c.known(f); ok {
			return l, nil
		}
		select {
		case <-changed:
		case <-time.After(findPause): // a replica here does not signal that it leads
		case <-ctx.Done():
			return Leader{}, c.Leaderless(f, context.Cause(ctx))
		}
	}
}

// known returns the leader of a fragment, if one is known now.
func (c *Client) known(f txn.FragmentID) (Leader, bool) {
	if c.term(f) != 0 {
		return Leader{c.cfg.Here, c.cfg.Node}, true
	}
	l, ok := c.cfg.Peers.Leader(f)
	if !ok {
		return Leader{}, false
	}
	s, err := c.cfg.Other(l.Node)
	return Leader{s, l.Node}, err == nil
}

// LeaderOf returns which node leads a fragment, as far as is known now. The term is set only if it
// is this node.
func (c *Client) LeaderOf(f txn.FragmentID) (node uint32, term uint64, ok bool) {
	if term := c.term(f); term != 0 {
		return c.cfg.Node, term, true
	}
	if c.cfg.Peers == nil {
		return 0, 0, false
	}
	l, ok := c.cfg.Peers.Leader(f)
	return l.Node, 0, ok
}

// TermOf returns the term in which a fragment is led now; 0 if it is not known here.
func (c *Client) TermOf(f txn.FragmentID) uint64 {
	if term := c.term(f); term != 0 {
		return term
	}
	if c.cfg.Peers == nil {
		return 0
	}
	l, _ := c.cfg.Peers.Leader(f)
	return l.Term
}

// Silent reports whether a node does not answer.
func (c *Client) Silent(node uint32) bool {
	if node == c.cfg.Node || c.cfg.Peers == nil {
		return false
	}
	for _, x := range c.cfg.Peers.Health() {
		if x.Node == node {
			return !x.Alive
		}
	}
	return true
}

// Leaderless returns the error of a fragment without a leader: it names the nodes that are missing.
func (c *Client) Leaderless(f txn.FragmentID, cause error) error {
	if pgerr.Is(cause, pgerr.QueryCanceled) { // statement_timeout, or a cancelled statement
		return cause
	}
	if errors.Is(cause, context.Canceled) {
		return cause
	}
	e := pgerr.New(pgerr.CannotConnectNow, "fragment %s has no leader at present", c.FragmentName(f))
	all, silent := c.replicaNames(f)
	if len(silent) == 0 {
		e = e.WithDetail("Its replicas are on %s.", strings.Join(all, ", ")).WithHint("Try again in a moment.")
	} else {
		e = e.WithDetail("A leader needs most of its replicas, which are on %s; no answer from %s.",
			strings.Join(all, ", "), strings.Join(silent, ", ")).
			WithHint("Start the nodes that are missing.")
	}
	return &txn.UnreachableError{Fragment: f, Err: e}
}

// Answers reports whether a fragment has a leader that answers, as far as is known now.
func (c *Client) Answers(f txn.FragmentID) bool {
	l, ok := c.known(f)
	return ok && (l.Node == c.cfg.Node || !c.Silent(l.Node))
}

// replicaNames returns the nodes that have a replica of a fragment, and those of them that do not
// answer.
func (c *Client) replicaNames(f txn.FragmentID) (all, silent []string) {
	view := c.cfg.Catalog.View()
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
		if c.Silent(id) {
			silent = append(silent, n.Name)
		}
	}
	return all, silent
}

// FragmentName names a fragment for messages.
func (c *Client) FragmentName(id txn.FragmentID) string {
	if d, f := c.cfg.Catalog.View().Fragment(id); f != nil {
		return d.FragmentName(f)
	}
	return "?"
}

// UpdateHint updates the leader hint from an error.
func (c *Client) UpdateHint(f txn.FragmentID, err error) {
	var x *NotLeader
	if c.cfg.Peers != nil && errors.As(err, &x) && x.Leader != 0 {
		c.cfg.Peers.Hint(f, liveness.Leadership{Node: x.Leader, Term: x.Term})
	}
}

// GaveUp returns the error after a search for a leader that took too long: it names the fragment.
func (c *Client) GaveUp(f txn.FragmentID, why, last error) error {
	var silent *NoAnswer
	switch {
	case why != errGaveUp || c.Answers(f):
		return last
	case errors.As(last, &silent) || !LeaderGone(last):
		return &txn.UnreachableError{Fragment: f, Err: last}
	}
	return c.Leaderless(f, why)
}
