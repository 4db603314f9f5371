package routine

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/portal"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Environment is what the statements of functions use of their session.
type Environment struct {
	Compiler func() *stmt.Compiler // with the settings and definitions of now
	// Version is that of the definitions that a statement sees now.
	Version func() uint64
	// Known runs f, again if it fails because the cluster has newer definitions.
	Known func(ctx context.Context, f func() error) error
	// Run runs a program in the session's transaction.
	Run func(ctx context.Context, p *stmt.Program, args []types.Datum, emit exec.Emit) (int64, error)
	// Utility runs a statement that is not a query. bound has the parameters of the query in it.
	Utility func(ctx context.Context, st parse.Statement, bound Bound, w stmt.ResultWriter) error
	// UtilityColumns describes the rows of such a statement; nil: it returns none.
	UtilityColumns func(st parse.Statement) []stmt.Column
	// Expressions returns the context in which expressions are evaluated.
	Expressions func(ctx context.Context) expr.Ctx
	Values      func() *types.Env      // by which values are read and printed now
	Memory      func() *memory.Account // a new one, of rows that are kept
	Notice      func(*pgerr.Error) error
	Report      func(name, value string) error // a setting that is reported has changed
	Portals     *portal.Portals
	Transaction Transaction
}

// Transaction is the session's transaction block.
type Transaction interface {
	// BeginSub begins a subtransaction, EndSub keeps or undoes what was done in it.
	BeginSub() int
	EndSub(i int, keep bool)
	// End commits or rolls back, and begins the next transaction.
	End(ctx context.Context, commit, chain bool) error
}

// Bound is the parameters of a query in a statement that is not one.
type Bound struct {
	Vars function.Names
	Args []types.Datum
}
