package cluster

import (
	"context"
	"slices"
	"sync"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Hold is PREPARE TRANSACTION: the buffered writes and the locks survive restarts under a name,
// until CommitHeld or RollbackHeld. The handle cannot be used afterwards: after an error the
// transaction is rolled back, except after 40003. Hold returns 42710 if the name is taken. It
// returns 40001 if the transaction is SERIALIZABLE, writes, and has read something that has changed
// or is being changed: from here on the transaction must not fail.
func (t *Transaction) Hold(ctx context.Context, req txn.HoldRequest) error {
	home, err := t.host.HomeOf(req)
	if err == nil {
		err = t.holdable(ctx, req)
	}
	if err == nil {
		_, err = t.part(home) // claims the name, even if nothing is written there
	}
	if err != nil {
		t.Rollback()
		return err
	}
	return t.hold(ctx, req, home)
}

func (t *Transaction) holdable(ctx context.Context, req txn.HoldRequest) error {
	if len(req.GID) > txn.MaxGID {
		return pgerr.New(pgerr.InvalidParameterValue, "transaction identifier \"%s\" is too long", req.GID)
	}
	held, err := t.host.Held(ctx, req.Database)
	if err != nil {
		return err
	}
	if _, taken := kv.FindPrepared(held, req.GID); taken {
		return pgerr.New(pgerr.DuplicateObject, "transaction identifier \"%s\" is already in use", req.GID)
	}
	return nil
}

// hold runs the steps of PREPARE TRANSACTION (storage/hold.go): claim the name at the home, prepare
// in the other fragments, complete.
func (t *Transaction) hold(ctx context.Context, req txn.HoldRequest, home txn.FragmentID) error {
	defer t.letGo()
	t.mu.Lock()
	defer t.mu.Unlock()
	r := storage.HoldRequest{HoldRequest: req, Home: home, Reads: t.options.Isolation == txn.Serializable && (t.hasWrites() || t.defines())}
	var others []part
	for id, p := range t.parts {
		if id == home || p.HasWrites() || p.HasPins() || r.Reads && p.staged() {
			r.Writers = append(r.Writers, id)
		}
		if id == home {
			continue
		}
		if others = append(others, p); !slices.Contains(r.Writers, id) {
			others = others[:len(others)-1]
			p.Rollback()
		}
	}
	slices.Sort(r.Writers)
	if t.defines() {
		r.Writers = append(r.Writers, txn.CatalogFragment) // the largest number
	}
	h := t.parts[home]
	err := h.Hold(ctx, r)
	if err == nil {
		err = holdAll(ctx, others, r)
	}
	if err == nil && t.defines() {
		err = t.host.cfg.Catalog.Hold(ctx, t.id, t.change, home)
	}
	if err != nil {
		if dropped := t.drop(context.WithoutCancel(ctx), home, others); pgerr.Is(dropped, pgerr.StatementCompletionUnknown) {
			return dropped // it may be prepared
		}
		return err
	}
	if len(r.Writers) > 1 {
		if err = h.HoldComplete(ctx); err != nil && !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
			_ = t.drop(context.WithoutCancel(ctx), home, others)
			return err
		}
	}
	for _, p := range append(others, h) {
		p.Detach()
	}
	return err
}

// defines reports whether the transaction changes definitions. The caller holds mu.
func (t *Transaction) defines() bool { return t.change != nil && !t.change.Empty() }

func holdAll(ctx context.Context, parts []part, req storage.HoldRequest) error {
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, p := range parts {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = p.Hold(ctx, req)
		}()
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// drop undoes a PREPARE TRANSACTION that failed: first at the home, whose error it returns. What
// fails here is left to the fragments, which ask the home. The caller holds mu.
func (t *Transaction) drop(ctx context.Context, home txn.FragmentID, others []part) error {
	h := t.parts[home]
	h.Rollback()
	err := h.unhold(ctx)
	h.Detach()
	if err == nil && t.defines() {
		_ = t.host.cfg.Catalog.EndHeld(ctx, t.id, 0, false)
	}
	for _, p := range others {
		p.Rollback()
		if err == nil {
			_ = p.unhold(ctx)
		}
		p.Detach()
	}
	return err
}
