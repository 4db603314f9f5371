package ddl

import (
	"fmt"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/settings"
)

// Changes of policies, settings and databases are recorded for sherd.changelog in the same change
// of the catalog as the change itself, so a rollback leaves no record.

func (c *change) log(kind string, database catalog.OID, subject, what string) error {
	who := c.For
	if who == "" {
		who = c.me.Name
	}
	return c.ch.Record(&catalog.Record{Kind: kind, Database: database, Subject: subject, Change: what, Who: who},
		time.Now().UnixMicro())
}

// logPolicy records that a table's policy was replaced; nil means no policy.
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

// logSetting records a change of the settings that new sessions start with; subject names the role
// or database.
func (c *change) logSetting(database catalog.OID, subject string, n *pg_query.VariableSetStmt) error {
	switch n.Kind {
	case pg_query.VariableSetKind_VAR_RESET_ALL:
		return c.log(catalog.SettingRecord, database, subject, "all settings reset")
	case pg_query.VariableSetKind_VAR_SET_VALUE:
	default:
		return c.log(catalog.SettingRecord, database, subject, n.Name+" reset")
	}
	value, err := settings.Text(n.Name, n.Args)
	if err != nil {
		return err
	}
	return c.log(catalog.SettingRecord, database, subject, fmt.Sprintf("%s set to '%s'", n.Name, value))
}
