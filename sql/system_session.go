package sql

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/sql/sysview"
)

// preparedRows lists the session's prepared statements, by name.
func (s *Session) preparedRows() []sysview.Prepared {
	var out []sysview.Prepared
	for name, st := range s.statements {
		if name != "" {
			out = append(out, sysview.Prepared{Name: name, Text: st.text, Params: st.params, FromSQL: st.fromSQL})
		}
	}
	slices.SortFunc(out, func(a, b sysview.Prepared) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// cursorRows lists the session's open portals but the unnamed one, which runs this statement.
func (s *Session) cursorRows() []sysview.Cursor {
	var out []sysview.Cursor
	for name, p := range s.portals {
		if name != "" {
			out = append(out, sysview.Cursor{Name: name, Text: p.st.text, At: p.opened, Holdable: p.hold,
				Binary: p.binary, Scrollable: p.scroll != nil && p.scroll.back})
		}
	}
	slices.SortFunc(out, func(a, b sysview.Cursor) int { return strings.Compare(a.Name, b.Name) })
	return out
}
