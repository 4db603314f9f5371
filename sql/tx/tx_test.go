package tx

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantCode fails the test unless err has a SQLSTATE; "" is no error.
func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if got := pgerr.Code(err); got != code {
		t.Errorf("%s: got SQLSTATE %q (%v), want %q", what, got, err, code)
	}
}

// fragments stands for the part of a transaction in the fragments: it counts writes, and answers with timestamps that
// the test sets. Methods that no test needs are nil.
type fragments struct {
	exec.Transaction
	id      txn.ID
	writes  int
	options txn.Options
	now     txn.Timestamp   // what the fragments answer
	near    txn.Timestamp   // what replicas can serve at once; 0: the leaders are at hand
	asked   int             // for a timestamp
	pinned  []txn.Timestamp // in all fragments
	epoch   uint64          // before which the fragments refuse a map
	floor   txn.Timestamp   // of the commit
	held    txn.PreparationRequest
	ended   string
}

func (f *fragments) ID() txn.ID                                    { return f.id }
func (f *fragments) Configure(o txn.Options)                       { f.options = o }
func (f *fragments) HasWrites() bool                               { return f.writes > 0 }
func (f *fragments) Mark() txn.Marks                               { return markOf(f.writes) }
func (f *fragments) RollbackTo(m txn.Marks)                        { f.writes = len(m) }
func (f *fragments) Rollback()                                     { f.writes, f.ended = 0, "rolled back" }
func (f *fragments) Bound(txn.Scope) error                         { return nil }
func (f *fragments) Owned(context.Context, []txn.FragmentID) error { return nil }

// markOf is a mark after some writes, each in a fragment of its own.
func markOf(writes int) txn.Marks {
	m := txn.Marks{}
	for i := range writes {
		m[txn.FragmentID(i)] = txn.Mark{}
	}
	return m
}

func (f *fragments) Snapshot(_ context.Context, _ []shardmap.Share, epoch uint64) (txn.Timestamp, error) {
	f.asked++
	if epoch < f.epoch {
		return 0, &txn.MovedError{}
	}
	return f.now, nil
}

func (f *fragments) FollowerTime(_ []txn.FragmentID, least txn.Timestamp) (txn.Timestamp, bool) {
	return max(f.near, least), f.near != 0
}

func (f *fragments) PinSnapshot(_ []txn.FragmentID, T txn.Timestamp) error {
	f.pinned = append(f.pinned, T)
	return nil
}

func (f *fragments) PinSoon(ids []txn.FragmentID, T txn.Timestamp) error {
	return f.PinSnapshot(ids, T)
}

func (f *fragments) Commit(_ context.Context, floor txn.Timestamp) (txn.Timestamp, error) {
	f.floor, f.ended = floor, "committed"
	return max(floor, f.now) + 1, nil
}

func (f *fragments) PrepareTransaction(_ context.Context, r txn.PreparationRequest) error {
	f.held, f.ended = r, "prepared"
	return nil
}

// world is an environment over a real catalog and a real lock table.
type world struct {
	t        *testing.T
	services *Services
	env      *Environment
	manager  *locks.Manager
	settings map[string]string
	last     *fragments // of the transaction that was opened last
	now      txn.Timestamp
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c, err := catalog.Open(catalog.Options{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	must(t, c.WaitReady(t.Context()))
	_, err = c.Bootstrap(t.Context(), catalog.BootstrapOptions{
		ClusterID: "test", Fragments: 2, Node: catalog.Node{ID: 1, Name: "n", Block: "A"},
	})
	must(t, err)
	w := &world{t: t, manager: locks.NewManager(txn.NewDetector(), nil), settings: map[string]string{}}
	w.now = txn.FromTime(time.Now())
	w.services = &Services{Catalog: c, Clock: txn.NewClock(nil, 0)}
	w.services.Join = func() exec.Transaction {
		w.last = &fragments{id: txn.NewID(), now: w.now}
		return w.last
	}
	w.env = w.environment(1)
	return w
}

// environment is that of another session.
func (w *world) environment(pid uint32) *Environment {
	return &Environment{
		Services: w.services, Database: catalog.PostgresDB, PID: pid, Locks: w.manager.NewSession(pid),
		Values:  func() *types.Env { return &types.Env{Zone: time.UTC} },
		Setting: func(name string) (string, bool) { v, ok := w.settings[name]; return v, ok },
	}
}

func (w *world) begin(level string) *Tx {
	t := w.env.Begin(time.Now(), Modes{Level: level})
	t.Explicit = true
	return t
}

// newTable returns the definition of a table that no transaction has made yet.
func (w *world) newTable(name string) *catalog.Table {
	w.t.Helper()
	oid, err := w.services.Catalog.NewOID(w.t.Context())
	must(w.t, err)
	return &catalog.Table{
		OID: oid, StorageID: oid, Name: name, Kind: catalog.KindTable, Version: 1, Database: catalog.PostgresDB,
		Schema: catalog.PostgresPublic, Owner: catalog.BootstrapRole, NextAttNum: 2,
		Columns: []catalog.Column{{AttNum: 1, Name: "id", Type: types.Text, Typmod: -1}},
	}
}

// update changes the schema for all transactions.
func (w *world) update(f func(ch *catalog.Change) error) {
	w.t.Helper()
	_, err := w.services.Catalog.Update(w.t.Context(), func(_ *catalog.View, ch *catalog.Change) error { return f(ch) })
	must(w.t, err)
}

// table makes a table that all transactions see.
func (w *world) table(name string) *catalog.Table {
	w.t.Helper()
	table := w.newTable(name)
	w.update(func(ch *catalog.Change) error { return ch.PutTable(table) })
	return table
}

// put is what a statement does that makes or changes a table.
func put(ctx context.Context, t *Tx, table *catalog.Table) error {
	return t.ChangeSchema(ctx, func(_ *catalog.View, ch *catalog.Change) error { return ch.PutTable(table) })
}

// TestEnd ends transactions, and looks at what the fragments are told and which locks are left.
func TestEnd(t *testing.T) {
	w := newWorld(t)
	table := w.table("orders")
	w.env.Floor = w.now + 7
	for _, test := range []struct {
		name  string
		end   func(x *Tx) error
		ended string
	}{
		{"commit", func(x *Tx) error { _, err := x.Commit(t.Context()); x.Release(); return err }, "committed"},
		{"prepare", func(x *Tx) error { return x.Prepare(t.Context(), txn.PreparationRequest{GID: "g"}) }, "prepared"},
		{"rollback", func(x *Tx) error { x.Rollback(); return nil }, "rolled back"},
	} {
		x := w.begin("read committed")
		must(t, x.LockTable(t.Context(), table.OID, locks.AccessExclusive, false))
		f := w.last
		must(t, test.end(x))
		if f.ended != test.ended || x.Parts != nil {
			t.Errorf("%s: the fragments were told %q, and %v is left", test.name, f.ended, x.Parts)
		}
		if test.ended == "prepared" {
			if f.held.GID != "g" || f.held.Database != uint32(catalog.PostgresDB) || f.held.Floor != w.env.Floor {
				t.Errorf("the request of the prepared transaction is %+v", f.held)
			}
			kept := x.DetachLocks()
			x.Release()
			other := w.begin("read committed")
			err := other.LockTable(t.Context(), table.OID, locks.AccessShare, true)
			if !errors.Is(err, locks.ErrNotAvailable) {
				t.Errorf("the lock of a prepared transaction: %v", err)
			}
			other.Rollback()
			kept.Release()
		} else if test.ended == "committed" && f.floor != w.env.Floor {
			t.Errorf("the commit may be at %d, below what the session has seen, %d", f.floor, w.env.Floor)
		}
		next := w.begin("read committed")
		must(t, next.LockTable(t.Context(), table.OID, locks.AccessExclusive, true))
		next.Rollback()
	}
}
