package ddl

import (
	"fmt"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
)

// What a statement changes of policies, settings and databases is kept for sherd.changelog, as part of the same change of the catalog: who rolls back has
// changed nothing.

func (c *change) log(kind string, database catalog.OID, subject, what string) error {
	who := c.For
	if who == "" {
		who = c.me.Name
	}
	return c.ch.Record(&catalog.Record{Kind: kind, Database: database, Subject: subject, Change: what, Who: who}, time.Now().UnixMicro())
}

// logPolicy keeps that a table's policy has become another one; nil is none.
func (d *draft) logPolicy(old, now *shardmap.Policy) error {
	what := "no policy"
	if now != nil {
		what = now.Definition()
		if !d.t.PolicyValidated && !now.Mutable {
			what += ", not validated"
		}
	}
	if old != nil {
		what += " instead of " + old.Definition()
	}
	return d.log(catalog.PolicyRecord, d.Database, d.quoted(d.view, d.t), what)
}

// logSetting keeps a change of what sessions begin with; subject says whose.
func (c *change) logSetting(database catalog.OID, subject string, n *pg_query.VariableSetStmt) error {
	switch n.Kind {
	case pg_query.VariableSetKind_VAR_RESET_ALL:
		return c.log(catalog.SettingRecord, database, subject, "all settings reset")
	case pg_query.VariableSetKind_VAR_SET_VALUE:
	default:
		return c.log(catalog.SettingRecord, database, subject, n.Name+" reset")
	}
	value, err := settingText(n)
	if err != nil {
		return err
	}
	return c.log(catalog.SettingRecord, database, subject, fmt.Sprintf("%s set to '%s'", n.Name, value))
}
