package taskserver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

func TestStatements(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 1000)
	x := w.begin()
	if got := x.must("SELECT count(*), min(k), max(k) FROM notes"); len(got) != 1 || got[0] != "1000|0|999" {
		t.Errorf("got %v", got)
	}
	if got := x.must("SELECT t FROM notes WHERE k = 77"); len(got) != 1 || got[0] != "row 77" {
		t.Errorf("got %v", got)
	}
	if got := x.must("SELECT k FROM notes ORDER BY k LIMIT 3 OFFSET 500"); len(got) != 3 || got[0] != "500" {
		t.Errorf("got %v", got)
	}
	if _, n, err := x.exec("UPDATE notes SET t = 'new' WHERE k < 10"); n != 10 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	if got := x.must("SELECT count(*) FROM notes WHERE t = 'new'"); got[0] != "10" {
		t.Errorf("own writes: %v", got)
	}
	other := w.begin()
	if got := other.must("SELECT count(*) FROM notes WHERE t = 'new'"); got[0] != "0" {
		t.Errorf("others see %v", got)
	}
	must(t, x.commit())
	if got := other.must("SELECT count(*) FROM notes WHERE t = 'new'"); got[0] != "10" {
		t.Errorf("others see %v after the commit", got)
	}
}

func TestErrorsAreWhole(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 10)
	x := w.begin()
	_, _, err := x.exec("INSERT INTO notes VALUES (100, 'x'), (7, 'y')")
	var row *txn.RowError
	if !errors.As(err, &row) || row.Place != 1 {
		t.Errorf("row %+v", row)
	}
	if e := pgerr.From(err); e.Code != pgerr.UniqueViolation || e.Table != "notes" || e.Constraint != "notes_pkey" ||
		!strings.Contains(e.Detail, "(k)=(7)") {
		t.Errorf("got %+v", e)
	}
	if _, _, err := w.begin().exec("SELECT 1 / (k - 5) FROM notes"); !pgerr.Is(err, pgerr.DivisionByZero) {
		t.Errorf("got %v", err)
	}
	f, task := w.begin().scan("SELECT repeat(t, 5000000) FROM notes")
	if _, err := (distant{w.begin(), f}).Run(t.Context(), task, func(types.Row) error {
		return nil
	}); !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Errorf("got %v", err)
	}
	a, b := w.begin(), w.begin()
	a.isolation, b.isolation = txn.RepeatableRead, txn.RepeatableRead
	b.must("SELECT * FROM notes WHERE k = 1")
	a.must("UPDATE notes SET t = 'a' WHERE k = 1")
	must(t, a.commit())
	var conflict *txn.ConflictError
	if _, _, err := b.exec("UPDATE notes SET t = 'b' WHERE k = 1"); !errors.As(err, &conflict) ||
		conflict.Other != a.id || !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Errorf("got %v", err)
	}
}

// TestCancel: work that the gateway cancels ends at the node that runs it, in a wait for a lock
// and in a scan whose rows are not taken.
func TestCancel(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 20_000)
	a, b := w.begin(), w.begin()
	a.gateway, b.gateway = 11, 12
	a.must("UPDATE notes SET t = 'a' WHERE k = 1")
	b.waits = make(chan *pb.TaskWaiting, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := b.each(ctx, "UPDATE notes SET t = 'b' WHERE k = 1", func(types.Row) error { return nil })
		done <- err
	}()
	said := <-b.waits
	if len(said.Blockers) != 1 || txn.ID(said.Blockers[0].Transaction) != a.id || said.Blockers[0].Gateway != 2 ||
		said.Blockers[0].Session != 11 ||
		!strings.Contains(said.Doing, `key (k)=(1) of relation "notes"`) {
		t.Errorf("waits for %v", said)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a canceled statement has no error")
	}
	eventually.Holds(t, "the wait has ended", func() bool { return len(w.host.Deadlocks.Waits()) == 0 })

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	rows := 0
	_, err := w.begin().each(ctx, "SELECT k, repeat(t, 100) FROM notes", func(types.Row) error {
		if rows++; rows == 1 {
			cancel()
		}
		return ctx.Err()
	})
	if err == nil || rows > 5000 {
		t.Errorf("%d rows, %v", rows, err)
	}
	eventually.Holds(t, "the streams have ended", func() bool { return w.server.gateway(2).streams.Load() == 0 })
}

// TestSuspendedReader: rows that the gateway does not take stop only their own task.
func TestSuspendedReader(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 20_000)
	rows := 0
	_, err := w.begin().each(t.Context(), "SELECT k, repeat(t, 100) FROM notes", func(types.Row) error {
		if rows++; rows == 100 {
			for range 20 {
				w.begin().must("SELECT count(*) FROM notes")
			}
			if running := w.server.gateway(2).streams.Load(); running == 0 {
				t.Error("the fragments have sent all their rows, though nobody took them")
			}
		}
		return nil
	})
	if err != nil || rows != 20_000 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// TestStop: a stream whose task was stopped serves the next.
func TestStop(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 20_000)
	x := w.begin()
	stream, err := w.tasks.Run(t.Context())
	must(t, err)
	f, task := x.scan("SELECT k, repeat(t, 100) FROM notes")
	for range 3 {
		b, err := x.taskBegin(f, task)
		must(t, err)
		rows := 0
		_, err = x.run(stream, f, b, func(types.Row) error {
			if rows++; rows == 10 {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) || rows != 10 {
			t.Fatalf("%d rows, %v", rows, err)
		}
	}
	b, err := x.taskBegin(f, task)
	must(t, err)
	rows := 0
	if _, err := x.run(stream, f, b, func(types.Row) error { rows++; return nil }); err != nil || rows < 5000 {
		t.Fatalf("%d rows, %v", rows, err)
	}
}

// scan returns the task of a statement's one Gather, for the first fragment.
func (x *transaction) scan(text string) (txn.FragmentID, *exec.Task) {
	w := x.w
	w.t.Helper()
	_, p := w.plan(text)
	g, ok := p.Root.(*plan.Gather)
	if !ok {
		w.t.Fatalf("%T is no Gather", p.Root)
	}
	d := w.catalog.View().Database(catalog.PostgresDB)
	f := d.Fragments[0].ID
	return f, &exec.Task{Txn: x.id, Epoch: d.Map.Epoch(), Buckets: d.Map.Owned(f), Plan: g.Child}
}

func TestBufferIsLost(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 100)
	write := func() *transaction {
		x := w.begin()
		x.must("UPDATE notes SET t = 'x'")
		return x
	}
	for name, lose := range map[string]func(*transaction){
		"gateway gone":           func(*transaction) { w.parts.DropGateway(2, incarnation) },
		"transaction over":       func(x *transaction) { w.parts.DropTransactions(2, []txn.ID{x.id}) },
		"another of its name":    func(x *transaction) { x.buffers[1].Birth++; x.buffers[2].Birth++ },
		"begun again since then": func(x *transaction) { w.parts.DropGateway(2, incarnation); w.again(x) },
	} {
		x := write()
		lose(x)
		for what, err := range map[string]error{
			"read":  errOf(x.exec("SELECT * FROM notes")),
			"write": errOf(x.exec("UPDATE notes SET t = 'y'")),
		} {
			var lost *txn.LostError
			if !errors.As(err, &lost) || !lost.Buffered || !pgerr.Is(err, pgerr.SerializationFailure) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		if err := x.commit(); err == nil {
			t.Errorf("%s: committed", name)
		}
		w.parts.DropGateway(2, incarnation)
	}
	last := write()
	last.rollback() // nothing is locked any more
	w.idle()
	if n := w.parts.Gateway(last.id); n != 0 {
		t.Errorf("a transaction of node %d is left", n)
	}
}

func errOf(_ []string, _ int64, err error) error { return err }

// again begins a transaction's write buffers once more, as a late request would.
func (w *world) again(x *transaction) {
	late := &transaction{w: w, id: x.id, buffers: map[txn.FragmentID]*pb.WriteBuffer{}}
	late.must("UPDATE notes SET t = 'late'")
}

// TestDroppedUnderWay: tasks end with their write buffer.
func TestDroppedUnderWay(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 10)
	a, b := w.begin(), w.begin()
	a.must("UPDATE notes SET t = 'a' WHERE k = 1")
	b.waits = make(chan *pb.TaskWaiting, 10)
	done := make(chan error, 1)
	go func() {
		_, err := b.each(t.Context(), "UPDATE notes SET t = 'b' WHERE k = 1", func(types.Row) error { return nil })
		done <- err
	}()
	<-b.waits
	w.parts.DropTransactions(2, []txn.ID{b.id})
	var lost *txn.LostError
	if err := <-done; !errors.As(err, &lost) {
		t.Errorf("got %v", err)
	}
	must(t, a.commit())
}

func TestSavepoints(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 100)
	x := w.begin()
	x.must("UPDATE notes SET t = 'kept' WHERE k < 10")
	marks := map[txn.FragmentID]*pb.Mark{}
	for f, st := range x.buffers {
		marks[f] = st.Mark
	}
	x.must("UPDATE notes SET t = 'dropped' WHERE k < 20")
	for f := range x.buffers {
		a, err := x.send(t.Context(), f, &pb.Request{Op: &pb.Request_RollbackTo{
			RollbackTo: &pb.RollbackToRequest{Mark: marks[f]},
		}})
		must(t, err)
		x.buffers[f] = a.Buffer
	}
	if got := x.must(
		"SELECT t, count(*) FROM notes WHERE k < 20 AND t IN ('kept', 'dropped') GROUP BY t",
	); len(got) != 1 || got[0] != "kept|10" {
		t.Errorf("got %v", got)
	}
	y := w.begin()
	y.must("UPDATE notes SET t = 'y' WHERE k = 15") // its lock is free
	must(t, y.commit())
	must(t, x.commit())
}

// TestWritingWith: the parts of a statement see what its transaction had buffered before it.
func TestWritingWith(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 100)
	x := w.begin()
	x.must("UPDATE notes SET t = 'before' WHERE k < 10")
	got := x.must("WITH d AS (DELETE FROM notes WHERE k < 20 RETURNING k) SELECT (SELECT count(*) FROM d), " +
		"(SELECT count(*) FROM notes), (SELECT count(*) FROM notes WHERE t = 'before')")
	if len(got) != 1 || got[0] != "20|100|10" {
		t.Errorf("got %v", got)
	}
	if got := x.must("SELECT count(*) FROM notes"); got[0] != "80" {
		t.Errorf("got %v", got)
	}
	must(t, x.commit())
}

func TestPlans(t *testing.T) {
	w := open(t, func(c *Config) { c.MaxPlans = 2 })
	w.insert("notes", 0, 10)
	x := w.begin()
	f, task := x.scan("SELECT k FROM notes")
	stream, err := w.tasks.Run(t.Context())
	must(t, err)
	run := func(number uint64, sent bool) error {
		b, err := x.taskBegin(f, task)
		must(t, err)
		if b.PlanId = number; !sent {
			b.Plan = nil
		}
		_, err = x.run(stream, f, b, func(types.Row) error { return nil })
		return err
	}
	if err := run(1, false); !errors.Is(err, failure.ErrUnknownPlan) {
		t.Errorf("got %v", err)
	}
	must(t, run(1, true))
	must(t, run(1, false))
	must(t, run(2, true))
	must(t, run(1, false))
	must(t, run(3, true))
	if err := run(2, false); !errors.Is(err, failure.ErrUnknownPlan) {
		t.Errorf("the plan used longest ago: %v", err)
	}
	must(t, run(1, false))
	w.putTable("others") // other definitions have changed than those of the plan
	must(t, run(1, false))
	_, err = w.catalog.Update(t.Context(), func(v *catalog.View, ch *catalog.Change) error {
		tab := *v.TableByName(catalog.PostgresPublic, "notes")
		tab.Columns = append([]catalog.Column(nil), tab.Columns...)
		tab.Columns[1].Name = "renamed"
		return ch.PutTable(&tab)
	})
	must(t, err)
	var replan *failure.Replan
	if err := run(1, false); !errors.As(err, &replan) || replan.Version != w.catalog.View().Version() {
		t.Errorf("got %v", err)
	}
}

func TestLimits(t *testing.T) {
	w := open(t, func(c *Config) { c.MaxStreams = 2 })
	w.insert("notes", 0, 10)
	var streams []pb.Tasks_RunClient
	for range 2 {
		s, err := w.tasks.Run(t.Context())
		must(t, err)
		streams = append(streams, s)
	}
	eventually.Holds(t, "both are there", func() bool { return w.server.gateway(2).streams.Load() == 2 })
	third, err := w.tasks.Run(t.Context())
	must(t, err)
	if _, err := third.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v", err)
	}
	x := w.begin()
	f, task := x.scan("SELECT k, t FROM notes ORDER BY t")
	b, err := x.taskBegin(f, task)
	must(t, err)
	b.Memory = 100
	if _, err = x.run(streams[0], f, b, func(types.Row) error { return nil }); !pgerr.Is(err, pgerr.OutOfMemory) {
		t.Errorf("got %v", err)
	}
	b.Memory, b.Header.Now = 0, uint64(txn.FromTime(time.Now().Add(time.Hour)))
	var ahead *kv.ClockAhead
	if _, err = x.run(streams[0], f, b, func(types.Row) error { return nil }); !errors.As(err, &ahead) {
		t.Errorf("got %v", err)
	}
	b.Header = x.header(9999)
	var leader *kv.NotLeader
	if _, err = x.run(streams[0], f, b, func(types.Row) error { return nil }); !errors.As(err, &leader) {
		t.Errorf("got %v", err)
	}
	for name, parts := range map[string][]*pb.TaskPart{
		"nothing":         {{}},
		"more of nothing": {{Kind: &pb.TaskPart_More{More: &pb.TaskMore{}}}},
		"go of nothing":   {{Kind: &pb.TaskPart_Go{Go: &pb.TaskGo{}}}},
		"damaged writes":  {{Kind: &pb.TaskPart_Begin{Begin: &pb.TaskBegin{More: &pb.TaskMore{Writes: []byte{77}}}}}},
	} {
		s := streams[1]
		for _, p := range parts {
			must(t, s.Send(p))
		}
		if _, err := s.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
		eventually.Holds(t, "the stream has ended", func() bool { return w.server.gateway(2).streams.Load() == 1 })
		streams[1], err = w.tasks.Run(t.Context())
		must(t, err)
		eventually.Holds(t, "a new one is there", func() bool { return w.server.gateway(2).streams.Load() == 2 })
	}
}

// TestTimeLeft: a task ends by itself a while after its time, even if its gateway sends nothing.
func TestTimeLeft(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 10)
	a, b := w.begin(), w.begin()
	a.must("UPDATE notes SET t = 'a' WHERE k = 1")
	b.left = time.Microsecond
	if _, _, err := b.exec("UPDATE notes SET t = 'b' WHERE k = 1"); !pgerr.Is(err, pgerr.QueryCanceled) ||
		!strings.Contains(err.Error(), "statement timeout") {
		t.Errorf("got %v", err)
	}
}

// TestNested: the tasks of a serializable transaction all change its write buffer, and run in
// parallel if one waits for another's rows.
func TestNested(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 3000)
	x := w.begin()
	x.isolation = txn.Serializable
	outer := 0
	_, err := x.each(t.Context(), "SELECT k, repeat(t, 100) FROM notes", func(types.Row) error {
		if outer++; outer%500 == 0 {
			x.must("SELECT count(*) FROM notes WHERE k < 100")
		}
		return nil
	})
	if err != nil || outer != 3000 {
		t.Fatalf("%d rows, %v", outer, err)
	}
	if st := x.buffers[1]; !st.HasReads || st.Count == 0 {
		t.Errorf("write buffer %v", st)
	}
	y := w.begin()
	y.must("UPDATE notes SET t = 'y' WHERE k = 50")
	must(t, y.commit())
	x.must("INSERT INTO notes VALUES (9999, 'x')")
	if err := x.commit(); !pgerr.Is(err, pgerr.SerializationFailure) {
		t.Errorf("got %v", err)
	}
}

// TestTimestampOfTheLeader: a task that names no timestamp gets one at which everything
// acknowledged is visible, and which is not below its floor.
func TestTimestampOfTheLeader(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 10)
	for _, ahead := range []time.Duration{0, time.Second} {
		x := w.begin()
		f, task := x.scan("SELECT t FROM notes WHERE k = 7")
		task.T, task.Floor = 0, w.clock.Now().Add(ahead)
		var told txn.Timestamp
		rows := 0
		if _, err := (distant{x, f}).Run(t.Context(), task, func(types.Row) error {
			rows++
			return nil
		}); err != nil || rows > 1 {
			t.Fatalf("%d rows, %v", rows, err)
		}
		if told = txn.Timestamp(x.starts[0].T); told < task.Floor {
			t.Errorf("reads at %v, below %v", told, task.Floor)
		}
	}
	x := w.begin()
	f, task := x.scan("SELECT t FROM notes")
	task.T = 0
	w.insert("notes", 10, 30)
	now, rows := 0, 0
	if _, err := (distant{x, f}).Run(t.Context(), task, func(types.Row) error { rows++; return nil }); err != nil {
		t.Fatal(err)
	}
	task.T = x.w.clock.Now()
	if _, err := (distant{w.begin(), f}).Run(t.Context(), task, func(types.Row) error {
		now++
		return nil
	}); err != nil || rows != now || rows == 0 {
		t.Errorf("%d rows where there are %d, %v", rows, now, err)
	}
}
