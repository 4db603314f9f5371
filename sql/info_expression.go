package sql

import (
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/query"
)

// spell prints an expression that the catalog keeps over a table's columns as pg_get_expr does. What is no expression, such as a list of
// defaults or a sharding policy, is printed as it is.
func (s *Session) spell(table uint32, text string, pretty bool) string {
	view := s.view()
	var over []query.Column
	if t := view.Table(table); t != nil {
		for _, c := range t.Columns {
			over = append(over, query.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod, Dropped: c.Dropped})
		}
	}
	e, err := analyze.Expression(s.currentCompiler().Analysis(text), text, over)
	if err != nil {
		return text
	}
	return analyze.DeparseWith(e, s.Env(), pretty)
}
