package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/pgerr"
)

// If the catalog has replicas on several nodes, one node leads. A change is planned on any node
// against that node's view and proposed at the leader; the planning node then waits until its own
// view holds the change. An answer may be lost, so every request may be repeated: batches have an
// id by which they are applied once, decisions and prepares have that of their transaction, and an
// allotment that is repeated leaves a gap in the numbers (K3).

const (
	leaderTimeout = 10 * time.Second // how long a change waits for a leader
	// how long a start waits for a leader if there are definitions on disk to continue with
	startTimeout = 3 * time.Second
	leaderPause  = 100 * time.Millisecond
)

// Forward sends a request to a node and returns its answer. The other node calls Answer.
type Forward func(ctx context.Context, to raft.ServerID, request []byte) (answer []byte, err error)

// errElsewhere means that a request never reached the log: another node leads, or none.
var errElsewhere = errors.New("catalog: this node does not lead")

// Answer answers a request that another node has forwarded.
func (c *Catalog) Answer(ctx context.Context, request []byte) ([]byte, error) {
	var q pb.Request
	if err := unmarshal(request, &q, "request"); err != nil {
		return encodeAnswer(applied{}, err)
	}
	a, err := c.here(ctx, &q)
	return encodeAnswer(a, err)
}

// here carries out a request on this node, which must lead.
func (c *Catalog) here(ctx context.Context, q *pb.Request) (applied, error) {
	if c.group.Term() == 0 {
		return applied{}, errElsewhere
	}
	switch k := q.GetKind().(type) {
	case *pb.Request_Propose:
		if _, err := decodeEntry(k.Propose); err != nil {
			return applied{}, err
		}
		resp, _, err := c.group.Apply(ctx, k.Propose)
		if err != nil {
			return applied{}, err
		}
		c.spread()
		a := resp.(applied)
		return a, a.err
	case *pb.Request_Read:
		return c.newest(ctx)
	}
	return applied{}, errors.New("catalog: request of a kind that this release of Sherd cannot read")
}

// newest returns the version that holds every change that was acknowledged before: the version that
// this node has applied, if it leads.
func (c *Catalog) newest(ctx context.Context) (applied, error) {
	term := c.group.Term()
	a := applied{version: c.View().version}
	if err := c.group.Confirm(ctx); err != nil {
		return applied{}, err
	}
	if term == 0 || c.group.Term() != term { // in another term another leader may have made changes
		return applied{}, errElsewhere
	}
	return a, nil
}

// ask sends a request to the leader.
func (c *Catalog) ask(ctx context.Context, q *pb.Request) (applied, error) {
	if c.group.Term() != 0 {
		return c.here(ctx, q)
	}
	leader, _ := c.group.Leader()
	if leader == "" || leader == c.group.ID() {
		return applied{}, errElsewhere
	}
	data, err := marshal(q)
	if err != nil {
		return applied{}, err
	}
	answer, err := c.opts.Forward(ctx, leader, data)
	if err != nil {
		return applied{}, &unansweredError{err}
	}
	return decodeAnswer(answer)
}

// unansweredError is the error of a request that may have been carried out.
type unansweredError struct{ err error }

func (e *unansweredError) Error() string {
	return "catalog: no answer of the node that leads: " + e.err.Error()
}
func (e *unansweredError) Unwrap() error { return e.err }

// route repeats a request until it gets a definite answer or the timeout has passed.
func (c *Catalog) route(ctx context.Context, q *pb.Request, timeout time.Duration) (applied, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errNoLeader)
	defer cancel()
	unanswered := false
	for {
		changed := c.group.LeaderChanged()
		a, err := c.ask(ctx, q)
		var lost *unansweredError
		switch {
		case errors.As(err, &lost), pgerr.Is(err, pgerr.StatementCompletionUnknown):
			unanswered = true
		case errors.Is(err, errElsewhere), pgerr.Is(err, pgerr.CannotConnectNow):
		default:
			c.follow(ctx, a)
			return a, err
		}
		select {
		case <-changed:
		case <-time.After(leaderPause):
		case <-ctx.Done():
			return applied{}, c.gaveUp(ctx, unanswered)
		}
	}
}

// follow waits until the view of this node has reached the version of an answer.
func (c *Catalog) follow(ctx context.Context, a applied) {
	if a.version > 0 {
		// The answer is valid even if the local view does not follow in time.
		_, _ = c.WaitVersion(ctx, a.version)
	}
}

var errNoLeader = errors.New("catalog: no leader")

// gaveUp returns the error of a change without an answer.
func (c *Catalog) gaveUp(ctx context.Context, unanswered bool) error {
	timeout := errors.Is(context.Cause(ctx), errNoLeader)
	switch {
	case unanswered:
		return pgerr.New(pgerr.StatementCompletionUnknown,
			"the catalog's leader did not answer; it is not known whether the change came into force").
			WithDetail("%s", c.voters())
	case timeout:
		return pgerr.New(pgerr.CannotConnectNow, "the catalog has no leader at present: definitions cannot be changed").
			WithDetail("%s", c.voters()).
			WithHint("Start the nodes that are missing. Tables can be read and written meanwhile.")
	}
	return pgerr.Cancelled(ctx)
}

// voters names the nodes that the catalog needs to have a leader.
func (c *Catalog) voters() string {
	var names []string
	for _, s := range c.group.Members() {
		if s.Suffrage == raft.Voter {
			names = append(names, c.nameOf(s.ID))
		}
	}
	return fmt.Sprintf("A leader needs %d of the %d nodes %s, and this node reaching them.", len(names)/2+1, len(names),
		strings.Join(names, ", "))
}

// nameOf returns the name of the node with a Raft id.
func (c *Catalog) nameOf(id raft.ServerID) string {
	if n := c.View().Node(nodeOf(id)); n != nil {
		return n.Name
	}
	return string(id)
}

// proposeHere is propose if this process is the only replica.
func (c *Catalog) proposeHere(ctx context.Context, data []byte) (applied, error) {
	resp, _, err := c.group.Apply(ctx, data)
	if err != nil {
		return applied{}, err
	}
	a := resp.(applied)
	return a, a.err
}

// CatchUp waits until the view holds every change that was acknowledged before the call, on any
// node. It returns an error if that takes longer than timeout. It writes nothing.
func (c *Catalog) CatchUp(ctx context.Context, timeout time.Duration) error {
	if c.opts.Forward == nil {
		return nil // this is the only replica
	}
	return c.barrier(ctx, timeout)
}

// barrier waits until the view holds every change that was acknowledged before the call, on any
// node. It returns 57P03 if the view does not follow in time, because callers decide by what is
// missing in the view.
func (c *Catalog) barrier(ctx context.Context, timeout time.Duration) error {
	if c.opts.Forward == nil {
		return c.group.Barrier(ctx)
	}
	a, err := c.route(ctx, &pb.Request{Kind: &pb.Request_Read{Read: true}}, timeout)
	switch v := c.View(); {
	case err != nil || v.version >= a.version:
		return err
	case ctx.Err() != nil:
		return pgerr.Cancelled(ctx)
	default:
		return pgerr.New(pgerr.CannotConnectNow, "this node does not know the newest definitions yet").
			WithDetail("It knows version %d, and the cluster is at version %d.", v.version, a.version).
			WithHint("Try again in a moment, or at another node.")
	}
}

// Raft tells the other replicas that an entry is committed with the next entry, or up to half a
// second later. Nodes would learn of definitions that late, and a client that changed a definition
// through a follower would wait that long. So an empty entry follows each change.

// spread notifies the other replicas of what was applied here, without waiting.
func (c *Catalog) spread() {
	select {
	case c.applied <- struct{}{}:
	default: // an entry is due already
	}
}

// spreads appends these entries to the log, one for all changes since the last one, until ctx ends.
func (c *Catalog) spreads(ctx context.Context) {
	for {
		select {
		case <-c.applied:
		case <-ctx.Done():
			return
		}
		if c.group.Term() != 0 && len(c.group.Members()) > 1 {
			// If it fails, another node leads, and starts with such an entry.
			_ = c.group.Barrier(ctx)
		}
	}
}
