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

// If the catalog has replicas on several nodes, one leads. A change is planned on any node against
// its own view and proposed at the leader; the planning node then waits until its own view holds
// it. An answer may be lost, so every request may be repeated: batches carry an id by which they
// apply once, decisions and preparations that of their transaction, and numbers allotted twice
// leave a gap (K3).

const (
	leaderPatience = 10 * time.Second // how long a change waits for a leader
	startPatience  = 3 * time.Second  // how long a start waits for one, where there are definitions on disk to go on with
	leaderPause    = 100 * time.Millisecond
)

// Forward sends a request to a node and returns its answer; Answer is the other end.
type Forward func(ctx context.Context, to raft.ServerID, request []byte) (answer []byte, err error)

// errElsewhere marks what never reached the log: another node leads, or none.
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

// here does what a request asks, where this node leads.
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

// newest returns the version that holds every change that was acknowledged before: the one that
// this node has applied, while it leads.
func (c *Catalog) newest(ctx context.Context) (applied, error) {
	term := c.group.Term()
	a := applied{version: c.View().version}
	if err := c.group.Confirm(ctx); err != nil {
		return applied{}, err
	}
	if term == 0 || c.group.Term() != term { // it may have missed what another leader did in between
		return applied{}, errElsewhere
	}
	return a, nil
}

// ask brings a request to the node that leads.
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

// unansweredError is of a request that may have been carried out.
type unansweredError struct{ err error }

func (e *unansweredError) Error() string {
	return "catalog: no answer of the node that leads: " + e.err.Error()
}
func (e *unansweredError) Unwrap() error { return e.err }

// route asks until there is an answer that counts, or patience is at its end.
func (c *Catalog) route(ctx context.Context, q *pb.Request, patience time.Duration) (applied, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
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

// follow waits until the view here has come as far as an answer.
func (c *Catalog) follow(ctx context.Context, a applied) {
	if a.version > 0 {
		_, _ = c.WaitVersion(ctx, a.version) // the answer counts whether the view here follows in time or not
	}
}

var errPatience = errors.New("catalog: no leader")

// gaveUp says what a change without an answer has come to.
func (c *Catalog) gaveUp(ctx context.Context, unanswered bool) error {
	patience := errors.Is(context.Cause(ctx), errPatience)
	switch {
	case unanswered:
		return pgerr.New(pgerr.StatementCompletionUnknown, "the catalog's leader did not answer; it is not known whether the change came into force").
			WithDetail("%s", c.voters())
	case patience:
		return pgerr.New(pgerr.CannotConnectNow, "the catalog has no leader at present: definitions cannot be changed").
			WithDetail("%s", c.voters()).
			WithHint("Start the nodes that are missing. Tables can be read and written meanwhile.")
	}
	return cancelledWait(ctx)
}

// voters names the nodes that the catalog needs to have a leader.
func (c *Catalog) voters() string {
	var names []string
	for _, s := range c.group.Members() {
		if s.Suffrage == raft.Voter {
			names = append(names, c.nameOf(s.ID))
		}
	}
	return fmt.Sprintf("A leader needs %d of the %d nodes %s, and this node reaching them.", len(names)/2+1, len(names), strings.Join(names, ", "))
}

// nameOf returns the name of a node that Raft knows by an id.
func (c *Catalog) nameOf(id raft.ServerID) string {
	if n := c.View().Node(nodeOf(id)); n != nil {
		return n.Name
	}
	return string(id)
}

// proposeHere is propose where this process is the only replica.
func (c *Catalog) proposeHere(ctx context.Context, data []byte) (applied, error) {
	resp, _, err := c.group.Apply(ctx, data)
	if err != nil {
		return applied{}, err
	}
	a := resp.(applied)
	return a, a.err
}

// CatchUp waits until the view holds everything that was acknowledged before, by any node. It returns
// an error if that takes longer than patience. It writes nothing.
func (c *Catalog) CatchUp(ctx context.Context, patience time.Duration) error {
	if c.opts.Forward == nil {
		return nil // this is the only replica
	}
	return c.barrier(ctx, patience)
}

// barrier waits until the view holds everything that was acknowledged before, by any node. It returns
// 57P03 if the view does not follow in time: callers decide by what the view lacks, so a view that is
// behind is no answer.
func (c *Catalog) barrier(ctx context.Context, patience time.Duration) error {
	if c.opts.Forward == nil {
		return c.group.Barrier(ctx)
	}
	a, err := c.route(ctx, &pb.Request{Kind: &pb.Request_Read{Read: true}}, patience)
	switch v := c.View(); {
	case err != nil || v.version >= a.version:
		return err
	case ctx.Err() != nil:
		return cancelledWait(ctx)
	default:
		return pgerr.New(pgerr.CannotConnectNow, "this node does not know the newest definitions yet").
			WithDetail("It knows version %d, and the cluster is at version %d.", v.version, a.version).
			WithHint("Try again in a moment, or at another node.")
	}
}
