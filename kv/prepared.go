package kv

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// CoordinatorOf chooses the fragment in which a name is claimed, by the name: two transactions that
// want the same name meet there. It is the coordinator fragment of the prepared transaction.
func (c *Client) CoordinatorOf(req txn.PreparationRequest) (txn.FragmentID, error) {
	ids, err := FragmentsOf(c.cfg.Catalog, req.Database)
	if err != nil {
		return 0, err
	}
	slices.Sort(ids)
	sum := fnv.New64a()
	sum.Write([]byte(req.GID))
	return ids[sum.Sum64()%uint64(len(ids))], nil
}

// FragmentsOf returns the fragments of a database.
func FragmentsOf(cat *catalog.Catalog, database catalog.OID) ([]txn.FragmentID, error) {
	d := cat.View().Database(database)
	if d == nil || len(d.Fragments) == 0 {
		return nil, pgerr.New(pgerr.InvalidCatalogName, "database with OID %d does not exist", database)
	}
	ids := make([]txn.FragmentID, len(d.Fragments))
	for i, f := range d.Fragments {
		ids[i] = f.ID
	}
	return ids, nil
}

// Prepared lists the prepared transactions of a database, ordered by name.
func (c *Client) Prepared(ctx context.Context, database catalog.OID) ([]txn.PreparedTransaction, error) {
	ids, err := FragmentsOf(c.cfg.Catalog, database)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var out []txn.PreparedTransaction
	err = InEach(ids, func(f txn.FragmentID) error {
		prepared, err := c.preparedAt(ctx, f)
		mu.Lock()
		defer mu.Unlock()
		out = append(out, prepared...)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		x := &out[i]
		fragments := withoutCatalog(x.Fragments)
		err := InEach(fragments, func(f txn.FragmentID) error {
			a, err := c.Send(ctx, &pb.Request{
				Fragment: uint32(f), Transaction: x.ID[:],
				Op: &pb.Request_PreparedTables{PreparedTables: &pb.PreparedTablesRequest{}},
			})
			mu.Lock()
			defer mu.Unlock()
			x.Tables = append(x.Tables, a.GetTables().GetTables()...)
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

func withoutCatalog(fragments []txn.FragmentID) []txn.FragmentID {
	return slices.DeleteFunc(slices.Clone(fragments), func(f txn.FragmentID) bool { return f == txn.CatalogFragment })
}

func byName(a, b txn.PreparedTransaction) int {
	return cmp.Or(strings.Compare(a.GID, b.GID), a.At.Compare(b.At))
}

// preparedAt lists the prepared transactions whose coordinator fragment is f.
func (c *Client) preparedAt(ctx context.Context, f txn.FragmentID) ([]txn.PreparedTransaction, error) {
	a, err := c.Send(ctx, &pb.Request{
		Fragment: uint32(f), Op: &pb.Request_ListPrepared{ListPrepared: &pb.ListPreparedRequest{}},
	})
	var out []txn.PreparedTransaction
	for _, x := range a.GetPrepared().GetTransactions() {
		if len(x.Transaction) != len(txn.ID{}) {
			continue
		}
		out = append(out, txn.PreparedTransaction{
			ID: txn.ID(x.Transaction), Home: f, Fragments: x.Fragments,
			PreparationRequest: txn.PreparationRequest{
				GID: x.Gid, Owner: x.Owner, Database: x.Database,
				At: time.UnixMicro(x.AtMicros).UTC(), Floor: txn.Timestamp(x.Floor),
			},
		})
	}
	return out, err
}

// PreparedSoon is Prepared, without tables, for the fragments that answer; the other fragments are
// returned as missing. It does not ask fragments most of whose nodes are silent; it asks the others
// for as long as timeout, and with timeout 0 for as long as any statement waits.
func (c *Client) PreparedSoon(ctx context.Context, database catalog.OID, timeout time.Duration) (
	out []txn.PreparedTransaction, missing []txn.FragmentID, err error,
) {
	d := c.cfg.Catalog.View().Database(database)
	if d == nil {
		return nil, nil, pgerr.New(pgerr.InvalidCatalogName, "database with OID %d does not exist", database)
	}
	var mu sync.Mutex
	missing, err = c.AskReachable(ctx, d, timeout, nil, func(ctx context.Context, f txn.FragmentID) error {
		prepared, err := c.preparedAt(ctx, f)
		mu.Lock()
		defer mu.Unlock()
		out = append(out, prepared...)
		return err
	})
	slices.SortFunc(out, byName)
	return out, missing, err
}

// FindPrepared returns the prepared transaction of a name.
func FindPrepared(prepared []txn.PreparedTransaction, gid string) (txn.PreparedTransaction, bool) {
	for _, x := range prepared {
		if x.GID == gid {
			return x, true
		}
	}
	return txn.PreparedTransaction{}, false
}

// take finds a prepared transaction and prevents others from ending it at the same time.
func (c *Client) take(ctx context.Context, database catalog.OID, gid string) (txn.PreparedTransaction, func(), error) {
	prepared, missing, err := c.PreparedSoon(ctx, database, 0)
	x, ok := FindPrepared(prepared, gid)
	if err == nil && !ok && len(missing) > 0 { // a missing fragment may have it
		if prepared, err = c.Prepared(ctx, database); err == nil {
			x, ok = FindPrepared(prepared, gid)
		}
	}
	if err != nil {
		return txn.PreparedTransaction{}, nil, err
	}
	if !ok {
		return x, nil, pgerr.New(pgerr.UndefinedObject,
			"prepared transaction with identifier \"%s\" does not exist", gid)
	}
	if _, busy := c.ending.LoadOrStore(x.ID, true); busy {
		return x, nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			"prepared transaction with identifier \"%s\" is busy", gid)
	}
	return x, func() { c.ending.Delete(x.ID) }, nil
}

// CommitPrepared is COMMIT PREPARED; the commit timestamp is above floor. It returns 42704 if no
// transaction of that name is prepared. After any other error except 40003 the transaction is still
// prepared.
func (c *Client) CommitPrepared(
	ctx context.Context, database catalog.OID, gid string, floor txn.Timestamp,
) (txn.Timestamp, error) {
	x, done, err := c.take(ctx, database, gid)
	if err != nil {
		return 0, err
	}
	defer done()
	var parts []txn.Participant
	var defined *preparedSchema
	for _, f := range x.Fragments {
		if f == txn.CatalogFragment {
			defined = &preparedSchema{SchemaPart{Catalog: c.cfg.Catalog, ID: x.ID}}
			parts = append(parts, defined)
			continue
		}
		p := &preparedPart{client: c, fragment: f, id: x.ID}
		if err := p.find(ctx); err != nil {
			return 0, err
		}
		parts = append(parts, p)
	}
	C, err := c.coordinator.CommitPrepared(ctx, x.ID, x.Home, max(floor, x.Floor), parts)
	if err != nil {
		for _, p := range parts {
			if part, ok := p.(*preparedPart); ok {
				part.detach()
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

// RollbackPrepared is ROLLBACK PREPARED, with the errors of CommitPrepared. The record in the
// coordinator fragment counts: fragments that still have the transaction prepared ask it.
func (c *Client) RollbackPrepared(ctx context.Context, database catalog.OID, gid string) error {
	x, done, err := c.take(ctx, database, gid)
	if err != nil {
		return err
	}
	defer done()
	ctx = context.WithoutCancel(ctx)
	drop := func(f txn.FragmentID) func(Sender) error {
		return func(s Sender) error { return DropPrepared(ctx, s, f, x.ID) }
	}
	if err := c.Ask(ctx, x.Home, drop(x.Home)); err != nil {
		return err
	}
	for _, f := range x.Fragments {
		if f == txn.CatalogFragment {
			err = c.cfg.Catalog.EndPrepared(ctx, x.ID, 0, false)
		} else if f != x.Home {
			_ = c.askSoon(ctx, f, drop(f))
		}
	}
	if err != nil { // the transaction is rolled back all the same, and askHomes drops them later
		c.cfg.Logger.Warn("the definitions of a prepared transaction are not dropped yet", "txn", x.ID, "error", err)
	}
	return nil
}
