package cluster

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Hold is PREPARE TRANSACTION: the buffered writes and the locks survive restarts under a name,
// until CommitHeld or RollbackHeld. The handle cannot be used afterwards: after an error the
// transaction is rolled back, except after 40003. Hold returns 42710 if the name is taken. It
// returns 40001 if the transaction is SERIALIZABLE, writes, and has read something that has changed
// or is being changed: from here on the transaction must not fail.
func (t *Transaction) Hold(ctx context.Context, req txn.HoldRequest) error {
	home, err := t.host.homeOf(req)
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
	if _, taken := findHeld(held, req.GID); taken {
		return pgerr.New(pgerr.DuplicateObject, "transaction identifier \"%s\" is already in use", req.GID)
	}
	return nil
}

// homeOf chooses the fragment in which a name is claimed, by the name: two transactions that want
// the same name meet there. This fragment is the home of the prepared transaction.
func (h *Host) homeOf(req txn.HoldRequest) (txn.FragmentID, error) {
	ids, err := h.fragmentsOf(req.Database)
	if err != nil {
		return 0, err
	}
	slices.Sort(ids)
	sum := fnv.New64a()
	sum.Write([]byte(req.GID))
	return ids[sum.Sum64()%uint64(len(ids))], nil
}

func (h *Host) fragmentsOf(database catalog.OID) ([]txn.FragmentID, error) {
	d := h.cfg.Catalog.View().Database(database)
	if d == nil || len(d.Fragments) == 0 {
		return nil, pgerr.New(pgerr.InvalidCatalogName, "database with OID %d does not exist", database)
	}
	ids := make([]txn.FragmentID, len(d.Fragments))
	for i, f := range d.Fragments {
		ids[i] = f.ID
	}
	return ids, nil
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

// Held lists the prepared transactions of a database, ordered by name.
func (h *Host) Held(ctx context.Context, database catalog.OID) ([]txn.HeldTransaction, error) {
	ids, err := h.fragmentsOf(database)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var out []txn.HeldTransaction
	err = h.askAll(ctx, ids, func(f txn.FragmentID, l leader) error {
		held, err := heldAt(ctx, f, l)
		mu.Lock()
		defer mu.Unlock()
		out = append(out, held...)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		x := &out[i]
		fragments := slices.DeleteFunc(slices.Clone(x.Fragments), func(f txn.FragmentID) bool { return f == txn.CatalogFragment })
		err := h.askAll(ctx, fragments, func(_ txn.FragmentID, l leader) error {
			tables, err := l.HeldTables(ctx, x.ID)
			mu.Lock()
			defer mu.Unlock()
			x.Tables = append(x.Tables, tables...)
			return err
		})
		if err != nil {
			return nil, err
		}
		slices.Sort(x.Tables)
		x.Tables = slices.Compact(x.Tables)
	}
	slices.SortFunc(out, byName)
	return out, nil
}

func byName(a, b txn.HeldTransaction) int {
	return cmp.Or(strings.Compare(a.GID, b.GID), a.At.Compare(b.At))
}

// heldAt lists the prepared transactions whose home is f.
func heldAt(ctx context.Context, f txn.FragmentID, l leader) ([]txn.HeldTransaction, error) {
	held, err := l.Held(ctx)
	for i := range held {
		held[i].Home = f
	}
	return held, err
}

// HeldSoon is Held, without tables, for the fragments that answer; the other fragments are returned
// as missing. It does not ask fragments most of whose nodes are silent; it asks the others for as
// long as patience, and with patience 0 for as long as any statement waits.
func (h *Host) HeldSoon(ctx context.Context, database catalog.OID, patience time.Duration) (out []txn.HeldTransaction, missing []txn.FragmentID, err error) {
	d := h.cfg.Catalog.View().Database(database)
	if d == nil {
		return nil, nil, pgerr.New(pgerr.InvalidCatalogName, "database with OID %d does not exist", database)
	}
	var mu sync.Mutex
	missing, err = h.askReachable(ctx, d, patience, nil, func(ctx context.Context, f txn.FragmentID) error {
		return h.ask(ctx, f, func(l leader) error {
			held, err := heldAt(ctx, f, l)
			mu.Lock()
			defer mu.Unlock()
			out = append(out, held...)
			return err
		})
	})
	slices.SortFunc(out, byName)
	return out, missing, err
}

func findHeld(held []txn.HeldTransaction, gid string) (txn.HeldTransaction, bool) {
	for _, x := range held {
		if x.GID == gid {
			return x, true
		}
	}
	return txn.HeldTransaction{}, false
}

// take finds a prepared transaction and prevents others from ending it at the same time.
func (h *Host) take(ctx context.Context, database catalog.OID, gid string) (txn.HeldTransaction, func(), error) {
	held, missing, err := h.HeldSoon(ctx, database, 0)
	x, ok := findHeld(held, gid)
	if err == nil && !ok && len(missing) > 0 { // a missing fragment may have it
		if held, err = h.Held(ctx, database); err == nil {
			x, ok = findHeld(held, gid)
		}
	}
	if err != nil {
		return txn.HeldTransaction{}, nil, err
	}
	if !ok {
		return x, nil, pgerr.New(pgerr.UndefinedObject, "prepared transaction with identifier \"%s\" does not exist", gid)
	}
	if _, busy := h.ending.LoadOrStore(x.ID, true); busy {
		return x, nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "prepared transaction with identifier \"%s\" is busy", gid)
	}
	return x, func() { h.ending.Delete(x.ID) }, nil
}

// CommitHeld is COMMIT PREPARED; the commit timestamp is above floor. It returns 42704 if no
// transaction of that name is prepared. After any other error except 40003 the transaction is still
// prepared.
func (h *Host) CommitHeld(ctx context.Context, database catalog.OID, gid string, floor txn.Timestamp) (txn.Timestamp, error) {
	x, done, err := h.take(ctx, database, gid)
	if err != nil {
		return 0, err
	}
	defer done()
	var parts []txn.Participant
	var defined *heldDefinitions
	for _, f := range x.Fragments {
		if f == txn.CatalogFragment {
			defined = &heldDefinitions{definitions{catalog: h.cfg.Catalog, id: x.ID}}
			parts = append(parts, defined)
			continue
		}
		p := &heldPart{host: h, fragment: f, id: x.ID}
		if err := p.find(ctx); err != nil {
			return 0, err
		}
		parts = append(parts, p)
	}
	C, err := h.coordinator.CommitHeld(ctx, x.ID, x.Home, max(floor, x.Floor), parts)
	if err != nil {
		for _, p := range parts {
			if held, ok := p.(*heldPart); ok {
				held.detach()
			}
		}
		return C, err
	}
	if defined != nil { // a client that gets the answer sees the definitions
		if err := defined.Resolve(ctx, txn.Decision{ID: x.ID, C: C, Outcome: txn.Committed}); err != nil {
			return C, txn.Unanswered(x.ID, err)
		}
	}
	return C, nil
}

// RollbackHeld is ROLLBACK PREPARED, with the errors of CommitHeld. The record at the home counts:
// fragments that still have the transaction prepared ask it.
func (h *Host) RollbackHeld(ctx context.Context, database catalog.OID, gid string) error {
	x, done, err := h.take(ctx, database, gid)
	if err != nil {
		return err
	}
	defer done()
	ctx = context.WithoutCancel(ctx)
	unhold := func(l leader) error { return l.Unhold(ctx, x.ID) }
	if err := h.ask(ctx, x.Home, unhold); err != nil {
		return err
	}
	for _, f := range x.Fragments {
		if f == txn.CatalogFragment {
			err = h.cfg.Catalog.EndHeld(ctx, x.ID, 0, false)
		} else if f != x.Home {
			_ = h.askSoon(ctx, f, unhold)
		}
	}
	if err != nil { // the transaction is rolled back all the same, and askHomes drops them later
		h.cfg.Logger.Warn("the definitions of a prepared transaction are not dropped yet", "txn", x.ID, "error", err)
	}
	return nil
}
