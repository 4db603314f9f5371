package session

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// execution returns the context in which a program runs.
func (s *Session) execution(ctx context.Context, args []types.Datum) *exec.Ctx {
	s.running = ctx
	x := s.executor(ctx)
	if s.block.Tx == nil {
		return x.Context(ctx, nil, args)
	}
	return x.Context(ctx, s.block.Tx.Tx, args)
}

// executor returns an executor with the session's values.
func (s *Session) executor(ctx context.Context) stmt.Executor {
	values := s.Env() // it brings the limits up to date
	return stmt.Executor{
		Compiler: &s.compiler, PID: s.start.PID, Values: values, Functions: info{objects{s}, ctx}, Hooks: s.hook,
		Limits: s.limit, Memory: s.derived.Memory, TempDir: s.node.TempDir,
	}
}

// timed bounds a statement, including its repeated runs, by statement_timeout.
func (s *Session) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	d := s.txEnv.Milliseconds("statement_timeout")
	if d == 0 {
		return ctx, func() {}
	}
	bounded := context.WithValue(ctx, unboundedKey{}, ctx)
	return context.WithTimeoutCause(bounded, d,
		pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout"))
}

type unboundedKey struct{}

// unbounded returns the context that timed bounded: what a portal starts outlives the statement
// that started it.
func unbounded(ctx context.Context) context.Context {
	if outer, ok := ctx.Value(unboundedKey{}).(context.Context); ok {
		return outer
	}
	return ctx
}

// hooks are the functions that the executor calls in the session.
func (s *Session) hooks() exec.Hooks {
	return exec.Hooks{
		System: views{s}.rows,
		CompleteID: func(ctx context.Context, t *catalog.Table, id string) (string, error) {
			return s.node.IDs.Complete(ctx, s.block.Tx, t, id)
		},
		Notice: s.notice, Trigger: caller{s}.trigger,
	}
}
