package sql

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

// declare finds the counters that the document shall have: those named, else those that the table's options name.
func (s *splitting) declare(names []string) error {
	t := s.table
	text := strings.Join(names, ", ")
	if text == "" {
		text = t.Options[ddl.OptionCounters]
	}
	if text == "" {
		return pgerr.New(pgerr.InvalidParameterValue, `no counters of table "%s" are declared`, t.Name).
			WithHint("ALTER TABLE %s SET (counters = 'Likes, Views') declares them for all of its documents, or name them: SELECT sherd.hot_split(%s, %s, 16, ARRAY['Likes']).",
				builtin.QuoteIdent(t.Name), builtin.QuoteLiteral(builtin.QuoteIdent(t.Name)), builtin.QuoteLiteral(s.id))
	}
	if t.Hot == nil {
		t.Hot = &catalog.Hot{Next: 1}
	}
	list, err := ddl.Counters(t, text)
	if err != nil {
		return err
	}
	uses, err := s.uses()
	if err != nil {
		return err
	}
	for _, c := range list {
		if err := s.allowed(c, uses); err != nil {
			return err
		}
		at := slices.IndexFunc(t.Hot.Counters, c.Equal)
		if at < 0 {
			at = len(t.Hot.Counters)
			t.Hot.Counters = append(t.Hot.Counters, c)
		}
		s.which = append(s.which, int32(at))
	}
	if len(t.Hot.Counters) > maxCounters {
		return pgerr.New(pgerr.ProgramLimitExceeded, `table "%s" has more than %d counters`, t.Name, maxCounters)
	}
	return nil
}

// counterUse is something of a table that looks at its columns.
type counterUse struct {
	what string
	expr query.Expr
}

// uses lists the expressions of a table's constraints, generated columns and indexes.
func (s *splitting) uses() ([]counterUse, error) {
	name := builtin.QuoteIdent(keyColumn(s.table).Name)
	view := s.view()
	q, err := stmt.HiddenQuery(view, s.table.Database, fmt.Sprintf("UPDATE %s SET %s = %s", quotedName(view, s.table), name, name))
	if err != nil {
		return nil, err
	}
	var out []counterUse
	for _, c := range q.Checks {
		what := `constraint "` + c.Name + `"`
		if c.Generated >= 0 {
			what = `generated column "` + s.table.Columns[c.Generated].Name + `"`
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

// allowed refuses a counter on whose value something hangs that is kept with the row: the row does not say the value while it is split.
func (s *splitting) allowed(c catalog.Counter, uses []counterUse) error {
	t := s.table
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

// overlap tells whether one path begins with the other.
func overlap(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// usesCounter tells whether an expression may look at a counter. Of a document it looks elsewhere if it takes another field out first.
func usesCounter(e query.Expr, c catalog.Counter) bool {
	column := int(c.Column) - 1
	isColumn := func(e query.Expr) bool {
		v, ok := e.(*query.Var)
		return ok && (v.Col == column || v.Col == query.ColWholeRow)
	}
	elsewhere := func(step []string) bool { return len(step) > 0 && len(c.Path) > 0 && step[0] != c.Path[0] }
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
