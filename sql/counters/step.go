package counters

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

// step is what a program has to do about split documents. It implements stmt.Step.
type step struct {
	tables    []*splitTable
	increment *increment // nil: it is none
	// combined is the program with the parts added. Its last parameters are keys of parts, one
	// array for each table.
	combined  *stmt.Program
	statement *stmt.Program // the program itself
}

// splitTable is one table of a program that has split documents, or had.
type splitTable struct {
	def     *catalog.Table
	parts   *catalog.Table
	read    bool   // rows are read with their counters
	reads   []keys // the keys of these rows; none: any
	written bool   // existing rows are written or locked
	writes  []keys // their keys; none: any
	changes bool   // rows are written: afterwards the parts need the new numbers of the document's row
}

// keys are primary keys that a step names: a tuple, or an array of keys of one column.
type keys struct {
	tuple []query.Expr
	array query.Expr
}

// tablesIn finds the tables with split documents in a plan, and what the plan does with their rows.
func tablesIn(view *catalog.View, root plan.Node) []*splitTable {
	if view == nil {
		return nil
	}
	f := &finder{view: view}
	f.node(root)
	return f.found
}

type finder struct {
	view  *catalog.View
	found []*splitTable
}

func (f *finder) table(def *catalog.Table) *splitTable {
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
	t := &splitTable{def: def, parts: parts}
	f.found = append(f.found, t)
	return t
}

// node looks at a node of the plan, at those below it, and at those of its subqueries.
func (f *finder) node(n plan.Node) {
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
	if m, ok := n.(*plan.Merge); ok {
		if t := f.table(m.Table); t != nil {
			t.writes = named(t.writes, t.written, allKeys(scansOf(m.Child, m.Table)))
			t.written, t.changes = true, true
		}
	}
	walk.SubPlans(n, f.node)
	for _, c := range n.Children() {
		f.node(c)
	}
}

// named adds keys to a list. A nil list stands for any key. begun reports whether the list has been
// begun.
func named(list []keys, begun bool, more []keys) []keys {
	if more == nil || begun && list == nil {
		return nil
	}
	return append(list, more...)
}

// keysOf returns the keys by which a scan reads, nil if they are not known before it runs.
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

// scansOf lists the scans of a table in a node of the plan and below it.
func scansOf(n plan.Node, t *catalog.Table) (out []*plan.Scan) {
	if s, ok := n.(*plan.Scan); ok && s.Table.OID == t.OID {
		out = append(out, s)
	}
	for _, c := range n.Children() {
		out = append(out, scansOf(c, t)...)
	}
	return out
}

// keysWritten returns the keys of the rows that a Modify may change.
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

// inserted returns the rows of an INSERT of VALUES as expressions, by column.
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

// rowless reports whether expressions can be evaluated before the statement runs.
func rowless(es ...query.Expr) bool {
	for _, e := range es {
		if e == nil {
			continue
		}
		if query.Contains(e, func(x query.Expr) bool {
			switch x := x.(type) {
			case *query.Const, *query.Param, *query.Relabel, *query.CoerceIO, *query.Array, *query.ArrayCoerce,
				*query.RowCoerce,
				*query.Element:
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

// Attach is stmt.Hooks.Split: it makes the step of a program whose tables have split documents.
func Attach(r stmt.Replan) (stmt.Step, error) {
	p := r.Program
	tables := tablesIn(r.View, p.Plan.Root)
	if len(tables) == 0 {
		return nil, nil
	}
	s := &step{tables: tables, statement: p}
	if !slices.ContainsFunc(tables, func(t *splitTable) bool { return t.read }) {
		return s, s.findIncrement(r.View, p)
	}
	first := len(p.Params) + 1
	for _, k := range p.Query.Currents {
		first += k.Columns
	}
	var err error
	s.combined, err = r.As(func(env *plan.Env) {
		env.Sums = func(def *catalog.Table) (*query.Query, error) {
			i := slices.IndexFunc(tables, func(t *splitTable) bool { return t.def.OID == def.OID })
			if i < 0 {
				return nil, nil
			}
			return sumsQuery(r.View, tables[i], first+i)
		}
	})
	if err != nil {
		return nil, err
	}
	return s, s.findIncrement(r.View, p)
}

// sumsQuery returns the sums of the parts whose keys are in parameter n.
func sumsQuery(view *catalog.View, t *splitTable, n int) (*query.Query, error) {
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
	text := fmt.Sprintf("SELECT jsonb_agg(jsonb_build_array(d%s))"+
		" FROM (SELECT d%s FROM %s WHERE k = ANY($%d) GROUP BY d) x",
		names.String(), sums.String(), stmt.TableName(view, t.parts), n)
	return stmt.HiddenQuery(view, t.def.Database, text, params...)
}
