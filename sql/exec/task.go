package exec

import (
	"context"
	"time"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Fragment is one fragment of the database, on this node or another.
type Fragment interface {
	// Run executes a task on the node that leads the fragment. Rows go to emit in order, valid
	// during the call.
	Run(ctx context.Context, task *Task, emit Emit) (Result, error)
}

// Task is a request of a gateway to one fragment: a subtree of the plan over some of its buckets,
// at a timestamp, within a transaction.
type Task struct {
	Txn     txn.ID
	T       txn.Timestamp // 0: the fragment chooses, see Start
	Floor   txn.Timestamp // if the fragment chooses T: at least this
	Epoch   uint64        // of the map that the buckets come from
	Buckets shardmap.BucketSet
	Plan    plan.Node
	Writes  []Write  // for a plan.Stage: the writes
	Prefix  [][]byte // of a lookup in a global index: prefixes of the entries' keys
	Found   [][]byte // keys of rows that lookup FoundBy has found
	FoundBy int
	Params  types.Row
	Outers  types.Row
	// Of a statement with several writes: its reads see what its own transaction had written
	// before; nil: everything.
	Seen    *txn.Mark
	Env     *types.Env
	Session builtin.SessionInfo
	Mem     *memory.Account
	Limits  Limits

	program  *Program       // compiled Plan, only within one process
	reads    *snapshot      // of the statement, if the fragment chooses T
	work     *operator.Work // gets what the steps do, only within one process
	rerouted int            // how often it was split by a newer map
	pause    func()         // called after some rows, only within one process; nil: it is not
}

// Start sets the timestamp that a fragment has chosen, before its first row. It may be called again
// if the task runs again.
func (t *Task) Start(T txn.Timestamp) {
	if t.reads != nil {
		t.reads.start(T)
	}
}

// WithPlan returns the task with another form of its plan, which is compiled where it runs, because
// it comes from another node.
func (t *Task) WithPlan(n plan.Node) *Task {
	c := *t
	c.Plan, c.program = n, nil
	return &c
}

// Result is the result of a task.
type Result struct {
	Affected int64 // rows written
	Keys     [][]keychange.Change
	Rows     int64 // rows read
	Elapsed  time.Duration
	Node     string // filled in by the cluster
}

// local is the fragment's side of a Ctx.
type local struct {
	task *Task
	tx   Tx
	view View
	read int64
}

// open returns the task's view, which all scans of a task share.
func (l *local) open(c *Ctx) (View, error) {
	if l.view != nil {
		return l.view, nil
	}
	v, err := l.tx.View(c.ctx(), l.task.T)
	if err != nil {
		return nil, err
	}
	if l.task.Seen != nil {
		v.Seen(*l.task.Seen)
	}
	l.view = v
	return v, nil
}

// RunTask executes a task in a transaction's part of a fragment. The cluster calls it on the node
// that leads the fragment.
func RunTask(ctx context.Context, tx Tx, task *Task, emit Emit) (Result, error) {
	start := time.Now()
	p := task.program
	if p == nil {
		var err error
		if p, err = compileNode(task.Plan, len(task.Outers)); err != nil {
			return Result{}, err
		}
	}
	in, err := p.acquire()
	if err != nil {
		return Result{}, err
	}
	c, l := &in.ctx, &in.local
	*l = local{task: task, tx: tx}
	for _, x := range in.globals {
		tx.Global(x.Table.Def.StorageID, x.Def.StorageID)
	}
	outers := append(c.Outers[:0], task.Outers...)
	in.runs++
	*c = Ctx{
		Execution: operator.Execution{
			Ctx: expr.Ctx{
				Context: ctx, Params: task.Params, Env: task.Env, Session: task.Session, Run: in.runs, Outers: outers,
			},
			Mem: task.Mem, Work: task.work, Pause: task.pause,
		},
		Limits: task.Limits, local: l,
	}
	c.link()
	err = in.op.Run(&c.Execution, emit)
	if l.view != nil {
		l.view.Close()
	}
	r := Result{Affected: c.Affected, Keys: c.Keys.Lists(), Rows: l.read, Elapsed: time.Since(start)}
	p.release(in)
	return r, err
}
