package sysview

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

// IndexDef returns an index as pg_get_indexdef does; if column > 0, only that column.
func (n *Names) IndexDef(oid uint32, column int, pretty bool) (string, bool) {
	if r := systemIndex(oid); r != nil {
		return r.definition(column), true
	}
	t, ix := n.index(oid)
	if ix == nil {
		return "", false
	}
	keys := n.indexKeys(t, ix, pretty)
	if column > 0 {
		names := append(keys, includedNames(t, ix)...)
		if column > len(names) {
			return "", true
		}
		return names[column-1], true
	}
	for i := range keys {
		keys[i] += classText(ix.ClassOf(i)) + orderText(ix.OrderOf(i))
	}
	schema, _ := n.SchemaName(t.Schema)
	visible := pretty && n.first([]string{t.Name}, n.relationIn) == t.OID
	var b strings.Builder
	b.WriteString("CREATE ")
	if ix.Unique {
		b.WriteString("UNIQUE ")
	}
	b.WriteString("INDEX " + builtin.QuoteIdent(ix.Name) + " ON " + n.qualify(schema, t.Name, visible) +
		" USING " + ix.Method.String() + " (" + strings.Join(keys, ", ") + ")")
	b.WriteString(indexTail(t, ix))
	// A unique index that must be global does not print its scope, because the text is input of
	// CREATE INDEX. sherd.indexes shows the scope of each index.
	if o := n.printOptions(ix.Options); len(o) > 0 {
		for i, text := range o {
			name, value, _ := strings.Cut(text, "=")
			if builtin.QuoteIdent(value) != value {
				value = "'" + value + "'"
			}
			o[i] = name + "=" + value
		}
		b.WriteString(" WITH (" + strings.Join(o, ", ") + ")")
	}
	if ix.Predicate != "" {
		b.WriteString(" WHERE " + n.Expression(t.OID, ix.Predicate, pretty))
	}
	return b.String(), true
}

// indexTail returns the part after the key columns, for an index and for its constraint.
func indexTail(t *catalog.Table, ix *catalog.Index) string {
	out := ""
	if len(ix.Include) > 0 {
		out += " INCLUDE (" + strings.Join(includedNames(t, ix), ", ") + ")"
	}
	return out + nullsText(ix)
}

func nullsText(ix *catalog.Index) string {
	if ix.NullsNotDistinct {
		return " NULLS NOT DISTINCT"
	}
	return ""
}

// uniqueText returns a UNIQUE constraint as pg_get_constraintdef does.
func uniqueText(t *catalog.Table, c *catalog.Constraint) string {
	ix := t.Index(c.Index)
	if ix == nil {
		return "UNIQUE (" + columnList(t, c.Columns) + ")"
	}
	out := "UNIQUE" + nullsText(ix) + " (" + columnList(t, c.Columns) + ")"
	if len(ix.Include) > 0 {
		out += " INCLUDE (" + strings.Join(includedNames(t, ix), ", ") + ")"
	}
	return out
}

// classText returns the name of an operator class that is not the default of its column's type.
func classText(class catalog.OID) string {
	name, ok := opClassName(operatorClasses(), class)
	if class == 0 || !ok {
		return ""
	}
	return " " + builtin.QuoteIdent(name)
}

func orderText(o catalog.KeyOrder) string {
	switch o {
	case catalog.KeyDesc:
		return " DESC NULLS LAST"
	case catalog.KeyDesc | catalog.KeyNullsFirst:
		return " DESC"
	case catalog.KeyNullsFirst:
		return " NULLS FIRST"
	}
	return ""
}

// indexKeys returns the columns and expressions of an index.
func (n *Names) indexKeys(t *catalog.Table, ix *catalog.Index, pretty bool) []string {
	var out []string
	texts := ix.Expressions
	for _, att := range ix.Columns {
		if att != 0 {
			out = append(out, columnList(t, []int16{att}))
			continue
		}
		text := n.Expression(t.OID, texts[0], pretty)
		texts = texts[1:]
		if callName(text) == "" {
			text = "(" + text + ")"
		}
		out = append(out, text)
	}
	return out
}

func includedNames(t *catalog.Table, ix *catalog.Index) []string {
	var out []string
	for _, att := range ix.Include {
		out = append(out, columnList(t, []int16{att}))
	}
	return out
}

// callName returns the function's name if text is a single call, else "".
func callName(text string) string {
	open := strings.IndexByte(text, '(')
	if open <= 0 || strings.ContainsAny(text[:open], " '+-*/<>=~!@#%^&|`?:[") {
		return ""
	}
	depth, quote := 0, byte(0)
	for i := open; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 && i < len(text)-1 {
				return ""
			}
		}
	}
	return text[:open]
}

// indexColumn is a column of an index as pg_attribute shows it.
type indexColumn struct {
	name   string
	typ    types.OID
	typmod int32
	coll   uint32
}

// indexColumns returns the columns of an index, included ones last.
func (n *Names) indexColumns(t *catalog.Table, ix *catalog.Index) []indexColumn {
	var out []indexColumn
	texts := ix.Expressions
	for i, att := range append(slices.Clip(ix.Columns), ix.Include...) {
		if c := t.ColumnByNum(att); c != nil {
			out = append(out, indexColumn{c.Name, c.Type, c.Typmod, collationOf(c)})
			continue
		}
		out = append(out, n.expressionColumn(t, ix, i, texts[0]))
		texts = texts[1:]
	}
	for i := range out {
		base := out[i].name
		for k := 1; slices.ContainsFunc(out[:i], func(c indexColumn) bool { return c.name == out[i].name }); k++ {
			out[i].name = base + strconv.Itoa(k)
		}
	}
	return out
}

func (n *Names) expressionColumn(t *catalog.Table, ix *catalog.Index, at int, text string) indexColumn {
	col := indexColumn{name: "expr", typ: types.Text, typmod: -1}
	if src, err := analyze.ParseExpression(text); err == nil {
		col.name = analyze.IndexColumnName(src.Node)
	}
	list, err := analyze.Indexes(&analyze.Context{Catalog: n.View, Database: t.Database}, t)
	if err != nil {
		return col
	}
	for _, x := range list {
		if x.Def.OID == ix.OID {
			col.typ, col.typmod = x.Keys[at].Type(), x.Keys[at].Typmod()
			col.coll = collationOf(&catalog.Column{Type: col.typ})
		}
	}
	return col
}

// indexRows is sherd.indexes.
func indexRows(b *builder) error {
	return b.tables(func(t *catalog.Table) error {
		for i := range t.Indexes {
			x := &t.Indexes[i]
			scope, state := "local", "public"
			if x.Global {
				scope = "global"
			}
			if x.State == catalog.IndexBuilding {
				state = "building"
			}
			err := b.row().oid("index", x.OID).oid("collection", t.OID).text("scope", scope).bool("unique", x.Unique).
				text("state", state).send()
			if err != nil {
				return err
			}
		}
		return nil
	})
}
