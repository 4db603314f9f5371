package operator

import (
	"errors"

	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

// Emit takes a row, which is valid only during the call (exec.E1).
type Emit = func(row types.Row) error

// Op is an operator, compiled from a plan.Node.
type Op interface {
	// Run pushes all rows to emit. If emit returns an error, Run stops and returns it.
	Run(c *Execution, emit Emit) error
}

// Execution is one execution of a statement's operators. It belongs to one goroutine.
type Execution struct {
	expr.Ctx

	Mem *memory.Account
	// Affected is the number of rows that a Modify wrote, for the command tag.
	Affected int64
	// Parted is set if several parts of the statement may write: all of them read the state before
	// the statement (exec.E6).
	Parted bool
	// Work gets what the steps of a measured program do; nil: nothing is counted.
	Work *Work
	// Statement is the executor's own context, for the operators that are not of this package.
	Statement any
	// Pause is called by Tick after some rows, and then again; nil: it is not.
	Pause func()

	ticks uint32
}

// ErrStop is the error of an operator's emit when it needs no more rows. The same operator catches
// it.
var ErrStop = errors.New("exec: enough rows")

// Tick is called for each row by code that may run long; it notices that the statement was
// cancelled.
func (c *Execution) Tick() error {
	if c.ticks++; c.ticks&63 != 0 {
		return nil
	}
	if c.Pause != nil {
		c.Pause()
	}
	return c.Cancelled()
}
