package plan

import (
	"fmt"
	"strings"

	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// ExprText prints an expression of a plan as SQL, columns with their table where the query has
// several. env prints constants; nil prints those of reg* types as numbers.
func ExprText(e query.Expr, env *types.Env) string {
	if e == nil {
		return ""
	}
	var marks []string
	// Names that are no plain identifiers are marked and put back after deparsing, which would
	// quote them.
	mark := func(t query.T, text string) query.Expr {
		m := fmt.Sprintf("\x01%d\x02", len(marks)/2)
		marks = append(marks, analyze.Deparse(&query.Var{T: t, Name: m}), text)
		return &query.Var{T: t, Name: m}
	}
	var name func(x query.Expr) (query.Expr, bool)
	name = func(x query.Expr) (query.Expr, bool) {
		switch n := x.(type) {
		case *query.Slot:
			if n.Of != nil {
				return query.Rewrite(n.Of, name), true
			}
			if n.Rel != "" {
				return mark(n.T, identifier(n.Rel)+"."+identifier(n.Name)), true
			}
			return &query.Var{T: n.T, Name: n.Name}, true
		case *query.Outer:
			if n.Of != nil {
				return query.Rewrite(n.Of, name), true
			}
			if n.Name == "" {
				return mark(n.T, fmt.Sprintf("$%d", n.N)), true
			}
			if n.Rel != "" {
				return mark(n.T, identifier(n.Rel)+"."+identifier(n.Name)), true
			}
			return &query.Var{T: n.T, Name: n.Name}, true
		case *SubPlan:
			return mark(n.T, "("+n.Name+")"), true
		case *query.Pick:
			return mark(n.T, "GROUPING()"), true
		}
		return nil, false
	}
	text := analyze.DeparseLine(query.Rewrite(e, name), env)
	return strings.NewReplacer(marks...).Replace(text)
}

func identifier(name string) string { return analyze.Deparse(&query.Var{Name: name}) }
