package sysview

import (
	"strconv"
	"unicode/utf8"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/types"
)

// pgStatActivity lists the sessions. Details of other sessions are visible to superusers and to
// sessions of the same role.
func pgStatActivity(b *builder) error {
	size := b.env.querySize()
	for _, s := range b.env.Sessions() {
		r := b.row().oid("datid", s.Database).int("pid", int64(s.PID)).oid("usesysid", s.Role).
			text("application_name", s.Application).
			optional("usename", b.env.roleName(s.Role))
		if d := b.env.View.Database(s.Database); d != nil {
			r.text("datname", d.Name)
		}
		if s.Writes {
			r.set("backend_xid", types.NewOid(s.XID))
		}
		if b.env.Role != nil && b.env.Role.Sees(s.Role) {
			s.setPrivate(r, size)
		} else {
			r.text("query", noPrivilege)
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}

// noPrivilege replaces a statement that the session may not see.
const noPrivilege = "<insufficient privilege>"

// setPrivate sets the columns that only privileged sessions see.
func (s *Session) setPrivate(r *record, size int) {
	r.time("backend_start", s.Started).time("xact_start", s.Transaction).time("query_start", s.QueryStarted).
		time("state_change", s.StateChanged).optional("state", s.State).text("query", clip(s.Query, size)).
		text("backend_type", "client backend").
		optional("wait_event_type", s.WaitType).optional("wait_event", s.Wait).optional("client_addr", s.ClientHost)
	if s.ClientHost == "" {
		r.int("client_port", -1)
	} else {
		r.int("client_port", int64(s.ClientPort))
	}
}

// querySize returns track_activity_query_size.
func (e *Env) querySize() int {
	if d, ok := settings.Lookup("track_activity_query_size"); ok {
		value, _ := e.Setting(d)
		if n, err := strconv.Atoi(value); err == nil {
			return n
		}
	}
	return 1024
}

// clip truncates a text to less than size bytes, at a character boundary.
func clip(s string, size int) string {
	if len(s) < size {
		return s
	}
	n := max(size-1, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// pgStatDatabase sums the counters of all nodes since each node's start; what is not counted is
// null.
func pgStatDatabase(b *builder) error {
	backends := map[uint32]int64{}
	for _, s := range b.env.Sessions() {
		backends[s.Database]++
	}
	counters := map[catalog.OID]Counters{}
	for _, x := range b.env.Counters() {
		c := counters[x.Database]
		counters[x.Database] = Counters{x.Database, c.Commits + x.Commits, c.Rollbacks + x.Rollbacks,
			c.Deadlocks + x.Deadlocks}
	}
	for d := range b.env.View.Databases() {
		c := counters[d.OID]
		err := b.row().oid("datid", d.OID).text("datname", d.Name).int("numbackends", backends[d.OID]).
			int("xact_commit", c.Commits).
			int("xact_rollback", c.Rollbacks).int("deadlocks", c.Deadlocks).send()
		if err != nil {
			return err
		}
	}
	return nil
}

func pgPreparedStatements(b *builder) error {
	for _, p := range b.env.Prepared() {
		params := make([]types.Datum, len(p.Params))
		for i, o := range p.Params {
			params[i] = types.NewOid(o)
		}
		err := b.row().text("name", p.Name).text("statement", p.Text).time("prepare_time", p.At).
			set("parameter_types", types.NewList(types.RegType, params)).bool("from_sql", p.FromSQL).
			int("generic_plans", p.Generic).int("custom_plans", p.Custom).send()
		if err != nil {
			return err
		}
	}
	return nil
}

func pgCursors(b *builder) error {
	for _, c := range b.env.Cursors() {
		err := b.row().text("name", c.Name).text("statement", c.Text).bool("is_holdable", c.Holdable).
			bool("is_binary", c.Binary).
			bool("is_scrollable", c.Scrollable).time("creation_time", c.At).send()
		if err != nil {
			return err
		}
	}
	return nil
}

func pgPreparedXacts(b *builder) error {
	list, err := b.env.PreparedTransactions()
	if err != nil {
		return err
	}
	for _, h := range list {
		r := b.row().set("transaction", types.NewOid(h.XID)).text("gid", h.GID).time("prepared", h.At).
			optional("owner", b.env.roleName(h.Role))
		if d := b.env.View.Database(h.Database); d != nil {
			r.text("database", d.Name)
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}
