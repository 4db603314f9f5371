package exec

import (
	"context"
	"errors"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/exec/lockwait"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Emit takes a row, which is valid only during the call (E1).
type Emit = func(row types.Row) error

// Ctx is one execution of a statement, at the gateway or in a fragment. It belongs to one
// goroutine.
type Ctx struct {
	operator.Execution

	Gateway *Gateway // nil inside a fragment
	Hooks   Hooks
	Limits  Limits

	// Before is the position in the transaction's write buffers at which the statement began.
	Before txn.Marks
	// Part restricts what the statement reads of client tables; nil: everything.
	Part *Part
	// Partial lets the answer do without fragments that cannot be reached; nil: they are an error.
	Partial *Partial
	// Steady makes the whole statement read at Before: a cursor, whose transaction may write
	// meanwhile.
	Steady bool
	// Prompt makes the statement write each row before it computes the next: it calls volatile functions
	// of users, which see what the statement has written. It is set with Steady.
	Prompt bool

	// Deferred holds the unique indexes whose values rows may share until the transaction commits,
	// with the number in Keys under which such values are recorded. See SettleUnique.
	Deferred map[uint32]int

	// Keys are the changes that a Modify made to watched keys.
	Keys keychange.Set
	// Analyze makes operators collect what EXPLAIN ANALYZE shows.
	Analyze *Analysis

	// Keyed is set while the statement of a foreign key runs: a trigger in PostgreSQL.
	Keyed bool
	// Triggers fire for the rows that a Modify with triggers writes; nil: none do.
	Triggers Triggers

	local *local    // nil at the gateway
	reads *snapshot // of the statement at the gateway, shared with subqueries
}

// link lets expressions and operators find the context that theirs is a part of.
func (c *Ctx) link() { c.Owner, c.Statement = &c.Execution, c }

// statement returns the Ctx of an execution.
func statement(x *operator.Execution) *Ctx { return x.Statement.(*Ctx) }

// StatementOf returns the execution that a function call is a part of, nil if it is part of none.
func StatementOf(site *builtin.Ctx) *Ctx {
	x, ok := site.Statement.(*operator.Execution)
	if !ok {
		return nil
	}
	c, _ := x.Statement.(*Ctx)
	return c
}

// Triggers fire for rows at the gateway.
type Triggers interface {
	// Before fires the triggers before an event. It returns the row to write instead of e.New, or of
	// a row that is deleted, the row; nil: the row is left out.
	Before(c *Ctx, e *RowEvent) (types.Row, error)
	// Instead fires the triggers of a view. It returns the row for RETURNING; nil: nothing was done.
	Instead(c *Ctx, e *RowEvent) (types.Row, error)
	// After notes an event for the triggers that fire after the statement. The rows are copied.
	After(c *Ctx, e *RowEvent) error
}

// RowEvent is an event of a row.
type RowEvent struct {
	Table    *catalog.Table
	Kind     catalog.TriggerEvents // TriggerInsert, TriggerUpdate or TriggerDelete
	Old, New types.Row             // with the columns of the table; nil: there is none
	// Updated reports whether an UPDATE sets a column, or one that the column is generated from.
	Updated func(col int) bool
}

// Hooks are the session's services for the executor. A nil hook returns 0A000.
type Hooks struct {
	// System emits the rows of a view of pg_catalog, information_schema or sherd, with all its
	// columns.
	System func(name string, emit Emit) error
	// CompleteID completes the id of a new document with a number if the client left that to the
	// server: an omitted id (""), one that ends in "/", and one that ends in "/$". It returns other
	// ids unchanged.
	CompleteID func(ctx context.Context, t *catalog.Table, id string) (string, error)
	// Notice sends a notice to the client.
	Notice func(n *pgerr.Error)
	// Source emits the rows of a plan.Source (COPY FROM), each valid during emit.
	Source func(emit Emit) error
	// Trigger calls the function of a trigger, and sets the row that it returns; nil: no triggers
	// fire.
	Trigger func(c *Ctx, of catalog.OID, t *function.Trigger) error
	// KeysFull is called by an INSERT without ON CONFLICT that has recorded many keys (Ctx.Keys).
	// It may check those that need not wait for the end of the statement.
	KeysFull func(c *Ctx) error
}

// Limits are settings that bound a statement.
type Limits struct {
	// READ COMMITTED checks the newest version of a row that it waited for.
	Isolation txn.Isolation
	// Fragments that one step may reach; 0: no limit (sherd.max_fanout).
	MaxFanout       int
	FanoutNotice    int  // fragments above which a step sends a notice; 0 is never
	ExplicitBuckets bool // clients may use ids with $@n (sherd.explicit_buckets)
	ReadOnly        bool // writes are 25006
	Replica         bool // session_replication_role is replica
	// Since is the transaction's one snapshot if a statement of a foreign key reads at a newer one.
	// The statement must not write to rows that changed in between.
	Since txn.Timestamp
	// Unvalidated reads are not validated at the commit (T8), because locks protect those that
	// matter.
	Unvalidated bool
	// LockWaits gets long waits for row locks (log_lock_waits); nil: they are not reported.
	LockWaits *lockwait.Watcher
}

// fault returns the error for the client of a fragment that failed: for a bare error of the
// context, that of the cancelled statement.
func (c *Ctx) fault(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		if cause := c.Cancelled(); cause != nil {
			return cause
		}
	}
	return err
}

// since is the snapshot above which a change of a row is a conflict.
func (c *Ctx) since() txn.Timestamp {
	if c.Limits.Since != 0 {
		return c.Limits.Since
	}
	return c.local.task.T
}

// seen is a task's Seen for a fragment.
func (c *Ctx) seen(id txn.FragmentID) *txn.Mark {
	if !c.Parted {
		return nil
	}
	m := c.Before[id]
	return &m
}

func (c *Ctx) ctx() context.Context {
	if c.Context == nil {
		return context.Background()
	}
	return c.Context
}

func unsupported(format string, args ...any) *pgerr.Error { return pgerr.Unsupported(format, args...) }

func internal(format string, args ...any) error {
	return pgerr.New(pgerr.InternalError, format, args...)
}
