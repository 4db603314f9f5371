package kv

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// SchemaPart is the catalog's participant in a transaction that changes the schema. If no fragment
// is written, it commits by one conditional entry of the catalog's log; otherwise the catalog is
// the coordinator, and its log has the transaction record (catalog/participant.go explains why that
// is sound).
type SchemaPart struct {
	Catalog *catalog.Catalog
	Clock   *txn.Clock
	ID      txn.ID
	Change  *catalog.Change
}

var _ txn.Participant = (*SchemaPart)(nil)

// Fragment implements txn.Participant.
func (d *SchemaPart) Fragment() txn.FragmentID { return txn.CatalogFragment }

// HasWrites implements txn.Participant.
func (d *SchemaPart) HasWrites() bool { return true }

// HasPins implements txn.Participant.
func (d *SchemaPart) HasPins() bool { return false }

// HasReads implements txn.Participant: the change itself checks what was read from the catalog.
func (d *SchemaPart) HasReads() bool { return false }

// Check implements txn.Participant.
func (d *SchemaPart) Check(context.Context, txn.Timestamp) error { return nil }

// LowWater implements txn.Participant: the catalog has no timestamps, so it accepts any.
func (d *SchemaPart) LowWater() txn.Timestamp { return 0 }

// Commit implements txn.Participant.
func (d *SchemaPart) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	_, err := d.Catalog.Commit(ctx, d.ID, uint64(max(req.Floor, d.Clock.Now())), d.Change)
	if pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		err = txn.Unanswered(d.ID, err)
	}
	return req.Floor, err
}

// Prepare implements txn.Participant.
func (d *SchemaPart) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	return d.Catalog.Prepare(ctx, d.ID, d.Change, req.Writers)
}

// Decide implements txn.Participant.
func (d *SchemaPart) Decide(ctx context.Context, x txn.Decision) (txn.Outcome, error) {
	out, err := d.Catalog.Decide(ctx, d.ID, uint64(x.C), x.Outcome == txn.Committed)
	return outcomeOf(out), err
}

// Resolve implements txn.Participant; the coordinator needs no notice of its own decision.
func (d *SchemaPart) Resolve(context.Context, txn.Decision) error { return nil }

// LogOutcome implements txn.Participant; a commit that changes definitions is never implicit.
func (d *SchemaPart) LogOutcome(x txn.Decision, then func(txn.Outcome, error)) {
	go func() { then(d.Decide(context.Background(), x)) }()
}

// Forget implements txn.Participant. If it fails, it is repeated at the next start.
func (d *SchemaPart) Forget(ctx context.Context, _ txn.Decision) { _ = d.Catalog.Forget(ctx, d.ID) }

// Rollback implements txn.Participant: before Prepare nothing is in the log, and after it only
// Decide ends the transaction.
func (d *SchemaPart) Rollback() {}

// preparedSchema is the catalog's participant at COMMIT PREPARED of a prepared transaction. It is
// ready to commit at any timestamp. As in the other fragments, it applies the decision of the
// coordinator fragment (the home). If an attempt is given up, the transaction stays prepared.
type preparedSchema struct{ SchemaPart }

// Prepare implements txn.Participant.
func (*preparedSchema) Prepare(context.Context, txn.PrepareRequest) error { return nil }

// Resolve implements txn.Participant.
func (d *preparedSchema) Resolve(ctx context.Context, x txn.Decision) error {
	if x.Outcome != txn.Committed {
		return nil
	}
	return d.Catalog.EndPrepared(ctx, d.ID, uint64(x.C), true)
}

// askHomes drops the prepared schema changes whose coordinator fragment (the home) is led here and
// does not have the transaction, or has it no more: a crash came between the steps of PREPARE
// TRANSACTION or ROLLBACK PREPARED.
func (c *Client) askHomes(ctx context.Context) {
	for _, x := range c.cfg.Catalog.View().PreparedChanges() {
		if c.cfg.Replica(x.Home) == nil {
			continue
		}
		a, err := c.cfg.Here.Send(ctx, &pb.Request{
			Fragment: uint32(x.Home), Transaction: x.ID[:],
			Op: &pb.Request_PreparedStands{PreparedStands: &pb.PreparedStandsRequest{}},
		})
		if err == nil && !a.GetYes() {
			err = c.cfg.Catalog.EndPrepared(ctx, x.ID, 0, false)
		}
		if err != nil {
			c.cfg.Logger.Debug("a prepared schema change is not resolved",
				"txn", txn.ID(x.ID), "home", x.Home, "error", err)
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

// AskOutcome asks the coordinator of a prepared transaction, a fragment or the catalog, for the
// outcome.
func (c *Client) AskOutcome(
	ctx context.Context, coordinator txn.FragmentID, id txn.ID, C txn.Timestamp,
) (out txn.Outcome, err error) {
	if coordinator == txn.CatalogFragment {
		out, err := c.cfg.Catalog.Outcome(ctx, id)
		return outcomeOf(out), err
	}
	a, err := c.Send(ctx, &pb.Request{
		Fragment: uint32(coordinator), Transaction: id[:],
		Op: &pb.Request_Recover{Recover: &pb.RecoverRequest{C: uint64(C)}},
	})
	return txn.Outcome(a.GetOutcome().GetOutcome()), err
}

// AskPrepared asks a writer whether it has prepared the transaction at C.
func (c *Client) AskPrepared(ctx context.Context, f txn.FragmentID, id txn.ID, C txn.Timestamp) (yes bool, err error) {
	err = c.Ask(ctx, f, func(s Sender) (err error) {
		yes, err = HasPrepared(ctx, s, f, id, C)
		return err
	})
	return yes, err
}

// SendResolve sends the coordinator's decision to a writer.
func (c *Client) SendResolve(ctx context.Context, f txn.FragmentID, d txn.Decision) error {
	if f == txn.CatalogFragment {
		return (&preparedSchema{SchemaPart{Catalog: c.cfg.Catalog, ID: d.ID}}).Resolve(ctx, d)
	}
	return c.Ask(ctx, f, func(s Sender) error { return Resolve(ctx, s, f, d) })
}

// AskPreparation asks the home of a prepared transaction whether it still has the transaction.
func (c *Client) AskPreparation(ctx context.Context, home txn.FragmentID, id txn.ID) (stands bool, err error) {
	a, err := c.Send(ctx, &pb.Request{
		Fragment: uint32(home), Transaction: id[:],
		Op: &pb.Request_PreparedStands{PreparedStands: &pb.PreparedStandsRequest{}},
	})
	return a.GetYes(), err
}

// finishSchemaChanges tells the writers of transactions that the catalog has decided and a crash
// has left, and lets the catalog forget them.
func (c *Client) finishSchemaChanges(ctx context.Context) {
	for _, u := range c.cfg.Catalog.View().Unforgotten() {
		for ctx.Err() == nil {
			err := c.finishOne(ctx, u)
			if err == nil {
				break
			}
			c.cfg.Logger.Warn("cannot finish a transaction that changed definitions; trying again",
				"txn", txn.ID(u.ID), "error", err)
			select {
			case <-time.After(retryPause):
			case <-ctx.Done():
			}
		}
	}
}

// RecoverSchemaChanges does what a crash has left of transactions that change definitions: those
// that the catalog has decided, once, and those of prepared transactions, now and then, since their
// homes may be led elsewhere at first.
func (c *Client) RecoverSchemaChanges(ctx context.Context) {
	c.askHomes(ctx)
	c.finishSchemaChanges(ctx)
	for {
		select {
		case <-time.After(homesAsked):
			c.askHomes(ctx)
		case <-ctx.Done():
			return
		}
	}
}

const (
	homesAsked = 5 * time.Second
	retryPause = time.Second
)

func (c *Client) finishOne(ctx context.Context, u catalog.Unforgotten) error {
	for _, id := range u.Writers {
		if d, _ := c.cfg.Catalog.View().Fragment(id); d == nil {
			continue // its database was dropped
		}
		d := txn.Decision{ID: u.ID, C: txn.Timestamp(u.CommitTS), Outcome: txn.Committed}
		if err := c.SendResolve(ctx, id, d); err != nil {
			return err
		}
	}
	return c.cfg.Catalog.Forget(ctx, u.ID)
}
