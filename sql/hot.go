package sql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Counters of split documents are kept in parts: rows of a hidden table (catalog.Hot) that lie in as many buckets as there are parts, so that sessions
// that add to one counter at once do not wait for each other. A statement about a table with split documents is one of three things, and which of them
// is seen when it runs, by the keys that it names:
//
//	an increment   adds to one part, chosen by the session, and touches the document not at all (hot_increment.go)
//	a read         adds what the parts hold to the rows that it reads, all at its own timestamp (plan.Scan.Sums)
//	a write        of any other kind, or a row lock, first puts the parts into the document, and has all their locks then (hot_fold.go)
//
// What it rests on: parts of a document exist while, and only while, the document is split and exists; who writes the document's own row has the locks
// of all its parts; and what is split changes under the lock of the whole table, so that every program knows it.

// hotProgram is what a program has to do about split documents; one whose tables have none has no hotProgram.
type hotProgram struct {
	tables    []*hotTable
	increment *increment    // nil: it is none
	combined  *stmt.Program // the program with the parts added; its last parameters are keys of parts, one array for each table
	statement *stmt.Program // the program itself
}

// hotTable is one table of a program that has split documents, or had.
type hotTable struct {
	def     *catalog.Table
	parts   *catalog.Table
	read    bool   // rows are read with their counters
	reads   []keys // of which rows; none: of any
	written bool   // rows are written that were there, or locked
	writes  []keys // which; none: any
	changes bool   // rows are written: what the parts know of the document has to be set right afterwards
}

// keys are primary keys that a step names: a tuple, or an array of keys of one column.
type keys struct {
	tuple []query.Expr
	array query.Expr
}

// hotTables finds the tables with split documents in a plan, and what it does with their rows.
func hotTables(view *catalog.View, root plan.Node) []*hotTable {
	if view == nil {
		return nil
	}
	f := &hotFinder{view: view}
	f.node(root)
	return f.found
}

type hotFinder struct {
	view  *catalog.View
	found []*hotTable
}

func (f *hotFinder) table(def *catalog.Table) *hotTable {
	if def == nil || def.Hot == nil {
		return nil
	}
	for _, t := range f.found {
		if t.def.OID == def.OID {
			return t
		}
	}
	parts := f.view.Table(def.Hot.Parts)
	if parts == nil {
		return nil
	}
	t := &hotTable{def: def, parts: parts}
	f.found = append(f.found, t)
	return t
}

// node looks at a step, at those below it, and at those of its subqueries.
func (f *hotFinder) node(n plan.Node) {
	switch n := n.(type) {
	case *plan.Scan:
		if t := f.table(n.Table); t != nil && plan.ReadsCounters(n) {
			t.reads = named(t.reads, t.read, keysOf(n))
			t.read = true
		}
	case *plan.LockRows:
		for _, l := range n.Locks {
			t := f.table(l.Table)
			scans := scansOf(n.Child, l.Table)
			if t == nil || l.Strength == query.LockKeyShare && !slices.ContainsFunc(scans, plan.ReadsCounters) {
				continue
			}
			t.writes = named(t.writes, t.written, allKeys(scans))
			t.written = true
		}
	case *plan.Modify:
		if t := f.table(n.Table); t != nil && (n.Kind != plan.ModInsert || n.OnConflict != nil && n.OnConflict.Update) {
			t.writes = named(t.writes, t.written, keysWritten(n))
			t.written, t.changes = true, true
		}
	}
	walk.SubPlans(n, f.node)
	for _, c := range n.Children() {
		f.node(c)
	}
}

// named adds keys to a list that is none where any key may be meant. known tells whether the list has been begun.
func named(list []keys, begun bool, more []keys) []keys {
	if more == nil || begun && list == nil {
		return nil
	}
	return append(list, more...)
}

// keysOf gives the keys by which a scan reads, nil where they are not known before it does.
func keysOf(s *plan.Scan) []keys {
	if s.Access != plan.ScanKeys {
		return nil
	}
	var out []keys
	for _, t := range s.Keys {
		out = append(out, keys{tuple: t})
	}
	if s.KeyArray != nil {
		out = append(out, keys{array: s.KeyArray})
	}
	for _, k := range out {
		if !rowless(append(slices.Clip(k.tuple), k.array)...) {
			return nil
		}
	}
	return out
}

func allKeys(scans []*plan.Scan) []keys {
	var out []keys
	for i, s := range scans {
		out = named(out, i > 0, keysOf(s))
	}
	return out
}

// scansOf lists the scans of a table in a step and below it.
func scansOf(n plan.Node, t *catalog.Table) (out []*plan.Scan) {
	if s, ok := n.(*plan.Scan); ok && s.Table.OID == t.OID {
		out = append(out, s)
	}
	for _, c := range n.Children() {
		out = append(out, scansOf(c, t)...)
	}
	return out
}

// keysWritten gives the keys of the rows that a Modify may change.
func keysWritten(m *plan.Modify) []keys {
	if m.Kind != plan.ModInsert {
		scans := scansOf(m.Child, m.Table) // those of its source too: more than needed at worst
		return allKeys(scans)
	}
	if !m.OnConflict.Primary || len(m.OnConflict.Arbiters) > 0 {
		return nil
	}
	pk := m.Table.PrimaryKey()
	rows, ok := inserted(m)
	if pk == nil || !ok {
		return nil
	}
	out := []keys{}
	for _, row := range rows {
		var k keys
		for _, att := range pk.Columns {
			k.tuple = append(k.tuple, row[att-1])
		}
		if !rowless(k.tuple...) {
			return nil
		}
		out = append(out, k)
	}
	return out
}

// inserted gives the rows of an INSERT of VALUES as expressions, by column.
func inserted(m *plan.Modify) (rows [][]query.Expr, ok bool) {
	proj, ok := m.Child.(*plan.Project)
	if !ok {
		return nil, false
	}
	return project(proj)
}

func project(n plan.Node) (rows [][]query.Expr, ok bool) {
	switch n := n.(type) {
	case *plan.Values:
		return n.Rows, len(n.Rows) <= maxNamed
	case *plan.Project:
		if n.Sets {
			return nil, false
		}
		below, ok := project(n.Child)
		if !ok {
			return nil, false
		}
		for _, row := range below {
			out := make([]query.Expr, len(n.Exprs))
			for i, e := range n.Exprs {
				out[i] = query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
					if s, is := x.(*query.Slot); is && s.N < len(row) {
						return row[s.N], true
					}
					return nil, false
				})
			}
			rows = append(rows, out)
		}
		return rows, true
	}
	return nil, false
}

// maxNamed is how many rows of VALUES are looked at one by one.
const maxNamed = 1000

// rowless tells whether expressions can be evaluated before the statement runs.
func rowless(es ...query.Expr) bool {
	for _, e := range es {
		if e == nil {
			continue
		}
		if query.Contains(e, func(x query.Expr) bool {
			switch x := x.(type) {
			case *query.Const, *query.Param, *query.Relabel, *query.CoerceIO, *query.Array, *query.ArrayCoerce, *query.Element:
			case *query.Call:
				return x.Proc.Volatility == 'v' || x.Proc.RetSet || builtin.PlaceOf(x.Proc) != builtin.Anywhere
			default:
				return true
			}
			return false
		}) {
			return false
		}
	}
	return true
}

// hotProgramOf returns what a program has to do about split documents; nil: its tables have none.
func hotProgramOf(p *stmt.Program) *hotProgram {
	h, _ := p.Split.(*hotProgram)
	return h
}

// splitDocuments makes the hotProgram of a program whose tables have split documents (stmt.Hooks).
func splitDocuments(r stmt.Replan) (stmt.Step, error) {
	p := r.Program
	tables := hotTables(r.View, p.Plan.Root)
	if len(tables) == 0 {
		return nil, nil
	}
	h := &hotProgram{tables: tables, statement: p}
	if !slices.ContainsFunc(tables, func(t *hotTable) bool { return t.read }) {
		return h, h.findIncrement(r.View, p)
	}
	first := len(p.Params) + 1
	for _, k := range p.Query.Currents {
		first += k.Columns
	}
	var err error
	h.combined, err = r.As(func(env *plan.Env) {
		env.Sums = func(def *catalog.Table) (*query.Query, error) {
			i := slices.IndexFunc(tables, func(t *hotTable) bool { return t.def.OID == def.OID })
			if i < 0 {
				return nil, nil
			}
			return sumsQuery(r.View, tables[i], first+i)
		}
	})
	if err != nil {
		return nil, err
	}
	return h, h.findIncrement(r.View, p)
}

// sumsQuery is what the parts add up to whose keys are in parameter n.
func sumsQuery(view *catalog.View, t *hotTable, n int) (*query.Query, error) {
	var sums, names strings.Builder
	for i := range t.def.Hot.Counters {
		fmt.Fprintf(&sums, ", sum(c%d) AS s%d", i, i)
		fmt.Fprintf(&names, ", s%d", i)
	}
	params := make([]types.OID, n)
	for i := range params {
		params[i] = types.Text
	}
	params[n-1] = types.Int8Array
	return stmt.HiddenQuery(view, t.def.Database, fmt.Sprintf("SELECT jsonb_agg(jsonb_build_array(d%s)) FROM (SELECT d%s FROM %s WHERE k = ANY($%d) GROUP BY d) x",
		names.String(), sums.String(), quotedName(view, t.parts), n), params...)
}

func quotedName(view *catalog.View, t *catalog.Table) string {
	return builtin.QuoteIdent(view.Schema(t.Schema).Name) + "." + builtin.QuoteIdent(t.Name)
}
