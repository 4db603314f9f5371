package cluster

import (
	"context"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Outcome tells what became of a transaction that wrote to a database, and the commit's timestamp: committed, aborted (it took no effect and
// never will), in progress (open, held, or being decided), or unknown, where it is too long ago or a fragment that may know is out of reach.
//
// A transaction that wrote nothing counts as aborted.
func (h *Host) Outcome(ctx context.Context, database catalog.OID, id txn.ID) (txn.Outcome, txn.Timestamp, error) {
	if _, open := h.atWork.Load(id); open {
		return txn.InProgress, 0, nil
	}
	C, defined, recallErr := h.cfg.Catalog.Recall(ctx, id)
	if defined {
		return txn.Committed, txn.Timestamp(C), nil
	}
	ids, err := h.fragmentsOf(database)
	if err != nil {
		return txn.Unknown, 0, err
	}
	answer := txn.Aborted
	if now := time.Now(); id.Began().Before(storage.KeptSince(now)) || id.Began().After(now.Add(txn.DefaultMaxClockAhead)) {
		answer = txn.Unknown
	}
	if recallErr != nil {
		h.cfg.Logger.Debug("the catalog does not tell a transaction's outcome", "txn", id, "error", recallErr)
		answer = txn.Unknown
	}
	for _, f := range ids {
		out, C, err := txn.Unknown, txn.Timestamp(0), error(nil)
		r, err := h.Replica(f)
		if err == nil {
			out, C, err = r.Recall(id)
		}
		if err == nil && out == txn.InProgress {
			out, C, err = h.impliedOutcome(ctx, r, id)
		}
		switch {
		case err == nil && out == txn.Committed:
			return out, C, nil
		case err != nil:
			h.cfg.Logger.Debug("a fragment does not tell a transaction's outcome", "fragment", f, "txn", id, "error", err)
			answer = txn.Unknown
		case out == txn.InProgress && answer == txn.Aborted:
			answer = out
		}
	}
	return answer, 0, nil
}

// impliedOutcome tells of a transaction that is in progress in r whether all its writers have prepared, so that its client may have been told
// that it committed; then it has the anchor say so. It asks no writer to refuse: that is for who recovers.
func (h *Host) impliedOutcome(ctx context.Context, r *storage.Replica, id txn.ID) (txn.Outcome, txn.Timestamp, error) {
	d, anchor, ok := r.Implied(id)
	if !ok {
		return r.Recall(id) // it may have been settled meanwhile
	}
	for _, f := range d.Writers {
		w, err := h.Replica(f)
		if err != nil {
			return txn.Unknown, 0, err
		}
		if x, _, ok := w.Implied(id); ok && x.C == d.C {
			continue
		}
		a, err := h.Replica(anchor) // it has not prepared, or has been resolved already, and then the anchor has decided
		if err != nil {
			return txn.Unknown, 0, err
		}
		out, C, err := a.Recall(id)
		if err == nil && out == txn.Unknown {
			out = txn.InProgress // it has not decided
		}
		return out, C, err
	}
	out, err := h.askOutcome(ctx, anchor, id, d.C)
	return out, d.C, err
}

// ResolveTransaction is an operator's word about a transaction that stays undecided since its anchor is out of reach (T7). Whatever a fragment
// within reach knows of a decision goes before it: 55000 where that is the other outcome. 42704 where nothing is prepared, 55006 while a session
// is at work on it.
func (h *Host) ResolveTransaction(ctx context.Context, database catalog.OID, id txn.ID, outcome txn.Outcome) error {
	if outcome != txn.Committed && outcome != txn.Aborted {
		return pgerr.New(pgerr.InvalidParameterValue, "a transaction is resolved by commit or abort")
	}
	if _, open := h.atWork.Load(id); open {
		return pgerr.New(pgerr.ObjectInUse, "transaction %s is at work in a session", id).
			WithHint("It will be decided without an operator; pg_terminate_backend ends the session.")
	}
	q, err := h.inDoubt(database, id)
	if err != nil {
		return err
	}
	q.decision.Outcome = outcome
	said, err := h.decideFor(ctx, q)
	if err != nil {
		return err
	}
	q.decision.Outcome = said
	for _, r := range q.prepared {
		if r.ID() == q.anchor {
			continue
		}
		if err := r.Resolve(q.decision); err != nil {
			return err
		}
	}
	if said != outcome {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "transaction %s was already %s", id, said).
			WithDetail("A decision counts before an operator's word. It is carried out now wherever the transaction was prepared.")
	}
	return nil
}

// inDoubt is a transaction that is prepared and, as far as those know who prepared it, not decided.
type inDoubt struct {
	decision txn.Decision // without an outcome
	anchor   txn.FragmentID
	prepared []*storage.Replica
	complete bool // all its writers are prepared, at one C
	implied  bool // commit is implied where it is complete
}

func (h *Host) inDoubt(database catalog.OID, id txn.ID) (q inDoubt, err error) {
	ids, err := h.fragmentsOf(database)
	if err != nil {
		return q, err
	}
	q.complete = true
	for _, f := range ids {
		r, err := h.Replica(f)
		if err != nil {
			continue
		}
		if d, anchor, ok := r.Prepared(id); ok {
			q.complete = q.complete && (len(q.prepared) == 0 || d.C == q.decision.C)
			q.decision, q.anchor, q.prepared = d, anchor, append(q.prepared, r)
			_, _, q.implied = r.Implied(id)
		}
	}
	if len(q.prepared) == 0 {
		return q, pgerr.New(pgerr.UndefinedObject, "transaction %s is not prepared in any fragment within reach", id).
			WithDetail("There is nothing to resolve: it is decided everywhere, or it was never prepared.").
			WithHint("SELECT sherd.txn_outcome('%s') tells what became of it. What PREPARE TRANSACTION holds is ended by COMMIT PREPARED or ROLLBACK PREPARED.", id)
	}
	fragments := slices.DeleteFunc(slices.Clone(q.decision.Writers), func(f txn.FragmentID) bool { return f == txn.CatalogFragment })
	q.complete = q.complete && len(q.prepared) == len(fragments)
	return q, nil
}

// decideFor gives the word that counts: the anchor's where it can be asked, else that of a writer which has applied a decision, else the
// operator's.
func (h *Host) decideFor(ctx context.Context, q inDoubt) (txn.Outcome, error) {
	d := q.decision
	if q.anchor == txn.CatalogFragment {
		return h.askOutcome(ctx, q.anchor, d.ID, d.C)
	}
	r, err := h.Replica(q.anchor)
	if err != nil {
		return h.withoutAnchor(q)
	}
	if d.Outcome == txn.Committed && !q.complete {
		if out, _, err := r.Recall(d.ID); err != nil || out == txn.Committed {
			return out, err
		}
		return 0, errIncomplete(q)
	}
	if q.implied { // its client may have been told that it committed: the writers go before the operator, where they can be asked
		if out, err := h.askOutcome(ctx, q.anchor, d.ID, d.C); err == nil && out != txn.Unknown {
			return out, nil
		}
	}
	out, err := r.Decide(d)
	if err == nil && out == txn.Unknown { // the anchor has nothing prepared: only an abort can be
		d.Outcome = txn.Aborted
		out, err = r.Decide(d)
	}
	return out, err
}

// withoutAnchor decides where the anchor is out of reach. A writer within reach that is not prepared any more has applied the anchor's decision,
// which it remembers if it was a commit; or it was never prepared, and then there was none.
func (h *Host) withoutAnchor(q inDoubt) (txn.Outcome, error) {
	for _, f := range q.decision.Writers {
		r, err := h.Replica(f)
		if err != nil || slices.Contains(q.prepared, r) {
			continue
		}
		out, _, err := r.Recall(q.decision.ID)
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
		WithDetail("It is prepared in %d of its %d fragments, and nobody has decided to commit it.", len(q.prepared), len(q.decision.Writers)).
		WithHint("Only abort is possible.")
}
