package portal

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/sql/sysview"
)

// List returns the rows of pg_prepared_statements.
func (t *Statements) List() []sysview.Prepared {
	var out []sysview.Prepared
	for name, st := range t.byName {
		if name != "" {
			out = append(out, sysview.Prepared{
				Name: name, Text: st.Text, At: st.made, Params: st.Params, FromSQL: st.fromSQL,
				Generic: st.generic, Custom: st.custom,
			})
		}
	}
	slices.SortFunc(out, func(a, b sysview.Prepared) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// List returns the rows of pg_cursors. It leaves out the unnamed portal, which runs this statement.
func (t *Portals) List() []sysview.Cursor {
	var out []sysview.Cursor
	for name, p := range t.byName {
		if name != "" {
			out = append(out, sysview.Cursor{Name: name, Text: p.Statement.Text, At: p.opened, Holdable: p.hold,
				Binary: p.binary, Scrollable: p.scroll != nil && p.scroll.back})
		}
	}
	slices.SortFunc(out, func(a, b sysview.Cursor) int { return strings.Compare(a.Name, b.Name) })
	return out
}
