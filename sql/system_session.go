package sql

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/sql/sysview"
)

// rows lists the prepared statements for pg_prepared_statements.
func (p preparedStatements) rows() []sysview.Prepared {
	var out []sysview.Prepared
	for name, st := range p {
		if name != "" {
			out = append(out, sysview.Prepared{Name: name, Text: st.text, Params: st.params, FromSQL: st.fromSQL})
		}
	}
	slices.SortFunc(out, func(a, b sysview.Prepared) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// portals are the open portals of a session, by name.
type portals map[string]*portal

// rows lists the portals for pg_cursors. It leaves out the unnamed portal, which runs this
// statement.
func (list portals) rows() []sysview.Cursor {
	var out []sysview.Cursor
	for name, p := range list {
		if name != "" {
			out = append(out, sysview.Cursor{Name: name, Text: p.st.text, At: p.opened, Holdable: p.hold,
				Binary: p.binary, Scrollable: p.scroll != nil && p.scroll.back})
		}
	}
	slices.SortFunc(out, func(a, b sysview.Cursor) int { return strings.Compare(a.Name, b.Name) })
	return out
}
