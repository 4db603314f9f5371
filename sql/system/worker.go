package system

import (
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/counters"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/integrity"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/usertype"
	"github.com/sherddb/sherd/txn/locks"
)

// Node is what the workers of a node have in common.
type Node struct {
	Services *tx.Services
	Locks    *locks.Manager
	Programs *stmt.Cache
	Counters *monitor.Counters // of transactions
	Started  time.Time
	Address  string            // for clients
	Given    map[string]string // parameters that follow from how the node was started
	TempDir  string
	// QueryMemory replaces what the settings let a query retain, in bytes; 0: it does not.
	QueryMemory int64
	// Gateway returns what runs the functions of schema sherd for a worker; nil: nothing does.
	Gateway func(*Worker) builtin.Gateway
}

// Worker runs statements as the system in one database. It is not safe for concurrent use.
type Worker struct {
	node     *Node
	env      tx.Environment
	settings *settings.Values
	derived  settings.Derived
	values   *types.Env    // of the transaction, or of the last one
	view     *catalog.View // whose types values has
	compiler stmt.Compiler
	counters *monitor.DatabaseCounters
	text     string // of the running statement, or of the last one
	arrived  time.Time
}

// user is the role as which the system runs statements.
const user = "postgres"

// Application is the value of application_name for statements of the system.
const Application = "sherd"

// NewWorker returns a worker for a database. With byID its statements find documents by present ids
// only, and nothing follows from the rows that they write.
func (n *Node) NewWorker(database catalog.OID, byID bool) *Worker {
	w := &Worker{
		node: n, counters: n.Counters.Of(database),
		settings: settings.NewValues(settings.Sources{User: user, CommandLine: n.Given}),
	}
	_ = w.settings.Start(settings.Startup{ // it cannot fail: the parameter exists
		Role: user, Superuser: true, Packet: map[string]string{"application_name": Application},
	})
	if w.derived = w.settings.Derive(); n.QueryMemory > 0 {
		w.derived.Memory.Query = n.QueryMemory
	}
	w.derived.Base.RegIn = func(oid types.OID, text string) (uint32, error) { return w.Names().RegIn(oid, text) }
	w.derived.Base.RegOut = func(dst []byte, oid types.OID, value uint32) []byte {
		return w.Names().RegOut(dst, oid, value)
	}
	e := &w.env
	e.Services, e.Database, e.Locks = n.Services, database, n.Locks.NewSession(0)
	e.Setting, e.Values = w.settings.Get, w.Values
	w.compiler = stmt.Compiler{
		Database: database, Role: catalog.BootstrapRole, Path: w.settings.SearchPath(), Values: w.Values,
		Ambient: w.derived.Analysis, ByID: byID, Cache: n.Programs, Storages: &n.Services.Storages,
		Hooks: stmt.Hooks{Integrity: integrity.Attach, Split: counters.Attach},
	}
	return w
}

// Values returns the environment by which values are read and printed.
func (w *Worker) Values() *types.Env {
	if w.values == nil {
		w.setNow(time.Now())
	}
	if view := w.env.Catalog.View(); view != w.view {
		e := *w.values
		w.values, w.view = &e, view
		w.attachTypes()
	}
	return w.values
}

// attachTypes has the values of types of users read and printed by the newest definitions.
func (w *Worker) attachTypes() {
	source := &usertype.Source{
		View: w.view, Database: w.env.Database, Path: w.compiler.Path, Newest: usertype.NewestOf(w.env.Catalog),
	}
	source.Attach(w.values)
}

// setNow makes a time that of now().
func (w *Worker) setNow(now time.Time) {
	e := w.derived.Base
	e.Now = types.TimestampOf(now)
	w.values, w.view = &e, nil
}

// Number returns the value of a parameter of type integer.
func (w *Worker) Number(name string) int { return w.settings.Number(name) }

// Executor returns an executor with the worker's values.
func (w *Worker) Executor() stmt.Executor {
	return stmt.Executor{
		Compiler: &w.compiler, Values: w.Values(), Functions: newFunctions(w), Memory: w.derived.Memory,
		Limits:  exec.Limits{ExplicitBuckets: w.settings.On("sherd.explicit_buckets")},
		TempDir: w.node.TempDir,
	}
}

// Statement returns the text of the running statement, or of the last one.
func (w *Worker) Statement() string { return w.text }

// Names resolves names in the definitions that are in force.
func (w *Worker) Names() *sysview.Names {
	view := w.env.Catalog.View()
	d := view.Database(w.env.Database)
	if d == nil {
		d = &catalog.Database{OID: w.env.Database} // dropped meanwhile
	}
	return &sysview.Names{View: view, Database: d, Path: w.compiler.Path}
}
