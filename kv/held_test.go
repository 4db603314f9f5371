package kv_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

func heldKey(n uint32) []byte { return append(keyspace.RowPrefix(30000, n, 1), "row"...) }

// put buffers a row in each of the fragments.
func put(t *testing.T, x *kv.Transaction, fragments []txn.FragmentID, key []byte) {
	t.Helper()
	for _, f := range fragments {
		p, err := x.Part(f)
		if err == nil {
			err = teststore.Tx(p).LockNewest(t.Context(), key)
		}
		if err == nil {
			err = teststore.Tx(p).Put(key, []byte("x"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestHoldAndOutcome(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	dir := t.TempDir()
	c := teststore.Catalog(t, dir, 2)
	h := openNode(t, dir, c)
	fragments, err := kv.FragmentsOf(h.catalog, catalog.PostgresDB)
	if err != nil {
		t.Fatal(err)
	}
	outcome := func(id txn.ID, want txn.Outcome) {
		t.Helper()
		if got, _, err := h.Client.Outcome(ctx, catalog.PostgresDB, id); got != want || err != nil {
			t.Fatalf("outcome %s, %v; want %s", got, err, want)
		}
	}
	begin := func(n uint32, in []txn.FragmentID) *kv.Transaction {
		x := teststore.Begin(h.Client)
		put(t, x, in, heldKey(n))
		return x
	}
	hold := func(x *kv.Transaction, gid string) error {
		return x.PrepareTransaction(ctx, txn.PreparationRequest{GID: gid, Owner: 10, Database: catalog.PostgresDB, At: time.Now(), Floor: 5})
	}
	a, b, d := begin(1, fragments), begin(2, fragments[:1]), begin(3, fragments)
	outcome(a.ID(), txn.InProgress)
	if err := hold(a, "a"); err != nil {
		t.Fatal(err)
	}
	if err := hold(b, "b"); err != nil {
		t.Fatal(err)
	}
	if err := hold(d, "a"); !pgerr.Is(err, pgerr.DuplicateObject) {
		t.Fatalf("got %v", err)
	}
	outcome(d.ID(), txn.Aborted)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = openNode(t, dir, c)
	defer h.Close()
	held, err := h.Client.Prepared(ctx, catalog.PostgresDB)
	if err != nil || len(held) != 2 || held[0].GID != "a" || held[0].ID != a.ID() || held[1].GID != "b" || held[0].Floor != 5 ||
		!slices.Equal(held[0].Tables, []uint32{30000}) {
		t.Fatalf("%+v %v", held, err)
	}
	outcome(a.ID(), txn.InProgress)
	if C, err := h.Client.CommitPrepared(ctx, catalog.PostgresDB, "a", 0); err != nil || C == 0 {
		t.Fatal(C, err)
	}
	if err := h.Client.RollbackPrepared(ctx, catalog.PostgresDB, "b"); err != nil {
		t.Fatal(err)
	}
	for _, gid := range []string{"a", "b", "never"} {
		if _, err := h.Client.CommitPrepared(ctx, catalog.PostgresDB, gid, 0); !pgerr.Is(err, pgerr.UndefinedObject) {
			t.Fatalf("got %v", err)
		}
	}
	outcome(a.ID(), txn.Committed)
	outcome(b.ID(), txn.Aborted)
	x := begin(2, fragments) // the rows are free
	put(t, x, fragments, heldKey(3))
	if _, err := x.Commit(ctx, 0); err != nil {
		t.Fatal(err)
	}
	outcome(x.ID(), txn.Committed)
	outcome(txn.ID{}, txn.Unknown) // it says of itself that it began in 1970
	if err := hold(begin(9, fragments), string(make([]byte, txn.MaxGID+1))); !pgerr.Is(err, pgerr.InvalidParameterValue) {
		t.Fatalf("got %v", err)
	}
}

// TestHoldOfSerializable: a fragment in which it has only read holds too, and nobody writes there where it has read.
func TestHoldOfSerializable(t *testing.T) {
	dir := t.TempDir()
	h := openNode(t, dir, teststore.Catalog(t, dir, 2))
	defer h.Close()
	fragments, err := kv.FragmentsOf(h.catalog, catalog.PostgresDB)
	if err != nil {
		t.Fatal(err)
	}
	x := teststore.Begin(h.Client)
	x.Configure(txn.Options{Isolation: txn.Serializable})
	T, err := x.Snapshot(t.Context(), whole(fragments), 0)
	if err != nil {
		t.Fatal(err)
	}
	put(t, x, fragments[:1], heldKey(1))
	p, err := x.Part(fragments[1])
	if err != nil {
		t.Fatal(err)
	}
	v, err := teststore.Tx(p).View(t.Context(), T)
	if err == nil {
		_, err = v.Get(t.Context(), heldKey(2))
	}
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	if err := x.PrepareTransaction(t.Context(), txn.PreparationRequest{GID: "s", Database: catalog.PostgresDB}); err != nil {
		t.Fatal(err)
	}
	y := teststore.Begin(h.Client)
	put(t, y, fragments[1:2], heldKey(2))
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := bufferIn(t, y, fragments[1]).AwaitReaders(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if _, err := h.Client.CommitPrepared(t.Context(), catalog.PostgresDB, "s", 0); err != nil {
		t.Fatal(err)
	}
	if err := bufferIn(t, y, fragments[1]).AwaitReaders(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Commit(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

// TestResolveTransaction is the operator's way out, and the coordinator fragment's word before it.
func TestResolveTransaction(t *testing.T) {
	for _, decided := range []bool{false, true} {
		ctx := t.Context()
		dir := t.TempDir()
		h := openNode(t, dir, teststore.Catalog(t, dir, 2))
		fragments, err := kv.FragmentsOf(h.catalog, catalog.PostgresDB)
		if err != nil || len(fragments) < 2 {
			t.Fatal(fragments, err)
		}
		slices.Sort(fragments)
		x := teststore.Begin(h.Client)
		put(t, x, fragments, heldKey(1))
		p := teststore.Preparing{Clock: h.clock, PrepareRequest: txn.PrepareRequest{Coordinator: fragments[0], Writers: fragments}}
		for _, f := range fragments {
			if err := p.Prepare(ctx, bufferIn(t, x, f)); err != nil {
				t.Fatal(err)
			}
		}
		h.Client.Over(x.ID())
		if out, _, err := h.Client.Outcome(ctx, catalog.PostgresDB, x.ID()); out != txn.InProgress || err != nil {
			t.Fatal(out, err)
		}
		want := ""
		if decided {
			want = pgerr.ObjectNotInPrerequisiteState
			if out, err := bufferIn(t, x, fragments[0]).Decide(ctx, txn.Decision{ID: x.ID(), C: p.C, Outcome: txn.Committed}); out != txn.Committed {
				t.Fatal(out, err)
			}
		}
		if err := h.Client.ResolveTransaction(ctx, catalog.PostgresDB, x.ID(), txn.Aborted); pgerr.Code(err) != want {
			t.Fatalf("decided %v: got %v", decided, err)
		}
		after := txn.Aborted
		if decided {
			after = txn.Committed
		}
		if out, _, err := h.Client.Outcome(ctx, catalog.PostgresDB, x.ID()); out != after || err != nil {
			t.Fatal(out, err)
		}
		if err := h.Client.ResolveTransaction(ctx, catalog.PostgresDB, x.ID(), txn.Committed); !pgerr.Is(err, pgerr.UndefinedObject) {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestResolveWithoutCoordinator: where the coordinator fragment is gone, a writer that has applied
// its decision goes before the operator's word, and what is not prepared everywhere cannot be
// committed.
func TestResolveWithoutCoordinator(t *testing.T) {
	const applied, everywhere, missing = "a writer applied the commit", "prepared everywhere", "one is not prepared"
	for state, codes := range map[string]map[txn.Outcome]string{
		applied:    {txn.Aborted: pgerr.ObjectNotInPrerequisiteState, txn.Committed: ""},
		everywhere: {txn.Aborted: "", txn.Committed: ""},
		missing:    {txn.Aborted: "", txn.Committed: pgerr.ObjectNotInPrerequisiteState},
	} {
		for word, code := range codes {
			t.Run(state+", "+word.String(), func(t *testing.T) {
				ctx := t.Context()
				dir := t.TempDir()
				c := teststore.Catalog(t, dir, 3)
				h := openNode(t, dir, c)
				defer h.Close()
				fragments, err := kv.FragmentsOf(h.catalog, catalog.PostgresDB)
				if err != nil || len(fragments) != 3 {
					t.Fatal(fragments, err)
				}
				slices.Sort(fragments)
				x := teststore.Begin(h.Client)
				put(t, x, fragments, heldKey(1))
				p := teststore.Preparing{Clock: h.clock, PrepareRequest: txn.PrepareRequest{Coordinator: fragments[0], Writers: fragments}}
				last := len(fragments)
				if state == missing {
					last--
				}
				for _, f := range fragments[:last] {
					if err := p.Prepare(ctx, bufferIn(t, x, f)); err != nil {
						t.Fatal(err)
					}
				}
				d := txn.Decision{ID: x.ID(), C: p.C, Outcome: txn.Committed, Writers: fragments}
				if state == applied {
					if out, err := bufferIn(t, x, fragments[0]).Decide(ctx, d); out != txn.Committed {
						t.Fatal(out, err)
					}
					if err := bufferIn(t, x, fragments[1]).Resolve(ctx, d); err != nil {
						t.Fatal(err)
					}
				}
				if state == missing {
					bufferIn(t, x, fragments[last]).Rollback()
				}
				if err := h.Client.ResolveTransaction(ctx, catalog.PostgresDB, x.ID(), word); !pgerr.Is(err, pgerr.ObjectInUse) {
					t.Fatalf("while it is at work: %v", err)
				}
				h.Client.Over(x.ID())
				operator := kv.New(kv.Config{
					Node: 1, Catalog: c, Clock: h.clock, Logger: slog.New(slog.DiscardHandler),
					Here: without{h.Fragments, fragments[0]}, Replica: h.Replicas.Get,
				})
				err = operator.ResolveTransaction(ctx, catalog.PostgresDB, x.ID(), word)
				if pgerr.Code(err) != code {
					t.Fatalf("got %v", err)
				}
				_, _, prepared := h.Replicas.Get(fragments[1]).Outcomes.Prepared(x.ID())
				if refused := state == missing && code != ""; prepared != refused {
					t.Fatalf("prepared: %v", prepared)
				}
			})
		}
	}
}

// without is the leader of all fragments but one, which is out of reach.
type without struct {
	kv.Sender
	fragment txn.FragmentID
}

func (w without) Send(ctx context.Context, r *pb.Request) (*pb.Response, error) {
	if r.Fragment == w.fragment {
		return nil, fragment.NotAvailable(w.fragment)
	}
	return w.Sender.Send(ctx, r)
}
