package plan

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
)

// The steps below stand in no plan that Build returns: package exec makes them, as the plans of
// tasks of its own. Stage, Find and LockKeys are compared by value, so that the same one is known
// again whichever execution has made it.

// Stage stages the writes of its task. With ON CONFLICT it emits a row for each: place, what was
// done, new row, what was there before, index.
type Stage struct {
	Modify *Modify // its table, checks, indexes and OnConflict count, its child does not
}

// Find looks up entries of a global index by the prefixes of its task, and emits the keys of their
// rows.
type Find struct{ Scan *IndexScan }

// LockKeys locks the rows whose keys are the writes of its task. It emits the place of each that it
// got, then the row if it changed.
type LockKeys struct {
	Lock RowLock
	Scan *Scan // as LockRows.Scan
}

// Fill puts a new index's entries of the rows that are there. It emits the entries that belong into
// other fragments, and at last the key of the last row.
type Fill struct {
	Table  *catalog.Table
	Schema string
	Index  query.Index
	After  []byte // the key of the last row that is done
	Limit  int    // rows; 0 is all
	Beside bool   // writers are at work: each row is locked and looked at again
}

// Output of a Stage is as its task has it, no columns of a plan.
func (Stage) Output() []Col { return nil }

// Output of a Find likewise.
func (Find) Output() []Col { return nil }

// Output of LockKeys likewise.
func (LockKeys) Output() []Col { return nil }

// Output of a Fill likewise.
func (*Fill) Output() []Col { return nil }

// Children of all four are none.
func (Stage) Children() []Node    { return nil }
func (Find) Children() []Node     { return nil }
func (LockKeys) Children() []Node { return nil }
func (*Fill) Children() []Node    { return nil }
