package cluster

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

func heldKey(n uint32) []byte { return append(keyspace.RowPrefix(30000, n, 1), "row"...) }

// put stages a row in each of the fragments.
func put(t *testing.T, x *Transaction, fragments []txn.FragmentID, key []byte) {
	t.Helper()
	for _, f := range fragments {
		p, err := x.part(f)
		if err == nil {
			err = stageOf(p).LockNewest(t.Context(), key)
		}
		if err == nil {
			err = stageOf(p).Put(key, []byte("x"))
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
	c := openCatalog(t, dir)
	h := openHost(t, dir, c)
	fragments, err := kv.FragmentsOf(h.cfg.Catalog, catalog.PostgresDB)
	if err != nil {
		t.Fatal(err)
	}
	outcome := func(id txn.ID, want txn.Outcome) {
		t.Helper()
		if got, _, err := h.Outcome(ctx, catalog.PostgresDB, id); got != want || err != nil {
			t.Fatalf("outcome %s, %v; want %s", got, err, want)
		}
	}
	begin := func(n uint32, in []txn.FragmentID) *Transaction {
		x := h.Begin().(*Transaction)
		put(t, x, in, heldKey(n))
		return x
	}
	hold := func(x *Transaction, gid string) error {
		return x.Hold(ctx, txn.HoldRequest{GID: gid, Owner: 10, Database: catalog.PostgresDB, At: time.Now(), Floor: 5})
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
	h = openHost(t, dir, c)
	defer h.Close()
	held, err := h.Held(ctx, catalog.PostgresDB)
	if err != nil || len(held) != 2 || held[0].GID != "a" || held[0].ID != a.ID() || held[1].GID != "b" || held[0].Floor != 5 ||
		!slices.Equal(held[0].Tables, []uint32{30000}) {
		t.Fatalf("%+v %v", held, err)
	}
	outcome(a.ID(), txn.InProgress)
	if C, err := h.CommitHeld(ctx, catalog.PostgresDB, "a", 0); err != nil || C == 0 {
		t.Fatal(C, err)
	}
	if err := h.RollbackHeld(ctx, catalog.PostgresDB, "b"); err != nil {
		t.Fatal(err)
	}
	for _, gid := range []string{"a", "b", "never"} {
		if _, err := h.CommitHeld(ctx, catalog.PostgresDB, gid, 0); !pgerr.Is(err, pgerr.UndefinedObject) {
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
	h := openHost(t, dir, openCatalog(t, dir))
	defer h.Close()
	fragments, err := kv.FragmentsOf(h.cfg.Catalog, catalog.PostgresDB)
	if err != nil {
		t.Fatal(err)
	}
	x := h.Begin().(*Transaction)
	x.Configure(exec.TransactionOptions{Isolation: txn.Serializable})
	T, err := x.Snapshot(t.Context(), whole(fragments), 0)
	if err != nil {
		t.Fatal(err)
	}
	put(t, x, fragments[:1], heldKey(1))
	p, err := x.part(fragments[1])
	if err != nil {
		t.Fatal(err)
	}
	v, err := stageOf(p).View(t.Context(), T)
	if err == nil {
		_, err = v.Get(t.Context(), heldKey(2))
	}
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	if err := x.Hold(t.Context(), txn.HoldRequest{GID: "s", Database: catalog.PostgresDB}); err != nil {
		t.Fatal(err)
	}
	y := h.Begin().(*Transaction)
	put(t, y, fragments[1:2], heldKey(2))
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := stageOf(y.parts[fragments[1]]).AwaitReaders(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if _, err := h.CommitHeld(t.Context(), catalog.PostgresDB, "s", 0); err != nil {
		t.Fatal(err)
	}
	if err := stageOf(y.parts[fragments[1]]).AwaitReaders(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Commit(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
}

// TestResolveTransaction is the operator's way out, and the anchor's word before it.
func TestResolveTransaction(t *testing.T) {
	for _, decided := range []bool{false, true} {
		ctx := t.Context()
		dir := t.TempDir()
		h := openHost(t, dir, openCatalog(t, dir))
		fragments, err := kv.FragmentsOf(h.cfg.Catalog, catalog.PostgresDB)
		if err != nil || len(fragments) < 2 {
			t.Fatal(fragments, err)
		}
		slices.Sort(fragments)
		x := h.Begin().(*Transaction)
		put(t, x, fragments, heldKey(1))
		p := preparing{clock: h.cfg.Clock, PrepareRequest: txn.PrepareRequest{Anchor: fragments[0], Writers: fragments}}
		for _, f := range fragments {
			if err := p.prepare(ctx, stageOf(x.parts[f])); err != nil {
				t.Fatal(err)
			}
		}
		x.letGo()
		if out, _, err := h.Outcome(ctx, catalog.PostgresDB, x.ID()); out != txn.InProgress || err != nil {
			t.Fatal(out, err)
		}
		want := ""
		if decided {
			want = pgerr.ObjectNotInPrerequisiteState
			if out, err := stageOf(x.parts[fragments[0]]).Decide(ctx, txn.Decision{ID: x.ID(), C: p.C, Outcome: txn.Committed}); out != txn.Committed {
				t.Fatal(out, err)
			}
		}
		if err := h.ResolveTransaction(ctx, catalog.PostgresDB, x.ID(), txn.Aborted); pgerr.Code(err) != want {
			t.Fatalf("decided %v: got %v", decided, err)
		}
		after := txn.Aborted
		if decided {
			after = txn.Committed
		}
		if out, _, err := h.Outcome(ctx, catalog.PostgresDB, x.ID()); out != after || err != nil {
			t.Fatal(out, err)
		}
		if err := h.ResolveTransaction(ctx, catalog.PostgresDB, x.ID(), txn.Committed); !pgerr.Is(err, pgerr.UndefinedObject) {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestResolveWithoutAnchor: where the anchor is gone, a writer that has applied its decision goes before the operator's word, and what is not
// prepared everywhere cannot be committed.
func TestResolveWithoutAnchor(t *testing.T) {
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
				h := openHost(t, dir, openCatalogOf(t, dir, 3))
				defer h.Close()
				fragments, err := kv.FragmentsOf(h.cfg.Catalog, catalog.PostgresDB)
				if err != nil || len(fragments) != 3 {
					t.Fatal(fragments, err)
				}
				slices.Sort(fragments)
				x := h.Begin().(*Transaction)
				put(t, x, fragments, heldKey(1))
				p := preparing{clock: h.cfg.Clock, PrepareRequest: txn.PrepareRequest{Anchor: fragments[0], Writers: fragments}}
				last := len(fragments)
				if state == missing {
					last--
				}
				for _, f := range fragments[:last] {
					if err := p.prepare(ctx, stageOf(x.parts[f])); err != nil {
						t.Fatal(err)
					}
				}
				d := txn.Decision{ID: x.ID(), C: p.C, Outcome: txn.Committed, Writers: fragments}
				if state == applied {
					if out, err := stageOf(x.parts[fragments[0]]).Decide(ctx, d); out != txn.Committed {
						t.Fatal(out, err)
					}
					if err := stageOf(x.parts[fragments[1]]).Resolve(ctx, d); err != nil {
						t.Fatal(err)
					}
				}
				if state == missing {
					stageOf(x.parts[fragments[last]]).Rollback()
				}
				if err := h.ResolveTransaction(ctx, catalog.PostgresDB, x.ID(), word); !pgerr.Is(err, pgerr.ObjectInUse) {
					t.Fatalf("while it is at work: %v", err)
				}
				x.letGo()
				h.mu.Lock()
				anchor := h.replicas[fragments[0]]
				delete(h.replicas, fragments[0])
				h.mu.Unlock()
				err = h.ResolveTransaction(ctx, catalog.PostgresDB, x.ID(), word)
				h.mu.Lock()
				h.replicas[fragments[0]] = anchor
				h.mu.Unlock()
				if pgerr.Code(err) != code {
					t.Fatalf("got %v", err)
				}
				_, _, prepared := h.replicas[fragments[1]].Prepared(x.ID())
				if refused := state == missing && code != ""; prepared != refused {
					t.Fatalf("prepared: %v", prepared)
				}
			})
		}
	}
}

// TestHoldThatComesLate: a request of PREPARE TRANSACTION that was not answered puts its entry into the log after the
// prepared transaction was dropped. It is dropped as well.
func TestHoldThatComesLate(t *testing.T) {
	dir := t.TempDir()
	c := openCatalog(t, dir)
	reached, resume, ended := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	armed := atomic.Bool{}
	h, err := Open(t.Context(), Config{
		Dir: filepath.Join(dir, "fragments"), LogDir: filepath.Join(dir, "log"), Node: 1, Catalog: c,
		Clock: txn.NewClock(time.Now, time.Minute), Logger: slog.New(slog.DiscardHandler),
		Storage: storage.Config{Fault: func(step string) {
			switch {
			case step == "hold.before" && armed.CompareAndSwap(true, false):
				close(reached)
				<-resume
			case step == "held.dropped":
				select {
				case ended <- struct{}{}:
				default:
				}
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	fragments, err := kv.FragmentsOf(h.cfg.Catalog, catalog.PostgresDB)
	if err != nil {
		t.Fatal(err)
	}
	home := fragments[0]
	x := h.Begin().(*Transaction)
	put(t, x, fragments[:1], heldKey(1))
	armed.Store(true)
	held := make(chan error, 1)
	go func() {
		held <- x.parts[home].Hold(t.Context(), storage.HoldRequest{
			HoldRequest: txn.HoldRequest{GID: "late", Database: catalog.PostgresDB, At: time.Now()}, Home: home, Writers: fragments[:1],
		})
	}()
	<-reached
	dropped := make(chan error, 1)
	go func() {
		dropped <- unholdUntilGone(t.Context(), home, x.ID(), func(do func(kv.Sender) error) error { return do(h.fragments) })
	}()
	<-ended // once, and there was nothing to drop
	close(resume)
	if err := errors.Join(<-held, <-dropped); err != nil {
		t.Fatal(err)
	}
	if all, err := h.Held(t.Context(), catalog.PostgresDB); err != nil || len(all) != 0 {
		t.Fatalf("prepared after it was dropped: %v, %v", all, err)
	}
	y := h.Begin().(*Transaction)
	put(t, y, fragments[:1], heldKey(1)) // the row is free
	y.Rollback()
}
