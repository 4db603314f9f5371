package counters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
)

// Declare sets the counters of the document: those named, or if there are none those that the
// table's options name. An error says why they cannot be split.
func (d *Document) Declare(names []string) error {
	t := d.table
	text := strings.Join(names, ", ")
	if text == "" {
		text = t.Options[ddl.OptionCounters]
	}
	if text == "" {
		return pgerr.New(pgerr.InvalidParameterValue, `no counters of table "%s" are declared`, t.Name).
			WithHint("ALTER TABLE %s SET (counters = 'Likes, Views') declares them for all of its documents,"+
				" or name them: SELECT sherd.hot_split(%s, %s, 16, ARRAY['Likes']).",
				builtin.QuoteIdent(t.Name), builtin.QuoteLiteral(builtin.QuoteIdent(t.Name)),
				builtin.QuoteLiteral(d.id))
	}
	if len(t.Triggers) > 0 {
		return pgerr.Unsupported(`documents of table "%s" cannot be split because it has triggers`, t.Name).
			WithHint("Drop the triggers first.")
	}
	if t.Hot == nil {
		t.Hot = &catalog.Hot{Next: 1}
	}
	list, err := ddl.Counters(t, text)
	if err != nil {
		return err
	}
	uses, err := d.uses()
	if err != nil {
		return err
	}
	for _, c := range list {
		if err := d.allowed(c, uses); err != nil {
			return err
		}
		at := slices.IndexFunc(t.Hot.Counters, c.Equal)
		if at < 0 {
			at = len(t.Hot.Counters)
			t.Hot.Counters = append(t.Hot.Counters, c)
		}
		d.which = append(d.which, int32(at))
	}
	if len(t.Hot.Counters) > maxCounters {
		return pgerr.New(pgerr.ProgramLimitExceeded, `table "%s" has more than %d counters`, t.Name, maxCounters)
	}
	return nil
}

// counterUse is a constraint, generated column or index of a table that reads columns.
type counterUse struct {
	what string
	expr query.Expr
}

// uses lists the expressions of a table's constraints, generated columns and indexes.
func (d *Document) uses() ([]counterUse, error) {
	name := builtin.QuoteIdent(KeyColumn(d.table).Name)
	view := d.t.View()
	text := fmt.Sprintf("UPDATE %s SET %s = %s", stmt.TableName(view, d.table), name, name)
	q, err := stmt.HiddenQuery(view, d.table.Database, text)
	if err != nil {
		return nil, err
	}
	var out []counterUse
	for _, c := range q.Checks {
		what := `constraint "` + c.Name + `"`
		if c.Generated >= 0 {
			what = `generated column "` + d.table.Columns[c.Generated].Name + `"`
		}
		out = append(out, counterUse{what, c.Expr})
	}
	for _, x := range q.Indexes {
		what := `index "` + x.Def.Name + `"`
		for _, k := range x.Keys {
			out = append(out, counterUse{what, k})
		}
		if x.Where != nil {
			out = append(out, counterUse{what, x.Where})
		}
		for _, n := range x.Def.Include {
			out = append(out, counterUse{what, &query.Var{Col: int(n) - 1}})
		}
	}
	return out, nil
}

// allowed refuses a counter that something stored with the row depends on: while the document is
// split, the row does not have the value of the counter.
func (d *Document) allowed(c catalog.Counter, uses []counterUse) error {
	t := d.table
	refuse := func(what string) error {
		return pgerr.Unsupported(`counter "%s" of table "%s" cannot be split: %s uses it`, c.Name(t), t.Name, what).
			WithHint("What is split must be added to without looking at the sum.")
	}
	for _, k := range t.Constraints {
		if slices.Contains(k.Columns, c.Column) && (len(c.Path) == 0 || k.Kind != catalog.Check) {
			return refuse(`constraint "` + k.Name + `"`)
		}
	}
	for _, u := range uses {
		if usesCounter(u.expr, c) {
			return refuse(u.what)
		}
	}
	if t.Policy != nil {
		for _, f := range t.Policy.Fields {
			if x, ok := ddl.CounterOf(t, f); ok && x.Column == c.Column && overlap(x.Path, c.Path) {
				return refuse("the sharding policy")
			}
		}
	}
	for _, o := range t.Hot.Counters {
		if o.Column == c.Column && !o.Equal(c) && overlap(o.Path, c.Path) {
			return refuse(`counter "` + o.Name(t) + `"`)
		}
	}
	return nil
}

// overlap reports whether one path begins with the other.
func overlap(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// usesCounter reports whether an expression may read a counter. It does not if it first takes
// another field out of the document.
func usesCounter(e query.Expr, c catalog.Counter) bool {
	column := int(c.Column) - 1
	isColumn := func(e query.Expr) bool {
		v, ok := e.(*query.Var)
		return ok && (v.Col == column || v.Col == query.ColWholeRow)
	}
	elsewhere := func(path []string) bool { return len(path) > 0 && len(c.Path) > 0 && path[0] != c.Path[0] }
	found := false
	query.Walk(e, func(x query.Expr) bool {
		switch n := x.(type) {
		case *query.Call:
			if len(n.Args) == 2 && isColumn(n.Args[0]) {
				switch n.Op {
				case "->", "->>":
					return !elsewhere(constants(n.Args[1:]))
				case "#>", "#>>":
					return !elsewhere(constantPath(n.Args[1]))
				}
			}
		case *query.Subscript:
			if isColumn(n.Base) && n.Assign == nil && !n.Slice {
				return !elsewhere(constants(n.Upper))
			}
		}
		found = found || isColumn(x)
		return true
	})
	return found
}
