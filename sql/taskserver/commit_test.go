package taskserver

import (
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/txn"
)

func (w *world) fragments() []txn.FragmentID {
	var out []txn.FragmentID
	for _, f := range w.catalog.View().Database(catalog.PostgresDB).Fragments {
		out = append(out, f.ID)
	}
	slices.Sort(out)
	return out
}

// prepare prepares a transaction in all its fragments at one C.
func (x *transaction) prepare(implicit bool) txn.Decision {
	x.w.t.Helper()
	d := txn.Decision{ID: x.id, Outcome: txn.Committed, Writers: x.w.fragments()}
	coordinator := d.Writers[x.id.CoordinatorOf(len(d.Writers))]
	for attempt := 1; ; attempt++ {
		d.C = max(d.C, x.w.clock.Now())
		for _, f := range d.Writers {
			d.C = max(d.C, participant{x, f}.LowWater()+1)
		}
		var low *txn.LowError
		for _, f := range d.Writers {
			err := participant{x, f}.Prepare(x.w.t.Context(), txn.PrepareRequest{
				C: d.C, Coordinator: coordinator, Attempt: attempt, Writers: d.Writers, Implicit: implicit,
			})
			if !errors.As(err, &low) {
				must(x.w.t, err)
			}
		}
		if low == nil {
			return d
		}
	}
}

// TestGatewayDiesBetween: whatever step a commit has reached when its gateway dies, the fragments
// agree on one outcome, and it is the one that may have been reported to a client.
func TestGatewayDiesBetween(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 100)
	for name, c := range map[string]struct {
		die  func(x *transaction)
		want txn.Outcome
	}{
		"nothing prepared":              {func(*transaction) {}, txn.Unknown},
		"all prepared":                  {func(x *transaction) { x.prepare(false) }, txn.Unknown},
		"all prepared, implicit commit": {func(x *transaction) { x.prepare(true) }, txn.Committed},
		"one prepared, implicit commit": {func(x *transaction) { x.prepareOne() }, txn.Unknown},
		"decided":                       {func(x *transaction) { d := x.prepare(false); x.decide(d) }, txn.Committed},
		"decided, then resolved": {func(x *transaction) {
			d := x.prepare(true)
			x.decide(d)
			x.resolve(d)
		}, txn.Committed},
	} {
		x := w.begin()
		x.must("UPDATE notes SET t = 'by " + name + "'")
		c.die(x)
		w.parts.DropGateway(2, incarnation)
		y := w.begin() // waits for the locks
		if _, _, err := y.exec("UPDATE notes SET t = t WHERE k < 100"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := y.must("SELECT count(*) FROM notes WHERE t = 'by " + name + "'")[0]
		y.rollback()
		if want := map[bool]string{true: "100", false: "0"}[c.want == txn.Committed]; got != want {
			t.Errorf("%s: %s rows, want %s", name, got, want)
		}
		for _, f := range w.fragments() {
			out, _, err := kv.QueryOutcome(t.Context(), w.sender(x.id), f, x.id)
			must(t, err)
			if out != c.want {
				t.Errorf("%s: fragment %d says %s, want %s", name, f, out, c.want)
			}
		}
	}
}

func (x *transaction) prepareOne() {
	writers := x.w.fragments()
	coordinator := writers[x.id.CoordinatorOf(len(writers))]
	p, req := participant{x, coordinator}, txn.PrepareRequest{Coordinator: coordinator, Attempt: 1, Writers: writers, Implicit: true}
	for low := new(txn.LowError); ; req.Attempt++ { // steps above the low-water timestamp
		req.C = max(x.w.clock.Now(), p.LowWater(), low.LowWater) + 1
		if err := p.Prepare(x.w.t.Context(), req); !errors.As(err, &low) {
			must(x.w.t, err)
			return
		}
	}
}

func (x *transaction) decide(d txn.Decision) {
	x.w.t.Helper()
	out, err := participant{x, d.Writers[x.id.CoordinatorOf(len(d.Writers))]}.Decide(x.w.t.Context(), d)
	if out != txn.Committed || err != nil {
		x.w.t.Fatalf("decided %s, %v", out, err)
	}
}

func (x *transaction) resolve(d txn.Decision) {
	x.w.t.Helper()
	coordinator := x.id.CoordinatorOf(len(d.Writers))
	must(x.w.t, participant{x, d.Writers[1-coordinator]}.Resolve(x.w.t.Context(), d))
}

// TestAnswersLost: a request that a coordinator repeats because it has received no answer has the
// answer of the first one.
func TestAnswersLost(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 100)
	for _, implicit := range []bool{false, true} {
		x := w.begin()
		x.must("UPDATE notes SET t = 'x'")
		d := x.prepare(implicit)
		for _, f := range d.Writers {
			r, err := w.send(t.Context(), f, x.id, nil, &pb.Request{
				Op: &pb.Request_InDoubt{InDoubt: &pb.InDoubtRequest{}},
			})
			a := r.GetInDoubt()
			if err != nil || !a.Prepared || a.C != uint64(d.C) || a.Implicit != implicit ||
				!slices.Equal(a.Writers, d.Writers) {
				t.Errorf("in doubt: %v, %v", a, err)
			}
			yes, err := kv.HasPrepared(t.Context(), w.sender(x.id), f, x.id, d.C)
			if err != nil || !yes {
				t.Errorf("prepared: %v, %v", yes, err)
			}
		}
		for range 3 {
			x.decide(d)
		}
		for range 3 {
			x.resolve(d)
		}
		other := d
		other.Outcome = txn.Aborted
		if out, err := (participant{x, d.Writers[x.id.CoordinatorOf(2)]}).Decide(t.Context(), other); out != txn.Committed ||
			err != nil {
			t.Errorf("the second decision counts: %s, %v", out, err)
		}
		participant{x, d.Writers[x.id.CoordinatorOf(2)]}.Forget(t.Context(), d)
	}
	x := w.begin()
	x.must("UPDATE notes SET t = 'one' WHERE k = 1")
	must(t, x.commit())
	for f := range x.buffers {
		var lost *txn.LostError
		if _, err := (participant{x, f}).Commit(t.Context(), txn.CommitRequest{}); !errors.As(err, &lost) {
			t.Errorf("a second commit: %v", err)
		}
		out, C, err := kv.QueryOutcome(t.Context(), w.sender(x.id), f, x.id)
		if err != nil || out != txn.Committed || C == 0 {
			t.Errorf("its outcome: %v at %v, %v", out, C, err)
		}
	}
}

func TestLowC(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 10)
	x := w.begin()
	x.must("UPDATE notes SET t = 'x' WHERE k = 1")
	for f := range x.buffers {
		var low *txn.LowError
		if _, err := (participant{x, f}).Commit(t.Context(), txn.CommitRequest{At: 1}); !errors.As(err, &low) ||
			low.LowWater < 1 {
			t.Errorf("got %v", err)
		}
	}
	must(t, x.commit()) // the write buffer is still there
}

func TestHeldElsewhere(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 100)
	x := w.begin()
	x.must("UPDATE notes SET t = 'held'")
	all := w.fragments()
	at := time.UnixMicro(1_700_000_000_000_000).UTC()
	for _, f := range all {
		_, err := x.send(t.Context(), f,
			&pb.Request{Op: &pb.Request_PrepareTransaction{PrepareTransaction: &pb.PrepareTransactionRequest{
				Gid: "g", Owner: 10, Database: catalog.PostgresDB, AtMicros: at.UnixMicro(), Home: all[0], Writers: all,
			}}})
		must(t, err)
	}
	about := func(f txn.FragmentID, r *pb.Request) *pb.Response {
		t.Helper()
		a, err := w.send(t.Context(), f, x.id, nil, r)
		must(t, err)
		return a
	}
	about(all[0], &pb.Request{Op: &pb.Request_CompletePrepared{CompletePrepared: &pb.CompletePreparedRequest{}}})
	for _, f := range all {
		about(f, &pb.Request{Op: &pb.Request_DetachPrepared{DetachPrepared: &pb.DetachPreparedRequest{}}})
	}
	// A gateway that has no part of it.
	w.parts.DropGateway(2, incarnation)
	list := func(f txn.FragmentID) []*pb.PreparedTransaction {
		return about(f,
			&pb.Request{Op: &pb.Request_ListPrepared{ListPrepared: &pb.ListPreparedRequest{}}}).GetPrepared().GetTransactions()
	}
	held := list(all[0])
	if len(held) != 1 || held[0].Gid != "g" || held[0].AtMicros != at.UnixMicro() ||
		!slices.Equal(held[0].Fragments, all) || len(list(all[1])) != 0 {
		t.Fatalf("%v", held)
	}
	if !about(all[0],
		&pb.Request{Op: &pb.Request_PreparedStands{PreparedStands: &pb.PreparedStandsRequest{}}}).GetYes() {
		t.Error("it does not stand")
	}
	tables := about(all[1],
		&pb.Request{Op: &pb.Request_PreparedTables{PreparedTables: &pb.PreparedTablesRequest{}}}).GetTables().GetTables()
	if len(tables) != 1 {
		t.Errorf("%v", tables)
	}
	for _, f := range all {
		about(f, &pb.Request{Op: &pb.Request_FindPrepared{FindPrepared: &pb.FindPreparedRequest{}}})
	}
	x.held = true
	var parts []txn.Participant
	for _, f := range all {
		parts = append(parts, participant{x, f})
	}
	c := txn.Coordinator{Clock: w.clock}
	if _, err := c.CommitPrepared(t.Context(), x.id, all[0], 0, parts); err != nil {
		t.Fatal(err)
	}
	if got := w.begin().must("SELECT count(*) FROM notes WHERE t = 'held'"); got[0] != "100" {
		t.Errorf("%v rows", got)
	}
}

func TestViews(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 100)
	x := w.begin()
	x.gateway = 7
	x.must("UPDATE notes SET t = 'x' WHERE k = 1")
	locks, total := w.host.Replicas.ListRowLocks()
	if total != 1 || len(locks) != 1 || locks[0].Holder.Session != 7 ||
		w.parts.Gateway(locks[0].Holder.ID) != 2 || !locks[0].Granted {
		t.Errorf("%v", locks)
	}
	txs, total := w.host.Replicas.ListTransactions()
	if total != 1 || txs[0].Owner.ID != x.id || txs[0].Prepared {
		t.Errorf("%v", txs)
	}
	rows := int64(0)
	for _, f := range w.fragments() {
		a, err := w.send(t.Context(), f, txn.ID{}, nil, &pb.Request{
			Op: &pb.Request_CountRows{CountRows: &pb.CountRowsRequest{}},
		})
		must(t, err)
		for _, c := range a.GetCounts().GetCounts() {
			rows += c.Documents
		}
	}
	var elsewhere *kv.NotLeader
	if _, err := w.send(
		t.Context(), 999, x.id, nil, &pb.Request{Op: &pb.Request_CountRows{CountRows: &pb.CountRowsRequest{}}},
	); !errors.As(err, &elsewhere) {
		t.Errorf("of a fragment that is elsewhere: %v", err)
	}
	if rows != 100 {
		t.Errorf("%d rows are counted", rows)
	}
	if idle := w.parts.Idle(time.Hour); len(idle) != 0 {
		t.Errorf("idle: %v", idle)
	}
	if idle := w.parts.Idle(-time.Hour); len(idle[2]) != 1 || idle[2][0] != x.id {
		t.Errorf("idle: %v", idle)
	}
}

func TestSnapshots(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 100)
	of := []*pb.SnapshotOf{{Fragment: 999}}
	for _, f := range w.fragments() {
		of = append(of, &pb.SnapshotOf{Fragment: f})
	}
	a, err := w.client.Snapshot(t.Context(), &pb.SnapshotRequest{Now: uint64(w.clock.Now()), Of: of})
	if err != nil || a.T == 0 || len(a.Failures) != 1 || a.Failures[0].Fragment != 999 ||
		len(a.Terms) != 3 || a.Terms[1] == 0 {
		t.Fatalf("%v, %v", a, err)
	}
	x := w.begin()
	f := w.fragments()[0]
	k, err := x.send(t.Context(), f, &pb.Request{Op: &pb.Request_Pin{Pin: &pb.PinRequest{T: a.T}}})
	must(t, err)
	x.buffers[f] = k.Buffer
	x.must("SELECT count(*) FROM notes")
	x.rollback()
	w.idle()
	late, err := w.client.Snapshot(t.Context(), &pb.SnapshotRequest{
		Now: uint64(txn.FromTime(time.Now().Add(time.Hour))), Of: of,
	})
	if err != nil || len(late.Failures) != 3 || late.Failures[1].Failure.Kind != pb.Failure_CLOCK {
		t.Errorf("%v, %v", late, err)
	}
	if pgerr.Code(failure.Decode(late.Failures[1].Failure, f)) == "" {
		t.Error("no error")
	}
}

// TestUnknownOperation sends operations of a later release, with a transaction and without one: the
// node answers that it does not know them.
func TestUnknownOperation(t *testing.T) {
	w := open(t, nil)
	for _, id := range []txn.ID{txn.NewID(), {}} {
		_, err := w.send(t.Context(), w.fragments()[0], id, nil, &pb.Request{})
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("transaction %v: got %v", id, err)
		}
	}
}
