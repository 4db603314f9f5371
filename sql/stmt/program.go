package stmt

import (
	"fmt"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/usertype"
	"github.com/sherddb/sherd/txn/locks"
)

// Program is a statement that is ready to run, shared by all sessions that analyze its text alike.
type Program struct {
	Statement parse.Statement
	Query     *query.Query
	Params    []types.OID
	Columns   []Column // nil: it returns no rows
	Plan      *plan.Plan
	Exec      *exec.Program
	Version   uint64        // of the definitions that it was analyzed against
	Role      catalog.OID   // whose privileges were checked
	Tables    []tx.TableUse // the locks on tables that it needs
	Writes    bool
	Defines   bool // it calls a function that changes definitions, and does nothing else
	Calls     byte // the volatility of the functions of users that it calls, which run statements; 0: it calls none
	Late      bool // rows are locked when they are fetched
	Cursor    bool // it is a cursor's
	Keys      []analyze.CursorKey
	Integrity any      // what Hooks.Integrity returned; nil: nothing follows from what it writes
	Split     Step     // nil: its tables have no split documents
	analysis  analysis // nil: it follows from Statement and Params
	planned   *plannedFor
	guarded   bool         // row security changes what it reads or writes
	custom    *customPlans // nil: its statement has no parameters
	generic   *Program     // that it is a custom plan of; nil: it is none
	shared    *shared      // nil: it does not serve the texts of a shape
	literals  bool         // its arguments are the literals of its text
}

// LocksRows reports whether the program takes row locks other than those of rows that it writes.
func (p *Program) LocksRows() bool {
	return slices.ContainsFunc(p.Tables, func(u tx.TableUse) bool { return u.Mode == locks.RowShare })
}

// WritesShared reports whether the program writes to tables that are not temporary. A read-only
// transaction refuses only that.
func (p *Program) WritesShared() bool {
	return p.Writes && slices.ContainsFunc(Writers(p.Query), func(q *query.Query) bool {
		t := q.Rels[q.Result].Table
		return !q.DoesNothing() && (t == nil || !t.IsTemporary())
	})
}

// Reading returns what decides how old the program's reads may be.
func (p *Program) Reading() tx.Reading {
	return tx.Reading{Writes: p.Writes || p.Calls != 0, LocksRows: p.LocksRows()}
}

// Tag returns the tag of CommandComplete for a number of rows.
func (p *Program) Tag(rows int64) string {
	switch p.Query.Command {
	case query.Insert:
		return fmt.Sprintf("INSERT 0 %d", rows)
	case query.Update:
		return fmt.Sprintf("UPDATE %d", rows)
	case query.Delete:
		return fmt.Sprintf("DELETE %d", rows)
	case query.Merge:
		return fmt.Sprintf("MERGE %d", rows)
	}
	if p.Query.IsCall {
		return "CALL"
	}
	return fmt.Sprintf("SELECT %d", rows)
}

// CheckColumns returns an error if a statement whose columns a client may know has other ones now.
// Drivers prepare the statement again when they get this error.
func CheckColumns(known, now []Column) error {
	if slices.EqualFunc(known, now, func(a, b Column) bool { return a.Type == b.Type && a.Name == b.Name }) {
		return nil
	}
	return pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type").
		WithRoutine("RevalidateCachedQuery")
}

// resultColumns describes the rows that a client sees.
func resultColumns(view *catalog.View, q *query.Query) []Column {
	if q.Command != query.Select && !q.Returning || q.IsCall && len(q.Rels) == 0 {
		return nil
	}
	out := []Column{}
	for _, t := range q.Targets {
		if t.Hidden {
			continue
		}
		typ := t.Expr.Type()
		c := Column{
			Name: t.Name, Table: t.OriginTable, AttNum: t.OriginCol, Type: typ, Typmod: t.Expr.Typmod(), Len: -1,
		}
		if types.IsDomain(typ) { // clients see the base type
			c.Type, c.Typmod, c.Declared = types.BaseOf(typ), usertype.BaseTypmod(view, typ), typ
		}
		if ty := pgcatalog.TypeByOID(c.Type); ty != nil {
			c.Len = ty.Len
		}
		out = append(out, c)
	}
	return out
}
