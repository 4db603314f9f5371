package cluster

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Outcome tells what became of a transaction that wrote to a database, and the commit's timestamp: committed, aborted (it took no effect and
// never will), in progress (open, held, or being decided), or unknown, where it is too long ago or a fragment that may know is out of reach.
//
// A transaction that wrote nothing counts as aborted. One that changed definitions and no rows is known to the node that ran it alone.
func (h *Host) Outcome(_ context.Context, database catalog.OID, id txn.ID) (txn.Outcome, txn.Timestamp, error) {
	if _, open := h.atWork.Load(id); open {
		return txn.InProgress, 0, nil
	}
	if C, ok := h.defined.find(id); ok {
		return txn.Committed, C, nil
	}
	ids, err := h.fragmentsOf(database)
	if err != nil {
		return txn.Unknown, 0, err
	}
	answer := txn.Aborted
	if now := time.Now(); id.Began().Before(storage.KeptSince(now)) || id.Began().After(now.Add(txn.DefaultMaxClockAhead)) {
		answer = txn.Unknown
	}
	for _, f := range ids {
		out, C, err := txn.Unknown, txn.Timestamp(0), error(nil)
		r, err := h.Replica(f)
		if err == nil {
			out, C, err = r.Recall(id)
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

// ResolveTransaction is an operator's decision about a transaction that stays undecided since its anchor is out of reach (T7). The anchor's own
// word goes before the operator's: 55000 where it has decided otherwise, 42704 where nothing is prepared.
func (h *Host) ResolveTransaction(ctx context.Context, database catalog.OID, id txn.ID, outcome txn.Outcome) error {
	if outcome != txn.Committed && outcome != txn.Aborted {
		return pgerr.New(pgerr.InvalidParameterValue, "a transaction is resolved by commit or abort")
	}
	ids, err := h.fragmentsOf(database)
	if err != nil {
		return err
	}
	var writers []*storage.Replica
	var d txn.Decision
	var anchor txn.FragmentID
	for _, f := range ids {
		r, err := h.Replica(f)
		if err != nil {
			continue
		}
		if x, a, ok := r.Prepared(id); ok {
			d, anchor, writers = x, a, append(writers, r)
		}
	}
	if len(writers) == 0 {
		return pgerr.New(pgerr.UndefinedObject, "transaction %s is not prepared in any fragment within reach", id)
	}
	d.Outcome = outcome
	said, err := h.decideFor(ctx, d, anchor, len(writers))
	if err != nil {
		return err
	}
	d.Outcome = said
	for _, r := range writers {
		if r.ID() == anchor {
			continue
		}
		if err := r.Resolve(d); err != nil {
			return err
		}
	}
	if said != outcome {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "transaction %s was already %s", id, said)
	}
	return nil
}

// decideFor gives the word that counts about a transaction which prepared writers know of: the anchor's where it can be asked, else the
// operator's.
func (h *Host) decideFor(ctx context.Context, d txn.Decision, anchor txn.FragmentID, prepared int) (txn.Outcome, error) {
	if anchor == txn.CatalogFragment {
		return h.askOutcome(ctx, anchor, d.ID, d.C)
	}
	r, err := h.Replica(anchor)
	if err != nil {
		return d.Outcome, nil
	}
	if d.Outcome == txn.Committed && prepared < len(d.Writers) {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "transaction %s is prepared in %d of its %d fragments", d.ID, prepared, len(d.Writers)).
			WithHint("Only abort is possible, unless the anchor has decided to commit.")
	}
	out, err := r.Decide(d)
	if err == nil && out == txn.Unknown { // the anchor has nothing prepared: only an abort can be
		d.Outcome = txn.Aborted
		out, err = r.Decide(d)
	}
	return out, err
}
