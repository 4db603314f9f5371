package kv

import (
	"context"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Outcome returns the outcome of a transaction that wrote to a database, and its commit timestamp:
// committed, aborted (it took no effect and never will), in progress (open, prepared, or being
// decided), or unknown, if it is too long ago or a fragment that may know is out of reach.
//
// A transaction that wrote nothing counts as aborted.
func (c *Client) Outcome(ctx context.Context, database catalog.OID, id txn.ID) (txn.Outcome, txn.Timestamp, error) {
	if c.AtWork(id) {
		return txn.InProgress, 0, nil
	}
	C, defined, catalogErr := c.cfg.Catalog.CommitOf(ctx, id)
	if defined {
		return txn.Committed, txn.Timestamp(C), nil
	}
	ids, err := FragmentsOf(c.cfg.Catalog, database)
	if err != nil {
		return txn.Unknown, 0, err
	}
	answer := txn.Aborted
	now, began := time.Now(), id.Began()
	if began.Before(storage.KeptSince(now)) || began.After(now.Add(txn.DefaultMaxClockAhead)) {
		answer = txn.Unknown
	}
	if catalogErr != nil {
		c.cfg.Logger.Debug("the catalog does not tell a transaction's outcome", "txn", id, "error", catalogErr)
		answer = txn.Unknown
	}
	for _, f := range ids {
		out, C, err := c.queryOutcome(ctx, f, id)
		if err == nil && out == txn.InProgress {
			out, C, err = c.implicitOutcome(ctx, f, id)
		}
		switch {
		case err == nil && out == txn.Committed:
			return out, C, nil
		case err != nil:
			c.cfg.Logger.Debug("a fragment does not tell a transaction's outcome",
				"fragment", f, "txn", id, "error", err)
			answer = txn.Unknown
		case out == txn.InProgress && answer == txn.Aborted:
			answer = out
		}
	}
	return answer, 0, nil
}

// implicitOutcome checks, for a transaction that is in progress in f, whether all its writers have
// prepared (an implicit commit), so that its client may have been told that it committed; then it
// has the coordinator fragment record it. It does not ask writers to refuse: only recovery does
// that.
func (c *Client) implicitOutcome(ctx context.Context, f txn.FragmentID, id txn.ID) (
	out txn.Outcome, C txn.Timestamp, err error,
) {
	query := func(f txn.FragmentID) (err error) {
		out, C, err = c.queryOutcome(ctx, f, id)
		return err
	}
	x, err := c.inDoubtAt(ctx, f, id)
	if err != nil {
		return txn.Unknown, 0, err
	}
	if !x.implicit {
		err = query(f)
		return out, C, err // it may have been resolved meanwhile
	}
	for _, w := range x.decision.Writers {
		y, err := c.inDoubtAt(ctx, w, id)
		if err != nil {
			return txn.Unknown, 0, err
		}
		if y.implicit && y.decision.C == x.decision.C {
			continue
		}
		err = query(x.coordinator) // it has not prepared, or is resolved already, and then the coordinator has decided
		if err == nil && out == txn.Unknown {
			out = txn.InProgress // the coordinator has not decided
		}
		return out, C, err
	}
	out, err = c.AskOutcome(ctx, x.coordinator, id, x.decision.C)
	return out, x.decision.C, err
}

// knowledge is what a fragment knows about a transaction that is prepared there.
type knowledge struct {
	fragment           txn.FragmentID
	decision           txn.Decision // without an outcome
	coordinator        txn.FragmentID
	prepared, implicit bool
}

func (c *Client) inDoubtAt(ctx context.Context, f txn.FragmentID, id txn.ID) (x knowledge, err error) {
	ctx, cancel := context.WithTimeout(ctx, SoonTime)
	defer cancel()
	a, err := c.Send(ctx, &pb.Request{
		Fragment: uint32(f), Transaction: id[:], Op: &pb.Request_InDoubt{InDoubt: &pb.InDoubtRequest{}},
	})
	q := a.GetInDoubt()
	return knowledge{
		fragment: f, decision: txn.Decision{ID: id, C: txn.Timestamp(q.GetC()), Writers: q.GetWriters()},
		coordinator: txn.FragmentID(q.GetCoordinator()), prepared: q.GetPrepared(), implicit: q.GetImplicit(),
	}, err
}

// ResolveTransaction applies an operator's decision about a transaction that stays undecided
// because its coordinator fragment is out of reach (T7). A decision that any reachable fragment
// knows takes precedence: 55000 if it is the other outcome. It returns 42704 if nothing is
// prepared, and 55006 while a session is working on the transaction.
func (c *Client) ResolveTransaction(ctx context.Context, database catalog.OID, id txn.ID, outcome txn.Outcome) error {
	if outcome != txn.Committed && outcome != txn.Aborted {
		return pgerr.New(pgerr.InvalidParameterValue, "a transaction is resolved by commit or abort")
	}
	if c.AtWork(id) {
		return pgerr.New(pgerr.ObjectInUse, "transaction %s is at work in a session", id).
			WithHint("It will be decided without an operator; pg_terminate_backend ends the session.")
	}
	q, err := c.inDoubt(ctx, database, id)
	if err != nil {
		return err
	}
	q.decision.Outcome = outcome
	said, err := c.decideFor(ctx, q)
	if err != nil {
		return err
	}
	q.decision.Outcome = said
	for _, f := range q.prepared {
		if f == q.coordinator {
			continue
		}
		if err := c.askSoon(ctx, f, func(s Sender) error { return Resolve(ctx, s, f, q.decision) }); err != nil {
			return err
		}
	}
	if said != outcome {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "transaction %s was already %s", id, said).
			WithDetail("A decision counts before an operator's word. " +
				"It is carried out now wherever the transaction was prepared.")
	}
	return nil
}

// inDoubt is a transaction that is prepared and, as far as the fragments that prepared it know, not
// decided.
type inDoubt struct {
	decision    txn.Decision // without an outcome
	coordinator txn.FragmentID
	prepared    []txn.FragmentID
	complete    bool // all its writers are prepared, at one C
	implicit    bool // if complete, the transaction is committed (implicit commit)
}

func (c *Client) inDoubt(ctx context.Context, database catalog.OID, id txn.ID) (q inDoubt, err error) {
	ids, err := FragmentsOf(c.cfg.Catalog, database)
	if err != nil {
		return q, err
	}
	q.complete = true
	for _, f := range ids {
		x, err := c.inDoubtAt(ctx, f, id)
		if err != nil {
			continue // out of reach
		}
		if x.prepared {
			q.complete = q.complete && (len(q.prepared) == 0 || x.decision.C == q.decision.C)
			q.decision, q.coordinator, q.implicit = x.decision, x.coordinator, x.implicit
			q.prepared = append(q.prepared, f)
		}
	}
	if len(q.prepared) == 0 {
		return q, pgerr.New(pgerr.UndefinedObject, "transaction %s is not prepared in any fragment within reach", id).
			WithDetail("There is nothing to resolve: it is decided everywhere, or it was never prepared.").
			WithHint("SELECT sherd.txn_outcome('%s') tells what became of it. "+
				"What PREPARE TRANSACTION holds is ended by COMMIT PREPARED or ROLLBACK PREPARED.", id)
	}
	q.complete = q.complete && len(q.prepared) == len(withoutCatalog(q.decision.Writers))
	return q, nil
}

// decideFor returns the decision that counts: the coordinator's if it can be asked, else that of a
// writer which has applied a decision, else the operator's.
func (c *Client) decideFor(ctx context.Context, q inDoubt) (txn.Outcome, error) {
	d := q.decision
	if q.coordinator == txn.CatalogFragment {
		return c.AskOutcome(ctx, q.coordinator, d.ID, d.C)
	}
	known, _, err := c.queryOutcome(ctx, q.coordinator, d.ID)
	switch {
	case pgerr.Is(err, pgerr.CannotConnectNow):
		return c.withoutCoordinator(ctx, q)
	case err != nil:
		return 0, err
	}
	if d.Outcome == txn.Committed && !q.complete {
		if known == txn.Committed {
			return known, nil
		}
		return 0, errIncomplete(q)
	}
	if q.implicit {
		// Its client may have been told that it committed: the writers take precedence over the
		// operator, if they can be asked.
		if out, err := c.AskOutcome(ctx, q.coordinator, d.ID, d.C); err == nil && out != txn.Unknown {
			return out, nil
		}
	}
	decide := func() (out txn.Outcome, err error) {
		err = c.askSoon(ctx, q.coordinator, func(s Sender) (err error) {
			out, err = Decide(ctx, s, q.coordinator, d)
			return err
		})
		return out, err
	}
	out, err := decide()
	if err == nil && out == txn.Unknown { // the coordinator has nothing prepared: only an abort is possible
		d.Outcome = txn.Aborted
		out, err = decide()
	}
	return out, err
}

// queryOutcome asks what a fragment knows about a transaction.
func (c *Client) queryOutcome(ctx context.Context, f txn.FragmentID, id txn.ID) (
	out txn.Outcome, C txn.Timestamp, err error,
) {
	err = c.askSoon(ctx, f, func(s Sender) (err error) {
		out, C, err = QueryOutcome(ctx, s, f, id)
		return err
	})
	return out, C, err
}

// withoutCoordinator decides if the coordinator fragment is out of reach. A reachable
// writer that is not prepared any more has applied the coordinator's decision, which it remembers
// if it was a commit; or it never prepared, and then there was no decision.
func (c *Client) withoutCoordinator(ctx context.Context, q inDoubt) (txn.Outcome, error) {
	for _, f := range q.decision.Writers {
		if slices.Contains(q.prepared, f) {
			continue
		}
		out, _, err := c.queryOutcome(ctx, f, q.decision.ID)
		if pgerr.Is(err, pgerr.CannotConnectNow) {
			continue // out of reach
		}
		if err != nil || out == txn.Committed {
			return out, err
		}
		if q.decision.Outcome == txn.Committed {
			return 0, errIncomplete(q)
		}
	}
	return q.decision.Outcome, nil
}

func errIncomplete(q inDoubt) error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "transaction %s cannot be committed", q.decision.ID).
		WithDetail("It is prepared in %d of its %d fragments, and no decision to commit it was found.",
			len(q.prepared), len(q.decision.Writers)).
		WithHint("Only abort is possible.")
}
