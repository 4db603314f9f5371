package testsql

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/sql/admin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/distexec"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/system"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// Node is the SQL of one node.
type Node struct {
	t        testing.TB
	Catalog  *catalog.Catalog
	Gateway  *distexec.Gateway
	Services *tx.Services
	Locks    *locks.Manager
	Counters *monitor.DatabaseCounters // of database postgres
	Workers  *system.Node
	// Forwarded counts the former ids that statements have named.
	Forwarded monitor.Forwardings
	Worker    *system.Worker // of Define, Run and Rows
}

// Open opens a node whose database has so many fragments. The test closes it.
func Open(t *testing.T, fragments int) *Node {
	t.Helper()
	dir, clock := t.TempDir(), txn.NewClock(nil, 0)
	c := teststore.Catalog(t, dir, fragments)
	below := teststore.Open(t, dir, c, clock)
	t.Cleanup(func() {
		if err := below.Close(); err != nil {
			t.Error(err)
		}
	})
	gateway := distexec.New(distexec.Config{Node: 1, Catalog: c, Client: below.Client, Here: below.Fragments})
	log := slog.New(slog.DiscardHandler)
	n := &Node{
		t: t, Catalog: c, Gateway: gateway, Locks: locks.NewManager(below.Deadlocks, log),
		Services: &tx.Services{
			Catalog: c, Clock: clock, Logger: log, Join: func() exec.Transaction { return gateway.Begin() },
		},
	}
	counters := &monitor.Counters{}
	n.Counters = counters.Of(catalog.PostgresDB)
	n.Workers = &system.Node{
		Services: n.Services, Locks: n.Locks, Programs: stmt.NewCache(), Counters: counters,
		Started: time.Now(), Address: "127.0.0.1:5432", TempDir: t.TempDir(),
		Gateway: (&admin.Cluster{Catalog: c, Forwarded: n.Forwarded.Add}).Gateway,
	}
	n.Worker = n.Workers.NewWorker(catalog.PostgresDB, false)
	return n
}

// Define runs statements that change definitions, each in a transaction of its own.
func (n *Node) Define(text string) {
	n.t.Helper()
	list, err := parse.Parse(text)
	if err != nil {
		n.t.Fatal(err)
	}
	for _, st := range list {
		if err := n.define(st); err != nil {
			n.t.Fatalf("%s: %v", st.Text(), err)
		}
	}
}

func (n *Node) define(st parse.Statement) error {
	ctx := n.t.Context()
	return n.Worker.Do(ctx, func(t *system.Transaction) error {
		e := &ddl.Env{
			Catalog: n.Catalog, Database: catalog.PostgresDB, Role: catalog.BootstrapRole,
			Namespaces: ddl.Namespaces{SearchPath: []string{"public"}}, Env: n.Worker.Values(), View: t.View,
			Notice: func(*pgerr.Error) error { return nil },
		}
		rows := &schemachange.Rows{Tx: &schemachange.Transaction{Tx: t.Tx}, Executor: t.Executor}
		rows.Attach(e)
		_, err := ddl.Run(ctx, e, st)
		return err
	})
}

// Table returns the definition of a table of schema public.
func (n *Node) Table(name string) *catalog.Table {
	n.t.Helper()
	v := n.Catalog.View()
	t, _ := v.Relation(v.SchemaByName(catalog.PostgresDB, "public").OID, name)
	if t == nil {
		n.t.Fatalf("there is no table %s", name)
	}
	return t
}

// Run runs statements in one transaction, as the system.
func (n *Node) Run(texts ...string) error {
	ctx := n.t.Context()
	return n.Worker.Do(ctx, func(t *system.Transaction) error { return RunIn(ctx, t, texts...) })
}

// RunIn runs statements in a transaction.
func RunIn(ctx context.Context, t *system.Transaction, texts ...string) error {
	for _, text := range texts {
		if err := t.Run(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// Must is Run of statements that succeed.
func (n *Node) Must(texts ...string) {
	n.t.Helper()
	if err := n.Run(texts...); err != nil {
		n.t.Fatalf("%s: %v", strings.Join(texts, "; "), err)
	}
}

// Rows returns the rows of a SELECT whose columns are of type text, each a line: a|b.
func (n *Node) Rows(text string) string {
	n.t.Helper()
	ctx, out := n.t.Context(), ""
	err := n.Worker.Do(ctx, func(t *system.Transaction) (err error) {
		out, err = RowsIn(ctx, t, text)
		return err
	})
	if err != nil {
		n.t.Fatalf("%s: %v", text, err)
	}
	return out
}

// RowsIn is Rows in a transaction.
func RowsIn(ctx context.Context, t *system.Transaction, text string) (string, error) {
	rows, err := t.Rows(ctx, text)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, row := range rows {
		var fields []string
		for _, d := range row {
			if d.IsNull() {
				fields = append(fields, "null")
				continue
			}
			fields = append(fields, d.S)
		}
		lines = append(lines, strings.Join(fields, "|"))
	}
	return strings.Join(lines, "\n"), nil
}

// WantCode fails the test unless err has a SQLSTATE; "" is no error.
func WantCode(t testing.TB, err error, code string) {
	t.Helper()
	if got := pgerr.Code(err); got != code {
		t.Errorf("got SQLSTATE %q (%v), want %q", got, err, code)
	}
}
