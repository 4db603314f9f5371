package deparse

import (
	"bytes"
	"strconv"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// View returns the text of a view's query as pg_get_viewdef does, with the names of its columns.
func View(q *query.Query, columns []string, o Options) string {
	d := &deparser{env: o.Env, pretty: o.Pretty, lines: true, width: o.Width, name: o.Name, params: o.Params,
		routine: o.Routine}
	if o.Indent {
		d.indent = 1
	}
	d.query(q, columns, true)
	return string(d.buf) + ";"
}

// Returned returns the text of the only column of a query: the expression of RETURN, or a condition of a row
// policy.
func Returned(q *query.Query, o Options) string {
	d := &deparser{env: o.Env, pretty: o.Pretty, lines: true, width: o.Width, name: o.Name, params: o.Params,
		alone: true}
	d.push(q)
	d.expr(q.Targets[0].Expr, false)
	return string(d.buf)
}

// Options is how a view is written.
type Options struct {
	Env *types.Env // prints constants
	// Name returns the name of a relation, with its schema if that is needed, or if qualify is set.
	Name   func(oid uint32, qualify bool) string
	Pretty bool
	Width  int
	// Params are the names of parameters; those without a name are $1, $2, …. Where there are tables, they
	// are written with Routine, the name of their function.
	Params  []string
	Routine string
	Indent  bool
}

// Stored returns the text of a query in the form that the catalog keeps.
func Stored(q *query.Query) string {
	d := &deparser{stored: true}
	d.query(q, nil, true)
	return string(d.buf)
}

// query writes a query. columns are the names of its columns, if they are not its own; named is set
// if they matter.
func (d *deparser) query(q *query.Query, columns []string, named bool) {
	indent := d.indent
	d.push(q)
	d.with(q)
	if q.SetOp != nil {
		d.setOperation(q, columns, named)
	} else {
		d.basic(q, columns, named)
	}
	d.tail(q)
	d.pop()
	d.indent = indent
}

// tail writes the clauses that set operations have too.
func (d *deparser) tail(q *query.Query) {
	if len(q.OrderBy) > 0 {
		d.line(" ORDER BY ", -stepOut, stepOut, 1)
		for i, k := range q.OrderBy {
			d.comma(i)
			if q.SetOp != nil {
				d.put(strconv.Itoa(k.Target + 1))
			} else {
				d.sortKey(q.Targets[k.Target].Expr)
			}
			d.direction(k.Desc, k.NullsFirst)
		}
	}
	if q.Offset != nil && !(q.WithTies != nil && isZero(q.Offset)) {
		d.line(" OFFSET ", -stepOut, stepOut, 0)
		d.expr(q.Offset, false)
	}
	if q.Limit != nil {
		d.line(" LIMIT ", -stepOut, stepOut, 0)
		d.expr(q.Limit, false)
	}
	if q.WithTies != nil {
		d.line(" FETCH FIRST ", -stepOut, stepOut, 0)
		d.put("(")
		d.expr(q.WithTies, false)
		d.put(") ROWS WITH TIES")
	}
	for _, l := range q.Locking {
		for _, rel := range l.Rels {
			d.line(" "+l.Strength.String(), -stepOut, stepOut, 0)
			d.put(" OF ", builtin.QuoteIdent(d.queries[len(d.queries)-1].names[rel]))
			d.put(map[query.LockWait]string{query.LockError: " NOWAIT", query.LockSkip: " SKIP LOCKED"}[l.Wait])
		}
	}
}

func (d *deparser) comma(i int) {
	if i > 0 {
		d.put(", ")
	}
}

func (d *deparser) direction(desc, nullsFirst bool) {
	if desc {
		d.put(" DESC")
	}
	if nullsFirst != desc {
		d.put(map[bool]string{true: " NULLS FIRST", false: " NULLS LAST"}[nullsFirst])
	}
}

// sortKey writes an expression of ORDER BY, GROUP BY and the like, so that it is not read as the
// number of a column, or as rollup or cube (get_rule_sortgroupclause).
func (d *deparser) sortKey(e query.Expr) {
	parens := d.pretty
	switch x := e.(type) {
	case *query.Const:
		d.constant(x, 1)
		return
	case *query.Var:
		parens = false
	case *query.Written:
		parens = x.Kind != query.WrittenJoin && (parens || x.Kind == query.WrittenSyntax || x.Kind == query.WrittenCall)
	case *query.Call:
		parens = parens || x.Op == ""
	case *query.Agg, *query.WindowCall:
		parens = true
	}
	if parens {
		d.put("(")
	}
	d.expr(e, true)
	if parens {
		d.put(")")
	}
}

func (d *deparser) with(q *query.Query) {
	if len(q.CTEs) == 0 {
		return
	}
	if d.lines {
		d.indent += stepOut
		d.put(" ")
	}
	d.put("WITH ")
	if q.CTEs[0].InRecursive {
		d.put("RECURSIVE ")
	}
	for i, c := range q.CTEs {
		d.comma(i)
		d.put(builtin.QuoteIdent(c.Name))
		if c.Aliases > 0 {
			var names []string
			for _, col := range c.Columns[:c.Aliases] {
				names = append(names, col.Name)
			}
			d.nameList(names)
		}
		d.put(" AS ", map[byte]string{'m': "MATERIALIZED ", 'n': "NOT MATERIALIZED "}[c.Materialized], "(")
		d.emptyLine()
		d.query(c.Query, nil, true)
		d.emptyLine()
		d.put(")")
	}
	if d.lines {
		d.indent -= stepOut
		d.emptyLine()
	} else {
		d.put(" ")
	}
}

// emptyLine starts a line.
func (d *deparser) emptyLine() {
	if d.lines {
		d.line("", 0, 0, 0)
	}
}

func (d *deparser) nameList(names []string) {
	d.put("(")
	for i, name := range names {
		d.comma(i)
		d.put(builtin.QuoteIdent(name))
	}
	d.put(")")
}

// setOperation writes UNION and the like (get_setop_query).
func (d *deparser) setOperation(q *query.Query, columns []string, named bool) {
	op := q.SetOp
	step := 0
	left := isNested(op.Left)
	parens := left && (op.Left.SetOp.Kind != op.Kind || op.Left.SetOp.All != op.All)
	if parens {
		step = stepOut
		d.put("(")
		d.line("", step, 0, 0)
	}
	d.operand(op.Left, columns, named)
	switch {
	case parens:
		d.line(") ", -step, 0, 0)
	case d.lines:
		d.line("", 0, 0, 0)
	default:
		d.put(" ")
	}
	d.put([...]string{"UNION ", "INTERSECT ", "EXCEPT "}[op.Kind])
	if op.All {
		d.put("ALL ")
	}
	step = 0
	if isNested(op.Right) {
		step = stepOut
		d.put("(")
	}
	d.line("", step, 0, 0)
	d.operand(op.Right, columns, false)
	d.indent -= step
	if step > 0 {
		d.line(")", 0, 0, 0)
	}
}

// isNested reports whether an operand of a set operation is one without clauses of its own, which
// belongs to the same query in PostgreSQL.
func isNested(q *query.Query) bool { return q.SetOp != nil && !hasTail(q) }

func hasTail(q *query.Query) bool {
	return len(q.CTEs) > 0 || len(q.OrderBy) > 0 || len(q.Locking) > 0 || q.Limit != nil || q.Offset != nil
}

func (d *deparser) operand(q *query.Query, columns []string, named bool) {
	if isNested(q) {
		d.push(q)
		d.setOperation(q, columns, named)
		d.pop()
		return
	}
	parens := hasTail(q)
	if parens {
		d.put("(")
	}
	d.query(q, columns, named)
	if parens {
		d.put(")")
	}
}

// basic writes a query without set operation (get_basic_select_query).
func (d *deparser) basic(q *query.Query, columns []string, named bool) {
	if d.lines {
		d.indent += stepOut
		d.put(" ")
	}
	if q.Values != nil && plainValues(d, q, columns) {
		d.values(q)
		return
	}
	d.put("SELECT")
	switch {
	case len(q.DistinctOn) > 0:
		d.put(" DISTINCT ON (")
		for i, t := range q.DistinctOn {
			d.comma(i)
			d.sortKey(q.Targets[t].Expr)
		}
		d.put(")")
	case q.Distinct:
		d.put(" DISTINCT")
	}
	d.targets(q, columns, named)
	d.from(q)
	if q.Where != nil {
		d.line(" WHERE ", -stepOut, stepOut, 1)
		d.expr(q.Where, false)
	}
	writeGroupBy(d, q)
	if q.Having != nil {
		d.line(" HAVING ", -stepOut, stepOut, 0)
		d.expr(q.Having, false)
	}
	writeWindows(d, q)
}

// plainValues reports whether VALUES can stand alone: its columns have their own names.
func plainValues(d *deparser, q *query.Query, columns []string) bool {
	for i, t := range shown(q) {
		if i < len(columns) && columns[i] != t.Name {
			return false
		}
	}
	return true
}

func (d *deparser) values(q *query.Query) {
	d.put("VALUES ")
	for i, row := range q.Values {
		d.comma(i)
		d.put("(")
		for k, e := range row {
			if k > 0 {
				d.put(",")
			}
			d.top(e, false)
		}
		d.put(")")
	}
}

// top writes an expression of a list, where a row needs its type.
func (d *deparser) top(e query.Expr, implicitCasts bool) {
	v, ok := e.(*query.Var)
	switch row := ok && v.Col == query.ColWholeRow; {
	case row && d.stored:
		d.put(builtin.QuoteIdent(d.at(v).names[v.Rel]))
		return
	case row:
		d.expr(e, implicitCasts)
		if t := tableOf(d.at(v).q.Rels[v.Rel]); t != nil {
			d.put("::", d.name(t.OID, false))
		}
		return
	}
	d.expr(e, implicitCasts)
}

// tableOf returns the relation of an entry that has a definition in the catalog.
func tableOf(r *query.Rel) *catalog.Table {
	if r.View != nil {
		return r.View
	}
	return r.Table
}

// shown returns the columns of a query.
func shown(q *query.Query) []query.Target {
	n := len(q.Targets)
	for n > 0 && q.Targets[n-1].Hidden {
		n--
	}
	return q.Targets[:n]
}

// targets writes the list of SELECT (get_target_list).
func (d *deparser) targets(q *query.Query, columns []string, named bool) {
	d.put(" ")
	multiline := false
	for i, t := range shown(q) {
		d.comma(i)
		before := d.buf
		d.buf = nil
		d.top(t.Expr, true)
		name, own := t.Name, ""
		if !named {
			own = "?column?"
		}
		switch x := t.Expr.(type) {
		case *query.Var:
			own = d.columnName(x)
		case *query.Written:
			if x.Kind == query.WrittenJoin {
				own = d.joinColumn(x)
			}
		}
		if d.stored {
			own = "" // a name must not depend on how names are chosen
		}
		if i < len(columns) {
			name = columns[i]
		}
		if name != own {
			d.put(" AS ", builtin.QuoteIdent(name))
		}
		text := d.buf
		d.buf = before
		multiline = d.item(text, i > 0, multiline)
	}
}

// item writes an item of a list on a line of its own if it would make the line too long, or if the
// item before has taken several lines. It reports whether this item does.
func (d *deparser) item(text []byte, later, multiline bool) bool {
	inner := text
	switch line := len(d.buf) - bytes.LastIndexByte(d.buf, '\n') - 1; {
	case !d.lines:
	case len(text) > 0 && text[0] == '\n':
		d.buf, inner = bytes.TrimRight(d.buf, " "), text[1:]
	case later && (line+len(text) > d.width || multiline):
		d.line("", -stepOut, stepOut, stepItem)
	}
	d.buf = append(d.buf, text...)
	return bytes.IndexByte(inner, '\n') >= 0
}

func writeGroupBy(d *deparser, q *query.Query) {
	form := q.Form
	if len(q.GroupBy) == 0 && (form == nil || len(form.Grouping) == 0) {
		return
	}
	d.line(" GROUP BY ", -stepOut, stepOut, 1)
	if form != nil && form.GroupDistinct {
		d.put("DISTINCT ")
	}
	if form == nil || len(form.Grouping) == 0 {
		for i, e := range q.GroupBy {
			d.comma(i)
			d.sortKey(e)
		}
		return
	}
	for i := range form.Grouping {
		d.comma(i)
		writeGroupingSet(d, q, &form.Grouping[i], true)
	}
}

func writeGroupingSet(d *deparser, q *query.Query, g *query.GroupingForm, bare bool) {
	switch g.Kind {
	case query.GroupEmpty:
		d.put("()")
		return
	case query.GroupSimple:
		bare = bare && len(g.Keys) == 1
		if !bare {
			d.put("(")
		}
		for i, k := range g.Keys {
			d.comma(i)
			d.sortKey(q.GroupBy[k])
		}
		if !bare {
			d.put(")")
		}
		return
	case query.GroupRollup:
		d.put("ROLLUP(")
	case query.GroupCube:
		d.put("CUBE(")
	case query.GroupSets:
		d.put("GROUPING SETS (")
	}
	for i := range g.Items {
		d.comma(i)
		writeGroupingSet(d, q, &g.Items[i], g.Kind != query.GroupSets)
	}
	d.put(")")
}

func isZero(e query.Expr) bool {
	c, ok := e.(*query.Const)
	return ok && !c.Value.IsNull() && c.Value.N == 0
}
