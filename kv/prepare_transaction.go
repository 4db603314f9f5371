package kv

import (
	"context"
	"slices"
	"sync"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// PrepareTransaction is PREPARE TRANSACTION: the buffered writes and the locks survive restarts under
// a name, until COMMIT PREPARED or ROLLBACK PREPARED. The Transaction cannot be used afterwards: after
// an error it is rolled back, except after 40003. PrepareTransaction returns 42710 if the name is
// taken. It returns 40001 if the transaction is SERIALIZABLE, writes, and has read something that has
// changed or is being changed: from here on the transaction must not fail.
func (t *Transaction) PrepareTransaction(ctx context.Context, req txn.PreparationRequest) error {
	coordinator, err := t.client.CoordinatorOf(req)
	if err == nil {
		err = t.checkName(ctx, req)
	}
	if err == nil {
		_, err = t.Part(coordinator) // claims the name, even if nothing is written there
	}
	if err != nil {
		t.Rollback()
		return err
	}
	return t.prepareTransaction(ctx, req, coordinator)
}

// checkName refuses a name that is too long, or that a prepared transaction has.
func (t *Transaction) checkName(ctx context.Context, req txn.PreparationRequest) error {
	if len(req.GID) > txn.MaxGID {
		return pgerr.New(pgerr.InvalidParameterValue, "transaction identifier \"%s\" is too long", req.GID)
	}
	prepared, err := t.client.Prepared(ctx, req.Database)
	if err != nil {
		return err
	}
	if _, taken := FindPrepared(prepared, req.GID); taken {
		return pgerr.New(pgerr.DuplicateObject, "transaction identifier \"%s\" is already in use", req.GID)
	}
	return nil
}

// prepareTransaction runs the steps of PREPARE TRANSACTION (storage/preparation_apply.go): claim
// the name in the coordinator fragment, prepare in the other fragments, complete.
func (t *Transaction) prepareTransaction(
	ctx context.Context, req txn.PreparationRequest, coordinator txn.FragmentID,
) error {
	defer t.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	r := storage.PreparationRequest{
		PreparationRequest: req, Home: coordinator,
		Reads: t.options.Isolation == txn.Serializable && (t.hasWrites() || t.defines()),
	}
	var others []Part
	for id, p := range t.parts {
		if id == coordinator || p.HasWrites() || p.HasPins() || r.Reads && p.Volatile() {
			r.Writers = append(r.Writers, id)
		}
		if id == coordinator {
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
	h := t.parts[coordinator]
	err := h.PrepareTransaction(ctx, r)
	if err == nil {
		err = prepareAll(ctx, others, r)
	}
	if err == nil && t.defines() {
		err = t.client.cfg.Catalog.PrepareTransaction(ctx, t.id, t.change, coordinator)
	}
	if err != nil {
		dropped := t.dropPrepared(context.WithoutCancel(ctx), coordinator, others)
		if pgerr.Is(dropped, pgerr.StatementCompletionUnknown) {
			return dropped // it may be prepared
		}
		return err
	}
	if len(r.Writers) > 1 {
		if err = h.CompletePrepared(ctx); err != nil && !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
			_ = t.dropPrepared(context.WithoutCancel(ctx), coordinator, others)
			return err
		}
	}
	for _, p := range append(others, h) {
		p.DetachPrepared()
	}
	return err
}

// defines reports whether the transaction changes definitions. The caller holds mu.
func (t *Transaction) defines() bool { return t.change != nil && !t.change.Empty() }

func prepareAll(ctx context.Context, parts []Part, req storage.PreparationRequest) error {
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, p := range parts {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = p.PrepareTransaction(ctx, req)
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

// dropPrepared undoes a PREPARE TRANSACTION that failed: first in the coordinator fragment, whose
// error it returns. What fails here is left to the fragments, which ask the coordinator fragment. The
// caller holds mu.
func (t *Transaction) dropPrepared(ctx context.Context, coordinator txn.FragmentID, others []Part) error {
	h := t.parts[coordinator]
	h.Rollback()
	err := h.DropPrepared(ctx)
	h.DetachPrepared()
	if err == nil && t.defines() {
		_ = t.client.cfg.Catalog.EndPrepared(ctx, t.id, 0, false)
	}
	for _, p := range others {
		p.Rollback()
		if err == nil {
			_ = p.DropPrepared(ctx)
		}
		p.DetachPrepared()
	}
	return err
}
