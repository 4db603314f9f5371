package session

import (
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
)

// names resolves names as the session sees them.
func (s *Session) names() *sysview.Names {
	view := s.block.View()
	d := view.Database(s.database)
	if d == nil {
		d = &catalog.Database{OID: s.database, Name: s.start.Database} // dropped under the session
	}
	n := &sysview.Names{
		View: view, Database: d, Path: visiblePath(s, view), Spell: s.spell, Portable: s.vars.On("sherd.portable_dump"),
	}
	n.Uses = func(schema string) error {
		return privilege.Of(view, s.database, s.role).UsesSchema(schema)
	}
	n.BodyText = func(f *catalog.Function) string { return bodyText(s, n, f) }
	n.ViewText = func(t *catalog.Table, pretty bool, width int) string { return viewText(s, n, t, pretty, width) }
	return n
}

// visiblePath returns the schemas of search_path that the current role may use.
func visiblePath(s *Session, view *catalog.View) []string {
	s.freshen()
	if oidOf(temporaryIn(s, view)) != s.temporary {
		followTemporary(s, view)
	}
	return privilege.Of(view, s.database, s.role).Path(s.compiler.Path)
}

// viewText prints the query of a view in the form of pg_get_viewdef.
func viewText(s *Session, n *sysview.Names, t *catalog.Table, pretty bool, width int) string {
	q, err := analyze.ViewForm(&analyze.Context{Catalog: n.View, Database: n.Database.OID}, t)
	if err != nil {
		return t.View.Query
	}
	var columns []string
	for _, c := range t.Columns {
		columns = append(columns, c.Name)
	}
	return deparse.View(q, columns, deparse.Options{
		Env: s.Env(), Pretty: pretty, Width: width,
		Name: func(oid uint32, qualify bool) string { return sysview.RelationText(n, oid, qualify) },
	})
}

// spell prints an expression over a table's columns, as the catalog keeps it, in the form of
// pg_get_expr. It returns text that is not an expression, such as a list of defaults or a sharding
// policy, unchanged.
func (s *Session) spell(table uint32, text string, pretty bool) string {
	view := s.block.View()
	if types.IsDomain(table) {
		return spellDomain(s, table, text, pretty)
	}
	var over []query.Column
	if t := view.Table(table); t != nil {
		for _, c := range t.Columns {
			over = append(over, query.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod, Dropped: c.Dropped})
		}
	}
	ctx := s.currentCompiler().Analysis(text)
	ctx.Bodies = nil
	if t := view.Table(table); t != nil && t.RowCondition(text) {
		return spellRowCondition(s, text, pretty)
	}
	if t := view.TableOfPart(table); t != nil {
		return spellCondition(s, t, ctx, text, pretty)
	}
	e, err := analyze.Expression(ctx, text, over)
	if err != nil {
		return text
	}
	return deparse.With(e, s.Env(), pretty)
}

// regIn returns the oid for the text form of a reg* type that is not a number.
func (s *Session) regIn(oid types.OID, text string) (value uint32, err error) {
	err = s.node.knownNames(orBackground(s.running), func() error {
		value, err = s.names().RegIn(oid, text)
		return err
	})
	return value, err
}

// regOut appends the name of an object as its reg* type prints it.
func (s *Session) regOut(dst []byte, oid types.OID, value uint32) []byte {
	return s.names().RegOut(dst, oid, value)
}

// spellRowCondition prints a condition of a row policy.
func spellRowCondition(s *Session, text string, pretty bool) string {
	n := s.names()
	q, err := analyze.RowConditionForm(&analyze.Context{Catalog: n.View, Database: n.Database.OID}, text)
	if err != nil {
		return text
	}
	return deparse.Returned(q, deparse.Options{
		Env: s.Env(), Pretty: pretty, Width: -1,
		Name: func(oid uint32, qualify bool) string { return sysview.RelationText(n, oid, qualify) },
	})
}

// spellCondition prints the condition of a trigger of a table.
func spellCondition(s *Session, t *catalog.Table, ctx *analyze.Context, text string, pretty bool) string {
	src, err := analyze.ParseExpression(text)
	if err != nil {
		return text
	}
	e, err := analyze.TriggerCondition(ctx, src, analyze.ColumnsOf(t))
	if err != nil {
		return text
	}
	return deparse.Rows(e, s.Env(), pretty, "old", "new")
}

// spellDomain prints a constraint of a domain.
func spellDomain(s *Session, domain uint32, text string, pretty bool) string {
	t := catalog.TypeByOID(s.block.View(), catalog.TypeNumber(domain))
	src, err := analyze.ParseExpression(text)
	if t == nil || err != nil {
		return text
	}
	ctx := s.currentCompiler().Analysis(text)
	ctx.Bodies = nil
	e, err := analyze.DomainCheck(ctx, src, t.Domain.Base, t.Domain.Typmod)
	if err != nil {
		return text
	}
	return deparse.With(e, s.Env(), pretty)
}

// bodyText prints the body of a function in the form of pg_get_function_sqlbody.
func bodyText(s *Session, n *sysview.Names, f *catalog.Function) string {
	var b strings.Builder
	if f.Atomic {
		b.WriteString("BEGIN ATOMIC\n")
	}
	options := deparse.Options{
		Env: s.Env(), Params: f.ParameterNames(), Routine: f.Name, Indent: f.Atomic, Width: -1,
		Name: func(oid uint32, qualify bool) string { return sysview.RelationText(n, oid, qualify) },
	}
	for _, text := range f.Body {
		q, err := analyze.BodyForm(&analyze.Context{Catalog: n.View, Database: n.Database.OID}, f, text)
		switch {
		case err != nil:
			b.WriteString(text + "\n")
		case f.Atomic:
			b.WriteString(deparse.View(q, nil, options) + "\n")
		default:
			b.WriteString("RETURN " + deparse.Returned(q, options))
		}
	}
	if f.Atomic {
		b.WriteString("END")
	}
	return b.String()
}
