package sql

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/sysview"
)

// source gives a parameter's value in its base unit, and where it comes from (pg_settings.source).
func (v *variables) source(d *settings.Definition) (value, source string) {
	key := strings.ToLower(d.Name)
	if v.live != nil {
		if s, ok := v.live(key); ok {
			return s, "override"
		}
	}
	if s, ok := v.session[key]; ok {
		return s, "session"
	}
	if s, ok := v.defaults[key]; ok {
		return s, "client"
	}
	if d.Context == "sighup" && v.cluster != nil {
		if s, ok := v.cluster(d.Name); ok {
			return s, "configuration file"
		}
	}
	if s, ok := v.given[key]; ok {
		return s, "command line"
	}
	return d.Default, "default"
}

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
