package portal

import (
	"context"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Environment is what prepared statements and portals use of their session.
type Environment struct {
	Parse   func(text string) ([]parse.Statement, error)
	Arrived func() time.Time       // of the running statement
	Allowed func() error           // the error of a failed transaction; nil: statements may run
	Tx      func() *tx.Tx          // nil outside of any
	Begin   func()                 // opens a transaction, if there is none
	Memory  func() *memory.Account // a new one, of the rows that are kept for a portal

	Version  func() uint64         // of the definitions that a statement sees now
	Compiler func() *stmt.Compiler // with the settings and definitions of now
	// Program compiles a query, if need be again with newer definitions.
	Program func(ctx context.Context, st parse.Statement, params []types.OID) (*stmt.Program, error)
	// Columns describes the rows of a statement that is not a query; nil: it returns none.
	Columns func(n *pg_query.Node) []stmt.Column

	Context func(ctx context.Context) *exec.Ctx // evaluates arguments of EXECUTE
	// Fold folds the split documents whose rows a portal is going to lock. It must do so first,
	// because the portal does not see what its transaction writes later.
	Fold func(ctx context.Context, p *stmt.Program, args []types.Datum) error
	// Part returns the part of the data that a program reads by the settings.
	Part func(p *stmt.Program) (*exec.Part, error)
	// Run runs a program, which reads as the opening says; nil: as a statement of its own. It returns
	// the number of rows of the command tag.
	Run func(ctx context.Context, o *Opening, p *stmt.Program, args []types.Datum, emit exec.Emit) (int64, error)
}

// Opening says what a portal reads: the timestamp, the place in its transaction's write buffers
// before which it sees writes, and the part of the data.
type Opening struct {
	At     txn.Timestamp // 0: a new one
	Before txn.Marks     // nil: it sees all writes
	Fixed  bool          // Part is fixed, even if settings change
	Part   *exec.Part    // see exec.Ctx
}

// Apply makes c read as the opening says.
func (o *Opening) Apply(c *exec.Ctx) {
	c.Part = o.Part
	if o.At != 0 {
		c.Gateway = c.Gateway.ReadingAt(o.At)
	}
	if o.Before != nil {
		c.Before, c.Steady = o.Before, true
	}
}

// nest returns how deep a session is in transactions: 0 outside of any, 1 in one, more in its
// savepoints.
func (e *Environment) nest() int {
	if t := e.Tx(); t != nil {
		return 1 + t.Depth()
	}
	return 0
}
