package sysview

import (
	"github.com/sherddb/sherd/sql/types"
)

func pgStatActivity(b *builder) error {
	for _, s := range b.env.Sessions() {
		r := b.row().oid("datid", s.Database).int("pid", int64(s.PID)).oid("usesysid", s.Role).text("application_name", s.Application).
			time("backend_start", s.Started).time("xact_start", s.Transaction).time("query_start", s.QueryStarted).
			time("state_change", s.StateChanged).optional("state", s.State).text("query", s.Query).text("backend_type", "client backend")
		if d := b.env.View.Database(s.Database); d != nil {
			r.text("datname", d.Name)
		}
		r.optional("usename", b.env.roleName(s.Role)).optional("client_addr", s.ClientHost)
		if s.ClientHost == "" {
			r.int("client_port", -1)
		} else {
			r.int("client_port", int64(s.ClientPort))
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}

// pgStatDatabase counts the sessions of this node; what is not counted is null.
func pgStatDatabase(b *builder) error {
	backends := map[uint32]int64{}
	for _, s := range b.env.Sessions() {
		backends[s.Database]++
	}
	for d := range b.env.View.Databases() {
		if err := b.row().oid("datid", d.OID).text("datname", d.Name).int("numbackends", backends[d.OID]).send(); err != nil {
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
			set("parameter_types", types.NewList(types.RegType, params)).bool("from_sql", p.FromSQL).send()
		if err != nil {
			return err
		}
	}
	return nil
}

func pgCursors(b *builder) error {
	for _, c := range b.env.Cursors() {
		err := b.row().text("name", c.Name).text("statement", c.Text).bool("is_holdable", false).bool("is_binary", false).
			bool("is_scrollable", false).time("creation_time", c.At).send()
		if err != nil {
			return err
		}
	}
	return nil
}
