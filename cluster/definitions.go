package cluster

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// definitions is the catalog's participant in a transaction that changes the schema. If no fragment
// is written, it commits by one conditional entry of the catalog's log; otherwise the catalog is
// the coordinator, and its log has the transaction record (catalog/participant.go explains why that
// is sound).
type definitions struct {
	catalog *catalog.Catalog
	clock   *txn.Clock
	id      txn.ID
	change  *catalog.Change
}

var _ txn.Participant = (*definitions)(nil)

// Fragment implements txn.Participant.
func (d *definitions) Fragment() txn.FragmentID { return txn.CatalogFragment }

// HasWrites implements txn.Participant.
func (d *definitions) HasWrites() bool { return true }

// HasPins implements txn.Participant.
func (d *definitions) HasPins() bool { return false }

// HasReads implements txn.Participant: the change itself checks what was read from the catalog.
func (d *definitions) HasReads() bool { return false }

// Check implements txn.Participant.
func (d *definitions) Check(context.Context, txn.Timestamp) error { return nil }

// Promised implements txn.Participant: the catalog has no timestamps, so it accepts any.
func (d *definitions) Promised() txn.Timestamp { return 0 }

// Commit implements txn.Participant.
func (d *definitions) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	_, err := d.catalog.Commit(ctx, d.id, uint64(max(req.Floor, d.clock.Now())), d.change)
	if pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		err = txn.Unanswered(d.id, err)
	}
	return req.Floor, err
}

// Prepare implements txn.Participant.
func (d *definitions) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	return d.catalog.Prepare(ctx, d.id, d.change, req.Writers)
}

// Decide implements txn.Participant.
func (d *definitions) Decide(ctx context.Context, x txn.Decision) (txn.Outcome, error) {
	out, err := d.catalog.Decide(ctx, d.id, uint64(x.C), x.Outcome == txn.Committed)
	return outcomeOf(out), err
}

// Resolve implements txn.Participant; the coordinator needs no notice of its own decision.
func (d *definitions) Resolve(context.Context, txn.Decision) error { return nil }

// Settle implements txn.Participant; a commit that changes definitions is never implicit.
func (d *definitions) Settle(x txn.Decision, then func(txn.Outcome, error)) {
	go func() { then(d.Decide(context.Background(), x)) }()
}

// Forget implements txn.Participant. If it fails, it is repeated at the next start.
func (d *definitions) Forget(ctx context.Context, _ txn.Decision) { _ = d.catalog.Forget(ctx, d.id) }

// Rollback implements txn.Participant: before Prepare nothing is in the log, and after it only
// Decide ends the transaction.
func (d *definitions) Rollback() {}

// heldDefinitions is the catalog's participant at COMMIT PREPARED of a prepared transaction. It is
// ready to commit at any timestamp. As in the other fragments, it applies the decision of the
// coordinator fragment (the home). If an attempt is given up, the transaction stays prepared.
type heldDefinitions struct{ definitions }

// Prepare implements txn.Participant.
func (*heldDefinitions) Prepare(context.Context, txn.PrepareRequest) error { return nil }

// Resolve implements txn.Participant.
func (d *heldDefinitions) Resolve(ctx context.Context, x txn.Decision) error {
	if x.Outcome != txn.Committed {
		return nil
	}
	return d.catalog.EndHeld(ctx, d.id, uint64(x.C), true)
}

// askHomes drops the prepared schema changes whose coordinator fragment (the home) is led here and
// does not have the transaction, or has it no more: a crash came between the steps of PREPARE
// TRANSACTION or ROLLBACK PREPARED.
func (h *Host) askHomes(ctx context.Context) {
	for _, x := range h.cfg.Catalog.View().Held() {
		r, err := h.Replica(x.Home)
		if err != nil {
			continue
		}
		stands, err := r.HoldStands(ctx, x.ID)
		if err == nil && !stands {
			err = h.cfg.Catalog.EndHeld(ctx, x.ID, 0, false)
		}
		if err != nil {
			h.cfg.Logger.Debug("a held change of definitions is not settled", "txn", txn.ID(x.ID), "home", x.Home, "error", err)
		}
	}
}

func outcomeOf(o catalog.Outcome) txn.Outcome {
	switch o {
	case catalog.Committed:
		return txn.Committed
	case catalog.Aborted:
		return txn.Aborted
	}
	return txn.Unknown
}

// askOutcome asks the coordinator of a prepared transaction, a fragment or the catalog, for the
// outcome.
func (h *Host) askOutcome(ctx context.Context, anchor txn.FragmentID, id txn.ID, C txn.Timestamp) (out txn.Outcome, err error) {
	if anchor == txn.CatalogFragment {
		out, err := h.cfg.Catalog.Outcome(ctx, id)
		return outcomeOf(out), err
	}
	err = h.ask(ctx, anchor, func(l leader) (err error) {
		out, err = l.Outcome(ctx, id, C)
		return err
	})
	return out, err
}

// askPrepared asks a writer whether it has prepared the transaction at C.
func (h *Host) askPrepared(ctx context.Context, f txn.FragmentID, id txn.ID, C txn.Timestamp) (yes bool, err error) {
	err = h.ask(ctx, f, func(l leader) (err error) {
		yes, err = l.HasPrepared(ctx, id, C)
		return err
	})
	return yes, err
}

// sendResolve sends the coordinator's decision to a writer.
func (h *Host) sendResolve(ctx context.Context, f txn.FragmentID, d txn.Decision) error {
	if f == txn.CatalogFragment {
		return (&heldDefinitions{definitions{catalog: h.cfg.Catalog, id: d.ID}}).Resolve(ctx, d)
	}
	return h.ask(ctx, f, func(l leader) error { return l.Resolve(ctx, d) })
}

// askHeld asks the home of a prepared transaction whether it still has the transaction.
func (h *Host) askHeld(ctx context.Context, home txn.FragmentID, id txn.ID) (stands bool, err error) {
	err = h.ask(ctx, home, func(l leader) (err error) {
		stands, err = l.HoldStands(ctx, id)
		return err
	})
	return stands, err
}

// finishDefinitions tells the writers of transactions that the catalog has decided and a crash has left, and lets the catalog forget them.
func (h *Host) finishDefinitions(ctx context.Context) {
	for _, u := range h.cfg.Catalog.View().Unforgotten() {
		for ctx.Err() == nil {
			err := h.finishOne(ctx, u)
			if err == nil {
				break
			}
			h.cfg.Logger.Warn("cannot finish a transaction that changed definitions; trying again", "txn", txn.ID(u.ID), "error", err)
			select {
			case <-time.After(jobRetry):
			case <-ctx.Done():
			}
		}
	}
}

// settleDefinitions does what a crash has left of transactions that change definitions: those that the catalog has decided, once, and those that are
// held, now and then, since their homes may be led elsewhere at first.
func (h *Host) settleDefinitions(ctx context.Context) {
	h.askHomes(ctx)
	h.finishDefinitions(ctx)
	for {
		select {
		case <-time.After(homesAsked):
			h.askHomes(ctx)
		case <-ctx.Done():
			return
		}
	}
}

const homesAsked = 5 * time.Second

func (h *Host) finishOne(ctx context.Context, u catalog.Unforgotten) error {
	for _, id := range u.Writers {
		if d, _ := h.cfg.Catalog.View().Fragment(id); d == nil {
			continue // its database was dropped
		}
		if err := h.sendResolve(ctx, id, txn.Decision{ID: u.ID, C: txn.Timestamp(u.CommitTS), Outcome: txn.Committed}); err != nil {
			return err
		}
	}
	return h.cfg.Catalog.Forget(ctx, u.ID)
}
