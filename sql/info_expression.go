package sql

import (
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/query"
)

// spell prints an expression over a table's columns, as the catalog keeps it, in the form of
// pg_get_expr. It returns text that is not an expression, such as a list of defaults or a sharding
// policy, unchanged.
func (s *Session) spell(table uint32, text string, pretty bool) string {
	view := s.block.View()
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
