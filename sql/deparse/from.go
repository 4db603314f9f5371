package deparse

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// from writes FROM (get_from_clause).
func (d *deparser) from(q *query.Query) {
	if q.Values != nil {
		d.line(" FROM ", -stepOut, stepOut, 2)
		d.put("(")
		d.values(q)
		d.put(`) "*VALUES*"`)
		return
	}
	for i, it := range q.From {
		if i == 0 {
			d.line(" FROM ", -stepOut, stepOut, 2)
			d.fromItem(it)
			continue
		}
		d.put(", ")
		before := d.buf
		d.buf = nil
		d.fromItem(it)
		text := d.buf
		d.buf = before
		d.item(text, true, false)
	}
}

func (d *deparser) fromItem(it query.From) {
	switch f := it.(type) {
	case *query.FromRel:
		d.entry(f.Rel)
	case *query.FromJoin:
		d.join(f)
	}
}

// entry writes an entry of the range table (get_from_clause_item).
func (d *deparser) entry(n int) {
	l := d.queries[len(d.queries)-1]
	r := l.q.Rels[n]
	if r.Lateral {
		d.put("LATERAL ")
	}
	aliased, defined := r.Aliased || l.listed[n], false
	switch {
	case r.Kind == query.RelTable, r.View != nil, r.Kind == query.RelSystem:
		aliased = aliased || d.stored && tableOf(r) != nil || l.names[n] != systemName(r, d.alias(r))
		writeRelation(d, r)
	case r.Kind == query.RelSubquery:
		aliased = true
		d.put("(")
		d.query(r.Subquery, nil, true)
		d.put(")")
	case r.Kind == query.RelFunction:
		aliased = true
		defined = writeFunctions(d, r)
	case r.Kind == query.RelCTE:
		aliased = aliased || l.names[n] != r.CTE.Name
		d.put(builtin.QuoteIdent(r.CTE.Name))
	}
	if aliased {
		d.put(" ", builtin.QuoteIdent(l.names[n]))
	}
	switch {
	case defined:
		writeDefinitions(d, r.Functions[0].Columns)
	case l.listed[n]:
		d.nameList(listedNames(d, r, l.columns[n]))
	}
}

// systemName returns the name of a system relation without its schema, or name.
func systemName(r *query.Rel, name string) string {
	if tableOf(r) != nil {
		return name
	}
	_, bare, _ := strings.Cut(r.System, ".")
	return bare
}

// listedNames returns the names of an alias list. In the stored form each column has its place.
func listedNames(d *deparser, r *query.Rel, names []string) []string {
	var out []string
	for i, name := range names {
		switch {
		case name != "":
			out = append(out, name)
		case d.stored && tableOf(r) != nil:
			out = append(out, "?"+strconv.Itoa(i))
		}
	}
	return out
}

// writeRelation writes the name of a relation.
func writeRelation(d *deparser, r *query.Rel) {
	t := tableOf(r)
	switch {
	case t == nil:
		writeSystem(d, r)
	case !d.stored:
		d.put(d.name(t.OID, d.hidden(t.Name)))
	default:
		flags := ""
		if r.Aliased {
			flags = "a"
		}
		if r.Aliases > 0 {
			flags += strconv.Itoa(r.Aliases)
		}
		d.put(`"#`, flags, `"."`, strconv.FormatUint(uint64(t.OID), 10), `"`)
	}
}

// hidden reports whether a WITH query hides the relation with a name.
func (d *deparser) hidden(name string) bool {
	for _, l := range d.queries {
		for _, c := range l.q.CTEs {
			if c.Name == name {
				return true
			}
		}
	}
	return false
}

// writeSystem writes the name of a system relation.
func writeSystem(d *deparser, r *query.Rel) {
	schema, name, _ := strings.Cut(r.System, ".")
	if d.stored || schema != "pg_catalog" || d.hidden(name) {
		d.put(builtin.QuoteIdent(schema), ".")
	}
	d.put(builtin.QuoteIdent(name))
}

// writeFunctions writes the calls of an entry. It reports whether the definition of its columns has
// to follow the alias.
func writeFunctions(d *deparser, r *query.Rel) (defined bool) {
	first := &r.Functions[0]
	switch {
	case len(r.Functions) == 1 && (!defines(first) || !r.Ordinality):
		writeInFrom(d, first.Call)
		defined = defines(first)
	case allUnnest(r.Functions):
		d.put("UNNEST(")
		for i := range r.Functions {
			d.comma(i)
			d.expr(r.Functions[i].Call.(*query.Call).Args[0], true)
		}
		d.put(")")
	default:
		d.put("ROWS FROM(")
		for i := range r.Functions {
			d.comma(i)
			writeInFrom(d, r.Functions[i].Call)
			if defines(&r.Functions[i]) {
				d.put(" AS ")
				writeDefinitions(d, r.Functions[i].Columns)
			}
		}
		d.put(")")
	}
	if r.Ordinality {
		d.put(" WITH ORDINALITY")
	}
	return defined
}

// defines reports whether a call is written with definitions of its columns.
func defines(f *query.FuncItem) bool { return f.Form != nil && f.Form.Defined }

// unnestSource is the function of unnest(anyarray).
const unnestSource = "array_unnest"

func allUnnest(list []query.FuncItem) bool {
	for i := range list {
		c, ok := list[i].Call.(*query.Call)
		if !ok || c.Proc.Src != unnestSource || defines(&list[i]) {
			return false
		}
	}
	return true
}

// writeInFrom writes a call in FROM, where the grammar accepts only what looks like a function
// (get_rule_expr_funccall).
func writeInFrom(d *deparser, e query.Expr) {
	if looksLikeFunction(e) {
		d.expr(e, true)
		return
	}
	d.put("CAST(")
	d.expr(e, false)
	d.put(" AS ", pgcatalog.FormatType(e.Type(), e.Typmod()), ")")
}

func looksLikeFunction(e query.Expr) bool {
	switch x := e.(type) {
	case *query.Call:
		return x.Op == "" && x.Cast == 0
	case *query.Written:
		return x.Kind == query.WrittenSyntax || x.Kind == query.WrittenCall
	case *query.Coalesce, *query.MinMax, *query.NullIf, *query.SQLValue:
		return true
	}
	return false
}

// writeDefinitions writes a list of column definitions.
func writeDefinitions(d *deparser, columns []query.Column) {
	d.put("(")
	for i, c := range columns {
		d.comma(i)
		d.put(builtin.QuoteIdent(c.Name), " ", pgcatalog.FormatType(c.Type, c.Typmod))
	}
	d.put(")")
}

func (d *deparser) join(j *query.FromJoin) {
	form := j.Form
	if form == nil {
		form = &query.JoinForm{}
	}
	around := !d.pretty || form.Alias != ""
	if around {
		d.put("(")
	}
	d.fromItem(j.Left)
	word := map[query.JoinKind]string{query.Inner: " JOIN ", query.Left: " LEFT JOIN ", query.Right: " RIGHT JOIN ",
		query.Full: " FULL JOIN "}[j.Kind]
	if j.Kind == query.Inner && j.On == nil {
		word = " CROSS JOIN "
	}
	d.line(word, -stepOut, stepOut, stepJoin)
	right, nested := j.Right.(*query.FromJoin)
	nested = nested && d.pretty && (right.Form == nil || right.Form.Alias == "")
	if nested {
		d.put("(")
	}
	d.fromItem(j.Right)
	if nested {
		d.put(")")
	}
	switch {
	case len(form.Using) > 0:
		d.put(" USING ")
		d.nameList(d.usingNames(form))
		if form.UsingAlias != "" {
			d.put(" AS ", builtin.QuoteIdent(form.UsingAlias))
		}
	case j.On != nil && !isTrue(j.On):
		d.put(" ON ")
		d.open()
		d.expr(j.On, false)
		d.close()
	case j.Kind != query.Inner || j.On != nil:
		word := "TRUE" // if the text has no condition
		switch {
		case d.stored || j.On == nil:
		case d.pretty:
			word = "true"
		default:
			word = "(true)"
		}
		d.put(" ON ", word)
	}
	if around {
		d.put(")")
	}
	if form.Alias != "" {
		d.put(" ", builtin.QuoteIdent(d.joinOf(form).alias))
		if names, listed := joinNames(d, form); listed {
			d.nameList(names)
		}
	}
}

func isTrue(e query.Expr) bool {
	c, ok := e.(*query.Const)
	return ok && c.Type() == types.Bool && !c.Value.IsNull() && c.Value.Bool()
}

// at returns the query that a column belongs to.
func (d *deparser) at(v *query.Var) *level { return d.queries[len(d.queries)-1-v.Up] }

// columnName returns the name of a column without its table, "" for a whole row.
func (d *deparser) columnName(v *query.Var) string {
	if v.Rel < 0 || v.Col < 0 {
		if v.Col == query.ColWholeRow {
			return ""
		}
		return v.Name
	}
	if name := d.at(v).columns[v.Rel][v.Col]; name != "" {
		return name
	}
	return "?dropped?column?"
}

// column writes a column with the name of its table.
func (d *deparser) column(v *query.Var) {
	table := "*VALUES*"
	if v.Rel >= 0 {
		table = d.at(v).names[v.Rel]
	}
	if !d.alone || len(d.queries) > 1 || d.columnName(v) == "" {
		d.put(builtin.QuoteIdent(table), ".")
	}
	if name := d.columnName(v); name != "" {
		d.put(builtin.QuoteIdent(name))
	} else {
		d.put("*")
	}
}

// subquery writes a subquery of an expression (get_sublink_expr).
func (d *deparser) subquery(s *query.SubLink) {
	if s.Kind == query.SubArray {
		d.put("ARRAY(")
	} else {
		d.put("(")
	}
	if len(s.Left) == 1 {
		d.expr(s.Left[0], true)
	} else if len(s.Left) > 1 {
		d.put("(")
		d.list(s.Left)
		d.put(")")
	}
	parens := true
	switch {
	case s.Kind == query.SubExists:
		d.put("EXISTS ")
	case s.Kind == query.SubAny && s.Op == "=":
		d.put(" IN ")
	case s.Kind == query.SubAny:
		d.put(" ", s.Op, " ANY ")
	case s.Kind == query.SubAll:
		d.put(" ", s.Op, " ALL ")
	case s.Kind == query.SubRow:
		d.put(" ", s.Op, " ")
	default:
		parens = false
	}
	if parens {
		d.put("(")
	}
	d.query(s.Query, nil, false)
	if parens {
		d.put(")")
	}
	d.put(")")
}

// written writes an expression as its text did.
func (d *deparser) written(w *query.Written) {
	switch w.Kind {
	case query.WrittenJoin:
		if w.Table != "" {
			d.put(builtin.QuoteIdent(d.joinOf(w.Join).alias), ".")
		}
		d.put(builtin.QuoteIdent(d.joinColumn(w)))
	case query.WrittenCall:
		c := w.Arg.(*query.Call)
		d.put(d.procName(c.Proc), "(")
		for i, g := range w.Given {
			d.comma(i)
			if g.Name != "" {
				d.put(builtin.QuoteIdent(g.Name), " => ")
			}
			d.expr(c.Args[g.Arg], true)
		}
		d.put(")")
	case query.WrittenSyntax:
		writeSyntax(d, w.Arg.(*query.Call))
	case query.WrittenRowType:
		if k, ok := w.Arg.(*query.Const); ok {
			d.constant(k, -1)
		} else {
			d.expr(w.Arg, false)
		}
		d.put("::", rowType(d, w))
	case query.WrittenCollate:
		d.open()
		d.nested(w.Arg, true, w)
		d.put(" COLLATE ", w.Name)
		d.close()
	}
}

func rowType(d *deparser, w *query.Written) string {
	if d.stored {
		return `"#"."` + strconv.FormatUint(uint64(w.Row), 10) + `"`
	}
	return d.name(w.Row, false)
}

// writeSyntax writes a call with the syntax of SQL (get_func_sql_syntax).
func writeSyntax(d *deparser, c *query.Call) {
	args := c.Args
	between := func(word string, n int) {
		d.put(word)
		d.expr(args[n], false)
	}
	if writeOperatorSyntax(d, c) {
		return
	}
	switch name := c.Proc.Name; name {
	case "extract":
		d.put("EXTRACT(")
		if k, ok := args[0].(*query.Const); ok {
			d.put(types.Output(k.Type(), k.Value, d.env))
		}
		between(" FROM ", 1)
		d.put(")")
	case "normalize":
		d.put("NORMALIZE(")
		between("", 0)
		if len(args) > 1 {
			d.put(",")
			writeKeyword(d, args, 1)
		}
		d.put(")")
	case "overlay":
		d.put("OVERLAY(")
		between("", 0)
		between(" PLACING ", 1)
		between(" FROM ", 2)
		if len(args) == 4 {
			between(" FOR ", 3)
		}
		d.put(")")
	case "position":
		d.put("POSITION((")
		between("", 1)
		between(") IN (", 0)
		d.put("))")
	case "substring":
		d.put("SUBSTRING(")
		between("", 0)
		writeSubstring(d, c)
		d.put(")")
	case "btrim", "ltrim", "rtrim":
		d.put("TRIM(", map[string]string{"btrim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}[name])
		if len(args) == 2 {
			between(" ", 1)
		}
		between(" FROM ", 0)
		d.put(")")
	case "pg_collation_for":
		d.put("COLLATION FOR (")
		between("", 0)
		d.put(")")
	default:
		d.call(c, true)
	}
}

// writeOperatorSyntax writes calls with the syntax of an operator. It reports whether c is one.
func writeOperatorSyntax(d *deparser, c *query.Call) bool {
	args := c.Args
	switch c.Proc.Name {
	case "timezone":
		d.put("(")
		writeSQLOperand(d, args[1])
		d.put(" AT TIME ZONE ")
		writeSQLOperand(d, args[0])
		d.put(")")
	case "overlaps":
		d.put("((")
		d.expr(args[0], false)
		d.put(", ")
		d.expr(args[1], false)
		d.put(") OVERLAPS (")
		d.expr(args[2], false)
		d.put(", ")
		d.expr(args[3], false)
		d.put("))")
	case "is_normalized":
		d.put("(")
		writeSQLOperand(d, args[0])
		d.put(" IS")
		writeKeyword(d, args, 1)
		d.put(" NORMALIZED)")
	default:
		return false
	}
	return true
}

func writeSQLOperand(d *deparser, e query.Expr) {
	if d.pretty && !simple(query.Unwritten(e), &query.Call{Op: "AT TIME ZONE"}) {
		d.put("(")
		d.expr(e, false)
		d.put(")")
		return
	}
	d.expr(e, false)
}

// writeKeyword writes a constant that the syntax has as a keyword.
func writeKeyword(d *deparser, args []query.Expr, n int) {
	if n >= len(args) {
		return
	}
	if k, ok := args[n].(*query.Const); ok {
		d.put(" ", string(bytes.ToUpper([]byte(types.Output(k.Type(), k.Value, d.env)))))
	}
}

func writeSubstring(d *deparser, c *query.Call) {
	words := []string{" FROM ", " FOR "}
	if t := c.Proc.ArgTypes; len(t) == 3 && t[1] == types.Text {
		words = []string{" SIMILAR ", " ESCAPE "}
	}
	for i, a := range c.Args[1:] {
		d.put(words[i])
		d.expr(a, false)
	}
}
