package taskserver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/internal/testlog"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/distexec"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/exec/wire"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/plan"
	planwire "github.com/sherddb/sherd/sql/plan/wire"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a node that leads two fragments, and the transport of another node, from which the test
// sends requests. They share a catalog.
type world struct {
	t       testing.TB
	catalog *catalog.Catalog
	host    *store.Store
	server  *Server
	parts   *fragment.Server
	client  pb.FragmentsClient
	tasks   pb.TasksClient
	nodes   *testcluster.Cluster
	clock   *txn.Clock // of the gateway

	// Called with each part that the server is about to take from a stream of tasks; nil: not
	// called.
	heard atomic.Pointer[func(*pb.TaskPart)]
	said  atomic.Pointer[func(*pb.TaskAnswer)] // the same for each answer that it sends
}

// incarnation is the incarnation of the gateway's process.
const incarnation = 42

func open(t testing.TB, configure func(*Config)) *world {
	t.Helper()
	dir := t.TempDir()
	logger := testlog.New(t)
	c, err := catalog.Open(catalog.Options{Dir: filepath.Join(dir, "catalog"), Logger: logger})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	must(t, c.WaitReady(t.Context()))
	_, err = c.Bootstrap(t.Context(), catalog.BootstrapOptions{
		ClusterID: testcluster.ID, Fragments: 2, Node: catalog.Node{ID: 1, Name: "n1", Block: "A"},
	})
	must(t, err)
	w := &world{t: t, catalog: c, clock: txn.NewClock(nil, 0)}
	w.putTable("notes")
	clock := txn.NewClock(nil, 0)
	w.host, err = store.Open(t.Context(), store.Config{
		Dir: filepath.Join(dir, "fragments"), LogDir: filepath.Join(dir, "log"), Node: 1, Catalog: c, Clock: clock,
		Logger: logger, Schema: table.Schema(),
	})
	must(t, err)
	t.Cleanup(func() { must(t, w.host.Close()) })
	cfg := Config{
		Gateway: distexec.New(distexec.Config{
			Node: 1, Catalog: c, Client: w.host.Client, Here: w.host.Fragments,
		}),
		Fragments: w.host.Fragments, Deadlocks: w.host.Deadlocks, Catalog: c, Clock: clock, Logger: logger,
		TempDir: filepath.Join(dir, "temp"),
	}
	if configure != nil {
		configure(&cfg)
	}
	w.server, w.parts = New(cfg), w.host.Fragments
	w.nodes = testcluster.New(t, 2, nil)
	pb.RegisterTasksServer(w.nodes.Nodes[0].Members, overheard{w.server, w})
	pb.RegisterFragmentsServer(w.nodes.Nodes[0].Members, fragment.Service{Server: w.parts})
	for _, n := range w.nodes.Nodes {
		n.Serve()
	}
	link, err := w.nodes.Nodes[1].Port.Link(1, transport.TaskLink)
	must(t, err)
	w.client, w.tasks = pb.NewFragmentsClient(link), pb.NewTasksClient(link)
	return w
}

// putTable makes a table (k int4 PRIMARY KEY, t text).
func (w *world) putTable(name string) *catalog.Table {
	w.t.Helper()
	oid := func() catalog.OID {
		n, err := w.catalog.NewOID(w.t.Context())
		must(w.t, err)
		return n
	}
	index := oid()
	tab := &catalog.Table{
		OID: oid(), StorageID: oid(), Name: name, Kind: catalog.KindTable, Database: catalog.PostgresDB,
		Schema: catalog.PostgresPublic,
		Owner:  catalog.BootstrapRole, NextAttNum: 3,
		Columns: []catalog.Column{
			{AttNum: 1, Name: "k", Type: types.Int4, Typmod: -1, NotNull: true},
			{AttNum: 2, Name: "t", Type: types.Text, Typmod: -1},
		},
		Constraints: []catalog.Constraint{{
			OID: oid(), Name: name + "_pkey", Kind: catalog.PrimaryKey, Columns: []int16{1}, Valid: true, Index: index,
		}},
		Indexes: []catalog.Index{{
			OID: index, Name: name + "_pkey", StorageID: 1, Columns: []int16{1}, Unique: true, Primary: true,
		}},
	}
	_, err := w.catalog.Update(w.t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
		return ch.PutTable(tab)
	})
	must(w.t, err)
	return tab
}

func (w *world) header(f txn.FragmentID, id txn.ID, st *pb.WriteBuffer) *pb.Header {
	return &pb.Header{
		Fragment: f, Now: uint64(w.clock.Now()), CatalogVersion: w.catalog.View().Version(), Incarnation: incarnation,
		Transaction: id[:],
		Term:        st.GetTerm(), Birth: st.GetBirth(),
	}
}

// transaction is the gateway's side, with the minimum that the tests need.
type transaction struct {
	w         *world
	id        txn.ID
	isolation txn.Isolation
	snapshot  txn.Timestamp // 0: each statement takes one
	gateway   uint32        // session
	left      time.Duration // 0: no limit
	held      bool

	mu      sync.Mutex
	buffers map[txn.FragmentID]*pb.WriteBuffer // guarded by mu
	starts  []*pb.TaskStarted                  // of all tasks; guarded by mu
	waits   chan *pb.TaskWaiting               // nil: not asked for
}

func (w *world) begin() *transaction {
	return &transaction{w: w, id: txn.NewID(), buffers: map[txn.FragmentID]*pb.WriteBuffer{}}
}

func (x *transaction) buffer(f txn.FragmentID) *pb.WriteBuffer {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buffers[f]
}

func (x *transaction) header(f txn.FragmentID) *pb.Header {
	return x.w.header(f, x.id, x.buffer(f))
}

// send sends a request about the transaction's part in a fragment.
func (x *transaction) send(ctx context.Context, f txn.FragmentID, r *pb.Request) (*pb.Response, error) {
	return x.w.send(ctx, f, x.id, x.buffer(f), r)
}

// send sends a request about a transaction.
func (w *world) send(
	ctx context.Context, f txn.FragmentID, id txn.ID, st *pb.WriteBuffer, r *pb.Request,
) (*pb.Response, error) {
	r.Fragment, r.Transaction, r.Now, r.Incarnation = f, id[:], uint64(w.clock.Now()), incarnation
	r.Term, r.Birth = st.GetTerm(), st.GetBirth()
	a, err := w.client.Send(ctx, r)
	if err != nil {
		return nil, err
	}
	return a, failure.Decode(a.Failure, f)
}

// distant is a fragment that the other node leads.
type distant struct {
	x  *transaction
	id txn.FragmentID
}

var errEnough = errors.New("enough")

func (x *transaction) taskBegin(f txn.FragmentID, task *exec.Task) (*pb.TaskBegin, error) {
	p, err := planwire.Encode(task.Plan)
	if err != nil {
		return nil, err
	}
	b := &pb.TaskBegin{
		Header: x.header(f), T: uint64(task.T), Floor: uint64(task.Floor), Plan: p,
		Params: wire.AppendValues(nil, task.Params), Outers: wire.AppendValues(nil, task.Outers),
		Environment: wire.AppendEnv(nil, task.Env), Limits: wire.AppendLimits(nil, &task.Limits),
		Isolation:     uint32(x.isolation),
		ChangesBuffer: x.isolation == txn.Serializable || changes(task.Plan), Backend: x.gateway, Go: true,
		More: &pb.TaskMore{Found: task.Found, FoundBy: uint32(task.FoundBy)},
	}
	if x.waits != nil {
		b.LockWaitsMicros = 1000
	}
	if m := task.Seen; m != nil {
		b.Seen = &pb.Mark{Writes: uint64(m.Writes), Locks: uint64(m.Locks), Changes: uint64(m.Changes)}
	}
	b.Header.Epoch, b.TimeLeftMicros = task.Epoch, uint64(x.left.Microseconds())
	for _, iv := range task.Buckets.Intervals() {
		b.Buckets = append(b.Buckets, &pb.BucketRange{Lo: iv.Lo, Hi: iv.Hi})
	}
	for i := range task.Writes {
		b.More.Writes = wire.AppendWrite(b.More.Writes, &task.Writes[i])
	}
	return b, nil
}

func changes(n plan.Node) bool {
	switch n.(type) {
	case plan.Stage, plan.LockKeys, *plan.Fill, *plan.Modify, *plan.LockRows:
		return true
	}
	for _, c := range n.Children() {
		if changes(c) {
			return true
		}
	}
	return false
}

// Run implements exec.Fragment.
func (f distant) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	b, err := f.x.taskBegin(f.id, task)
	if err != nil {
		return exec.Result{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := f.x.w.tasks.Run(ctx)
	if err != nil {
		return exec.Result{}, err
	}
	return f.x.run(stream, f.id, b, emit)
}

// run runs a task on a stream.
func (x *transaction) run(
	stream pb.Tasks_RunClient, f txn.FragmentID, b *pb.TaskBegin, emit exec.Emit,
) (res exec.Result, err error) {
	if err := stream.Send(&pb.TaskPart{Kind: &pb.TaskPart_Begin{Begin: b}}); err != nil {
		return res, err
	}
	var r wire.RowReader
	var stopped error
	take := func(rows []byte) error {
		if len(rows) == 0 || stopped != nil {
			return nil
		}
		if err := r.Reset(rows); err != nil {
			return err
		}
		for r.Len() > 0 {
			row, err := r.Next()
			if err != nil {
				return err
			}
			if stopped = emit(row); stopped != nil {
				return stream.Send(&pb.TaskPart{Kind: &pb.TaskPart_Stop{Stop: &pb.TaskStop{}}})
			}
		}
		return nil
	}
	for {
		a, err := stream.Recv()
		if err != nil {
			return res, err
		}
		switch k := a.Kind.(type) {
		case *pb.TaskAnswer_Started:
			x.mu.Lock()
			x.starts = append(x.starts, k.Started)
			x.mu.Unlock()
		case *pb.TaskAnswer_Rows:
			if err := take(k.Rows.Rows); err != nil {
				return res, err
			}
		case *pb.TaskAnswer_Waiting:
			x.waits <- k.Waiting
		case *pb.TaskAnswer_End:
			if k.End.Started != nil {
				x.mu.Lock()
				x.starts = append(x.starts, k.End.Started)
				x.mu.Unlock()
			}
			if err := take(k.End.Rows); err != nil {
				return res, err
			}
			if k.End.Buffer != nil {
				x.mu.Lock()
				x.buffers[f] = k.End.Buffer
				x.mu.Unlock()
			}
			if err := failure.Decode(k.End.Failure, f); err != nil {
				return res, err
			}
			res, err = wire.DecodeResult(k.End.Result)
			return res, errors.Join(err, stopped)
		}
	}
}

func (x *transaction) takeSnapshot(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error) {
	if x.snapshot != 0 {
		return x.snapshot, nil
	}
	m := &pb.SnapshotRequest{Now: uint64(x.w.clock.Now())}
	for _, s := range shares {
		m.Of = append(m.Of, &pb.SnapshotOf{Fragment: s.Fragment})
	}
	a, err := x.w.client.Snapshot(ctx, m)
	if err != nil {
		return 0, err
	}
	for _, f := range a.Failures {
		return 0, failure.Decode(f.Failure, f.Fragment)
	}
	if x.isolation != txn.ReadCommitted {
		x.snapshot = txn.Timestamp(a.T)
	}
	return txn.Timestamp(a.T), nil
}

// program compiles a statement.
func (w *world) program(text string) *exec.Program {
	w.t.Helper()
	_, p := w.plan(text)
	program, err := exec.Compile(p)
	must(w.t, err)
	return program
}

func (w *world) plan(text string) (*catalog.View, *plan.Plan) {
	w.t.Helper()
	stmts, err := parse.Parse(text)
	must(w.t, err)
	c := &analyze.Context{
		Catalog: w.catalog.View(), Database: catalog.PostgresDB, SearchPath: []string{"public"},
		Tables: analyze.NewTableCache(), Source: text,
	}
	q, _, err := analyze.Statement(c, stmts[0].Node, nil)
	must(w.t, err)
	p, err := plan.Build(q, plan.Env{Fold: expr.EvalConst, OrderedIndexes: true})
	must(w.t, err)
	return c.Catalog, p
}

// each runs a statement and hands on its rows.
func (x *transaction) each(ctx context.Context, text string, emit exec.Emit) (int64, error) {
	x.w.t.Helper()
	d := x.w.catalog.View().Database(catalog.PostgresDB)
	c := &exec.Ctx{
		Execution: operator.Execution{Ctx: expr.Ctx{Context: ctx, Env: &types.Env{}}, Mem: memory.New(64 << 20)},
		Limits:    exec.Limits{Isolation: x.isolation},
	}
	c.Gateway = &exec.Gateway{
		Txn: x.id, Map: d.Map,
		Name:     func(id shardmap.FragmentID) string { return fmt.Sprintf("f$%d", id) },
		Fragment: func(id shardmap.FragmentID) (exec.Fragment, error) { return distant{x, id}, nil },
		Snapshot: x.takeSnapshot,
	}
	c.Before = txn.Marks{}
	x.mu.Lock()
	for f, st := range x.buffers {
		if m := st.GetMark(); m != nil {
			c.Before[f] = txn.Mark{Writes: int(m.Writes), Locks: int(m.Locks), Changes: int(m.Changes)}
		}
	}
	x.mu.Unlock()
	err := x.w.program(text).Run(c, emit)
	return c.Affected, err
}

// exec runs a statement and returns its rows as text.
func (x *transaction) exec(text string) (rows []string, affected int64, err error) {
	x.w.t.Helper()
	ctx, cancel := context.WithTimeout(x.w.t.Context(), 60*time.Second)
	defer cancel()
	affected, err = x.each(ctx, text, func(row types.Row) error {
		out := ""
		for i, d := range row {
			if i > 0 {
				out += "|"
			}
			switch {
			case d.IsNull():
				out += "null"
			case d.K == types.KindInt:
				out += fmt.Sprint(d.N)
			default:
				out += d.S
			}
		}
		rows = append(rows, out)
		return nil
	})
	return rows, affected, err
}

func (x *transaction) must(text string) []string {
	x.w.t.Helper()
	rows, _, err := x.exec(text)
	if err != nil {
		x.w.t.Fatalf("%s: %v", text, err)
	}
	return rows
}

// commit commits a transaction that wrote to any number of fragments, as a coordinator does.
func (x *transaction) commit() error {
	var parts []txn.Participant
	for f := range x.buffers {
		parts = append(parts, participant{x, f})
	}
	c := txn.Coordinator{Clock: x.w.clock}
	_, err := c.Commit(x.w.t.Context(), x.id, 0, parts)
	return err
}

// insert puts rows k = from … to-1 into a table.
func (w *world) insert(table string, from, to int) {
	w.t.Helper()
	x := w.begin()
	x.must(fmt.Sprintf("INSERT INTO %s SELECT g, 'row ' || g FROM generate_series(%d, %d) g", table, from, to-1))
	must(w.t, x.commit())
	w.idle()
}

// idle waits until no transaction has a write buffer: after an implicit commit, the client has
// its answer before the fragments do.
func (w *world) idle() {
	w.t.Helper()
	eventually.Holds(w.t, "all transactions are resolved", func() bool {
		return w.parts.Leased() == 0
	})
}
