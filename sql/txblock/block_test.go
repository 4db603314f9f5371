package txblock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/sequence"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// client is a session that has only a transaction block. log has what the block told the client, the
// fragments and the portals.
type client struct {
	t     *testing.T
	block *Block
	fails error // of the commit
	log   []string
}

// fragments stands for the part of a transaction in the fragments. Methods that no test needs are
// nil.
type fragments struct {
	exec.Transaction
	c  *client
	id txn.ID
}

func (f *fragments) ID() txn.ID              { return f.id }
func (f *fragments) Configure(o txn.Options) {}
func (f *fragments) HasWrites() bool         { return false }
func (f *fragments) Mark() txn.Marks         { return nil }
func (f *fragments) RollbackTo(txn.Marks)    { f.c.say("undo") }
func (f *fragments) Rollback()               { f.c.say("roll back") }

func (f *fragments) Commit(_ context.Context, floor txn.Timestamp) (txn.Timestamp, error) {
	f.c.say("commit")
	return floor + 1, f.c.fails
}

func (f *fragments) PrepareTransaction(_ context.Context, r txn.PreparationRequest) error {
	f.c.say("prepare " + r.GID)
	return f.c.fails
}

func (c *client) say(text string) { c.log = append(c.log, text) }

// writer is the client's side of the statements.
type writer struct {
	stmt.ResultWriter
	c *client
}

func (w writer) Complete(tag string) error      { w.c.say(tag); return nil }
func (w writer) Notice(n *pgerr.Error) error    { w.c.say("notice " + string(n.Code)); return nil }
func (w writer) Parameter(name, v string) error { w.c.say(name + " = " + v); return nil }

func newClient(t *testing.T) *client {
	t.Helper()
	definitions, err := catalog.Open(catalog.Options{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, definitions.Close()) })
	must(t, definitions.WaitReady(t.Context()))
	_, err = definitions.Bootstrap(t.Context(), catalog.BootstrapOptions{
		ClusterID: "test", Fragments: 2, Node: catalog.Node{ID: 1, Name: "n", Block: "A"},
	})
	must(t, err)
	c := &client{t: t}
	services := &tx.Services{Catalog: definitions, Clock: txn.NewClock(nil, 0)}
	services.Join = func() exec.Transaction { return &fragments{c: c, id: txn.NewID()} }
	manager := locks.NewManager(txn.NewDetector(), nil)
	values := settings.NewValues(settings.Sources{
		State:   func(key string) (string, bool) { return c.block.Characteristic(key) },
		Cluster: func(string) (string, bool) { return "", false },
	})
	must(t, values.Start(settings.Startup{Role: "postgres", Superuser: true}))
	values.Report()
	c.block = New(Environment{
		Environment: &tx.Environment{
			Services: services, Database: catalog.PostgresDB, PID: 1, Locks: manager.NewSession(1), Setting: values.Get,
			Values: func() *types.Env { return &types.Env{Zone: time.UTC} },
		},
		Role: func() catalog.OID { return catalog.BootstrapRole }, Settings: values,
		Listener:  notify.NewHub(nil).Session(catalog.PostgresDB, 1, func() {}, func(*pgerr.Error) {}),
		Sequences: sequence.NewAllocator(services), TransactionIDs: &monitor.TransactionIDs{},
		Counters: &monitor.DatabaseCounters{}, HearOthers: func(context.Context) error { return nil },
		Prepared: tx.NewPreparedTransactions(services, manager, tx.PreparedFragments{}),
		Portals: Portals{
			Close: func() { c.say("close portals") }, Keep: func() error { return nil },
			AnyToKeep: func() bool { return false },
			Undo:      func(nest int, _ txn.Marks) { c.say(fmt.Sprintf("undo portals %d", nest)) },
			Release:   func(nest int) { c.say(fmt.Sprintf("release portals %d", nest)) },
		},
		Executor: func(context.Context) stmt.Executor { return stmt.Executor{} },
		Arrival:  time.Now, Begun: func() { c.say("begin") },
	})
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a statement that controls transactions. "fail" stands for a statement that fails, "read"
// for one that opens an implicit transaction and takes the snapshot.
func (c *client) run(text string) (err error) {
	c.t.Helper()
	switch text {
	case "fail":
		c.block.Fail()
		return nil
	case "read":
		if c.block.Tx == nil {
			c.block.Begin().ImplicitBlock = true
		}
		c.block.Tx.Used = true
		return nil
	}
	tree, err := pg_query.Parse(text)
	must(c.t, err)
	w := writer{c: c}
	switch n := tree.Stmts[0].Stmt.Node.(type) {
	case *pg_query.Node_TransactionStmt:
		err = c.block.Control(c.t.Context(), n.TransactionStmt, w)
	case *pg_query.Node_NotifyStmt:
		err = c.block.Notify(n.NotifyStmt, w, false)
	case *pg_query.Node_ListenStmt:
		err = c.block.Listen(c.t.Context(), n.ListenStmt.Conditionname, true, w, false)
	case *pg_query.Node_VariableSetStmt:
		if n.VariableSetStmt.Kind == pg_query.VariableSetKind_VAR_SET_MULTI {
			err = c.block.SetTransaction(c.t.Context(), n.VariableSetStmt, w)
			break
		}
		var value string
		if value, err = settings.Text(n.VariableSetStmt.Name, n.VariableSetStmt.Args); err == nil {
			err = c.block.Assign(n.VariableSetStmt.Name, &value, n.VariableSetStmt.IsLocal)
		}
	}
	if err != nil {
		c.say("error " + pgerr.Code(err))
	}
	return err
}

// TestBlock runs statements, and compares what the block says to the client, the fragments and the
// portals, and the state after the last statement.
func TestBlock(t *testing.T) {
	for _, test := range []struct {
		name       string
		statements string
		want       string
		status     Status
	}{
		{"commit", "begin; commit", "begin, BEGIN, close portals, commit, COMMIT", Idle},
		{"no transaction", "commit; rollback", "notice 25P01, COMMIT, notice 25P01, ROLLBACK", Idle},
		{"an implicit transaction becomes explicit", "read; begin", "begin, BEGIN", InTransaction},
		{"COMMIT ends an implicit transaction", "read; commit",
			"begin, notice 25P01, close portals, commit, COMMIT", Idle},
		{"BEGIN twice", "begin; begin", "begin, BEGIN, notice 25001, BEGIN", InTransaction},
		{"an error ends an implicit transaction", "read; fail", "begin, close portals, roll back", Idle},
		{"an error ends an explicit transaction", "begin; fail", "begin, BEGIN, close portals, roll back", Failed},
		{"COMMIT of a failed transaction", "begin; fail; commit",
			"begin, BEGIN, close portals, roll back, close portals, ROLLBACK", Idle},
		{"an error undoes to the savepoint", "begin; savepoint a; fail",
			"begin, BEGIN, SAVEPOINT, undo portals 2, undo", Failed},
		{"ROLLBACK TO ends the failed state", "begin; savepoint a; savepoint b; fail; rollback to a",
			"begin, BEGIN, SAVEPOINT, SAVEPOINT, undo portals 3, undo, undo portals 2, undo, ROLLBACK", InTransaction},
		{"RELEASE", "begin; savepoint a; savepoint b; release a; rollback to b",
			"begin, BEGIN, SAVEPOINT, SAVEPOINT, release portals 2, RELEASE, error 3B001", InTransaction},
		{"SAVEPOINT outside", "savepoint a", "error 25P01", Idle},
		{"CHAIN", "begin isolation level serializable; commit and chain",
			"begin, BEGIN, close portals, commit, begin, COMMIT", InTransaction},
		{"CHAIN outside", "rollback and chain", "error 25P01", Idle},
		{"modes before the first query only", "begin; read; set transaction isolation level serializable",
			"begin, BEGIN, error 25001", InTransaction},
		{"SET TRANSACTION outside", "set transaction read only", "notice 25P01", Idle},
		{"a setting comes back", "begin; set timezone = 'Asia/Tokyo'; rollback",
			"begin, BEGIN, close portals, roll back, ROLLBACK", Idle},
		{"PREPARE TRANSACTION", "begin; prepare transaction 'g'",
			"begin, BEGIN, close portals, prepare g, PREPARE TRANSACTION", Idle},
		{"COMMIT PREPARED inside", "begin; commit prepared 'g'", "begin, BEGIN, error 25001", InTransaction},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClient(t)
			for _, text := range strings.Split(test.statements, "; ") {
				_ = c.run(text)
			}
			if got := strings.Join(c.log, ", "); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.statements, got, test.want)
			}
			if got := c.block.Status(); got != test.status {
				t.Errorf("the status is %c, want %c", got, test.status)
			}
			c.block.Close()
		})
	}
}

// TestFloorRises checks that a session never reads or commits below what it has seen.
func TestFloorRises(t *testing.T) {
	c := newClient(t)
	at := func() string { v, _ := c.block.Characteristic("sherd.session_ts"); return v }
	must(t, c.run("begin"))
	must(t, c.run("commit"))
	first := at()
	if first == "0" {
		t.Error("a commit did not raise the floor")
	}
	must(t, c.run("set sherd.session_ts = '5'"))
	must(t, c.run("set sherd.session_ts = '2'"))
	if got := at(); got != "5" {
		t.Errorf("the floor is %s, want 5", got)
	}
	if err := c.run("set sherd.session_ts = '18446744073709551615'"); pgerr.Code(err) != "22023" {
		t.Errorf("a floor in the future: %v", err)
	}
}

// TestFailedCommit checks that a transaction whose commit fails is over, and that its settings and
// notifications do not take effect.
func TestFailedCommit(t *testing.T) {
	c := newClient(t)
	c.fails = pgerr.New(pgerr.SerializationFailure, "a conflict")
	must(t, c.run("begin"))
	must(t, c.run("listen news"))
	if err := c.run("commit"); pgerr.Code(err) != "40001" {
		t.Errorf("COMMIT: %v", err)
	}
	if c.block.Tx != nil || len(c.block.env.Listener.Channels()) != 0 {
		t.Error("something is left of a transaction whose commit failed")
	}
	if n := c.block.env.Counters.Rollbacks.Load(); n != 1 {
		t.Errorf("%d rollbacks are counted, want 1", n)
	}
	c.fails = nil
	must(t, c.run("begin"))
	must(t, c.run("listen news"))
	must(t, c.run("commit"))
	if got := c.block.env.Listener.Channels(); !slices.Equal(got, []string{"news"}) {
		t.Errorf("the session listens to %q", got)
	}
}

// TestSavepointKeepsWaiting checks that ROLLBACK TO restores what waits for the commit.
func TestSavepointKeepsWaiting(t *testing.T) {
	c := newClient(t)
	must(t, c.run("begin"))
	must(t, c.run("notify news, '1'"))
	must(t, c.run("savepoint a"))
	must(t, c.run("notify news, '2'"))
	must(t, c.run("listen news"))
	must(t, c.run("rollback to a"))
	must(t, c.run("commit"))
	if got := c.block.env.Listener.Channels(); len(got) != 0 {
		t.Errorf("the session listens to %q", got)
	}
}
