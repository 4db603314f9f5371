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
	if s, ok := v.session[key]; ok {
		return s, "session"
	}
	if s, ok := v.defaults[key]; ok {
		return s, "client"
	}
	return d.Default, "default"
}

// activity lists the sessions of this node. Other sessions' statements are theirs alone: they change while this one looks.
func (db *Server) activity() []sysview.Session {
	var out []sysview.Session
	db.eachSession(func(s *Session) {
		host, port := splitAddress(s.start.Remote)
		out = append(out, sysview.Session{
			PID: s.start.PID, Database: s.database, Role: s.role, Application: s.start.Settings["application_name"],
			ClientHost: host, ClientPort: port, Started: s.opened,
		})
	})
	slices.SortFunc(out, func(a, b sysview.Session) int { return int(int64(a.PID) - int64(b.PID)) })
	return out
}

// sessionRows is activity with what this session knows of itself.
func (s *Session) sessionRows() []sysview.Session {
	out := s.db.activity()
	for i := range out {
		if out[i].PID != s.start.PID {
			continue
		}
		me := &out[i]
		me.State, me.Query, me.QueryStarted, me.StateChanged = "active", s.query, s.queryAt, s.queryAt
		me.Application, _ = s.vars.get("application_name")
		if s.tx != nil {
			me.Transaction = s.tx.began
		}
	}
	return out
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
			out = append(out, sysview.Cursor{Name: name, Text: p.st.text})
		}
	}
	slices.SortFunc(out, func(a, b sysview.Cursor) int { return strings.Compare(a.Name, b.Name) })
	return out
}
