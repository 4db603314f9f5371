package tx

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// prepared is a database with prepared transactions, whose fragments answer as the test says.
type prepared struct {
	*world
	all     *PreparedTransactions
	list    []txn.PreparedTransaction
	missing []txn.FragmentID // do not answer soon
	unknown error            // the fragments' answer to List
	ended   error            // their answer to Commit and Rollback
	rows    []txn.RowLock
}

func newPrepared(t *testing.T) *prepared {
	p := &prepared{world: newWorld(t)}
	in := func(database catalog.OID) (out []txn.PreparedTransaction) {
		for _, h := range p.list {
			if h.Database == uint32(database) {
				out = append(out, h)
			}
		}
		return out
	}
	p.all = NewPreparedTransactions(p.services, p.manager, PreparedFragments{
		List: func(_ context.Context, database catalog.OID) ([]txn.PreparedTransaction, error) {
			return in(database), p.unknown
		},
		ListSoon: func(_ context.Context, database catalog.OID, _ time.Duration) (
			[]txn.PreparedTransaction, []txn.FragmentID, error,
		) {
			if len(p.missing) > 0 {
				return nil, p.missing, nil
			}
			return in(database), nil, nil
		},
		Commit: func(_ context.Context, _ catalog.OID, _ string, floor txn.Timestamp) (txn.Timestamp, error) {
			return floor + 1, p.ended
		},
		Rollback: func(context.Context, catalog.OID, string) error { return p.ended },
		RowLocks: func() ([]txn.RowLock, int) { return p.rows, len(p.rows) },
	})
	return p
}

// transaction returns a prepared transaction that has locked rows of a table.
func (p *prepared) transaction(gid string, table *catalog.Table) txn.PreparedTransaction {
	h := txn.PreparedTransaction{
		ID: txn.NewID(), PreparationRequest: txn.PreparationRequest{GID: gid, Database: uint32(catalog.PostgresDB)},
	}
	p.list = append(p.list, h)
	f := p.services.Catalog.View().Database(catalog.PostgresDB).Fragments[0].ID
	p.rows = append(p.rows, txn.RowLock{
		Fragment: f, Holder: txn.LockOwner{ID: h.ID}, Key: binary.BigEndian.AppendUint32(nil, table.StorageID),
		Granted: true,
	})
	return h
}

// isFree reports whether another session can lock a table at once.
func (p *prepared) isFree(table *catalog.Table, mode locks.Mode) bool {
	p.t.Helper()
	x := p.begin("read committed")
	defer x.Rollback()
	err := x.LockTable(p.t.Context(), table.OID, mode, true)
	if err != nil && !errors.Is(err, locks.ErrNotAvailable) && pgerr.Code(err) != string(pgerr.CannotConnectNow) {
		p.t.Fatal(err)
	}
	return err == nil
}

// TestPreparedTransactionKeepsLocks ends prepared transactions. Their locks are released if they
// have ended, or will end by themselves.
func TestPreparedTransactionKeepsLocks(t *testing.T) {
	p := newPrepared(t)
	table := p.table("orders")
	ctx := t.Context()
	for _, test := range []struct {
		name     string
		rollback bool
		err      error
		free     bool
	}{
		{name: "committed", free: true},
		{name: "rolled back", rollback: true, free: true},
		{name: "outcome unknown", err: pgerr.New(pgerr.StatementCompletionUnknown, "no answer"), free: true},
		{name: "still prepared", err: pgerr.New(pgerr.CannotConnectNow, "no leader")},
	} {
		x := p.begin("read committed")
		must(t, x.LockTable(ctx, table.OID, locks.RowExclusive, false))
		must(t, x.Prepare(ctx, txn.PreparationRequest{GID: "g"}))
		p.all.Keep(catalog.PostgresDB, "g", x.DetachLocks())
		x.Release()
		if p.isFree(table, locks.Share) {
			t.Errorf("%s: a prepared transaction has lost its locks", test.name)
		}
		p.ended = test.err
		var err error
		if test.rollback {
			err = p.all.Rollback(ctx, catalog.PostgresDB, "g")
		} else {
			var at txn.Timestamp
			if at, err = p.all.Commit(ctx, catalog.PostgresDB, "g", p.now); at != p.now+1 {
				t.Errorf("%s: committed at %d, want %d", test.name, at, p.now+1)
			}
		}
		if err != test.err {
			t.Errorf("%s: got error %v", test.name, err)
		}
		if p.isFree(table, locks.Share) != test.free {
			t.Errorf("%s: the table is free: %v", test.name, !test.free)
		}
	}
}

// TestReleaseEnded releases the locks of transactions that were ended through another node, as soon
// as all fragments agree that they are gone.
func TestReleaseEnded(t *testing.T) {
	p := newPrepared(t)
	table := p.table("orders")
	h := p.transaction("g", table)
	owner := p.manager.NewSession(0).Begin(h.ID)
	must(t, owner.Acquire(t.Context(), locks.Table(catalog.PostgresDB, table.OID), locks.Request{
		Mode: locks.RowExclusive, Held: true,
	}))
	p.all.Keep(catalog.PostgresDB, "g", owner)
	p.all.releaseEnded(t.Context())
	if p.isFree(table, locks.Share) {
		t.Error("a transaction that is still prepared has lost its locks")
	}
	p.list, p.missing = nil, []txn.FragmentID{1}
	p.all.releaseEnded(t.Context())
	if p.isFree(table, locks.Share) {
		t.Error("a transaction has lost its locks while a fragment did not answer")
	}
	p.missing = nil
	p.all.releaseEnded(t.Context())
	if !p.isFree(table, locks.Share) {
		t.Error("a transaction that has ended keeps its locks")
	}
}

// TestFindPrepared looks for a prepared transaction by its name.
func TestFindPrepared(t *testing.T) {
	p := newPrepared(t)
	table := p.table("orders")
	p.transaction("here", table)
	p.transaction("elsewhere", table)
	p.list[1].Database = uint32(catalog.PostgresDB) + 1
	find := func(database catalog.OID, gid string) error {
		h, err := p.all.Find(t.Context(), p.services.Catalog.View(), database, gid)
		if err == nil && h.GID != gid {
			t.Errorf("found %q instead of %q", h.GID, gid)
		}
		return err
	}
	wantCode(t, "in the database", find(catalog.PostgresDB, "here"), "")
	wantCode(t, "no such name", find(catalog.PostgresDB, "nowhere"), "42704")
	wantCode(t, "in another database", find(catalog.PostgresDB+1, "here"), "0A000")
	p.missing = []txn.FragmentID{1}
	wantCode(t, "a fragment is slow", find(catalog.PostgresDB, "here"), "")
	list, err := p.all.All(t.Context(), p.services.Catalog.View())
	must(t, err)
	if len(list) != 1 || list[0].GID != "here" {
		t.Errorf("the databases have the prepared transactions %+v", list)
	}
}

// TestAdopt takes the locks of prepared transactions after a restart. Until a database's fragments
// have answered, its tables can be read and written, but not locked against writers.
func TestAdopt(t *testing.T) {
	p := newPrepared(t)
	table, unused := p.table("orders"), p.table("customers")
	p.transaction("g", table)
	p.unknown = pgerr.New(pgerr.CannotConnectNow, "no leader")
	must(t, p.all.Adopt(t.Context()))
	for _, c := range []*catalog.Table{table, unused} {
		if !p.isFree(c, locks.RowExclusive) || p.isFree(c, locks.Share) {
			t.Errorf("before the answer, %s can be written: %v, locked: %v", c.Name, p.isFree(c, locks.RowExclusive),
				p.isFree(c, locks.Share))
		}
	}
	p.unknown = nil
	p.all.adopt(t.Context())
	if p.isFree(table, locks.Share) {
		t.Error("the locks of a prepared transaction were not taken")
	}
	if !p.isFree(unused, locks.AccessExclusive) {
		t.Error("a table that no prepared transaction uses is locked")
	}
	_, err := p.all.Commit(t.Context(), catalog.PostgresDB, "g", 0)
	must(t, err)
	if !p.isFree(table, locks.AccessExclusive) {
		t.Error("the locks of a prepared transaction outlive it")
	}
}
