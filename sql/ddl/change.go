package ddl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/types"
)

// change is one attempt to run a statement: the definitions that it puts and drops, planned against
// a view.
type change struct {
	*runner
	view     *catalog.View
	ch       *catalog.Change
	me       *catalog.Role
	notices  []*pgerr.Error
	locked   []catalog.OID // tables that may be changed
	taken    map[string]bool
	rewrites []Rewrite // of the rows of tables, after the change

	proveLater []proof // keys to verify after the rewrite
	fills      []fill
	cut        map[catalog.OID][]catalog.OID // foreign keys and statistics that CASCADE drops, by table
	// columns that lose a dropped sequence, by table; the table is in cut too
	lost map[catalog.OID][]int16
	made *catalog.Schema // of temporary objects, which the session has not had before
}

// fill is an index that needs entries for the existing rows.
type fill struct{ table, index catalog.OID }

// proof is a foreign key to verify against the existing rows of a table.
type proof struct{ table, key catalog.OID }

// fill records indexes to be filled after the change has been made.
func (c *change) fill(table catalog.OID, indexes []catalog.OID) {
	for _, x := range indexes {
		c.fills = append(c.fills, fill{table, x})
	}
}

// errMoved means that a name refers to another table now than when the locks were taken.
var errMoved = errors.New("ddl: a table was replaced meanwhile")

// update adds the steps that f plans to the transaction's change; f may run several times. Notices
// of the last attempt are sent to the client even if it failed.
func (r *runner) update(f func(*change) error) error { return r.updateLocked(nil, f) }

func (r *runner) updateLocked(locked []catalog.OID, f func(*change) error) error {
	var notices []*pgerr.Error
	var fills []fill
	var rewrites []Rewrite
	var proofs []proof
	err := r.Change(r.ctx, func(v *catalog.View, ch *catalog.Change) error {
		c := &change{runner: r, view: v, ch: ch, locked: locked, taken: map[string]bool{}}
		if c.me = v.Role(r.Role); c.me == nil {
			return pgerr.New(pgerr.UndefinedObject, "role with OID %d does not exist", r.Role)
		}
		err := f(c)
		notices, fills, rewrites, proofs = c.notices, c.fills, c.rewrites, c.proveLater
		return err
	})
	if errors.Is(err, errMoved) {
		return err
	}
	for _, x := range rewrites {
		if err == nil {
			err = r.rewriteTable(x)
		}
	}
	for _, x := range fills {
		if err == nil {
			err = r.Fill(r.ctx, r.View(), x.table, x.index)
		}
	}
	for _, p := range proofs {
		if err == nil {
			err = r.verifyForeignKey(p)
		}
	}
	for _, n := range notices {
		if nerr := r.Notice(n); nerr != nil && err == nil {
			err = nerr
		}
	}
	return err
}

// rewriteTable rewrites the rows of a table by its new definition. It marks the policy as validated
// if all rows obey it.
func (r *runner) rewriteTable(w Rewrite) error {
	misplaced, err := r.Rewrite(r.ctx, r.View(), w)
	if err != nil || !w.Judge {
		return err
	}
	if misplaced {
		return r.Notice(notValidated(r.View(), r.View().Table(w.Table)))
	}
	return r.Change(r.ctx, func(v *catalog.View, ch *catalog.Change) error {
		c := &change{runner: r, view: v, ch: ch, me: v.Role(r.Role)}
		t := v.Table(w.Table).Clone()
		t.PolicyValidated = true
		return errors.Join(ch.PutTable(t), c.log(catalog.PolicyRecord, c.Database, c.quoted(v, t),
			t.Policy.Definition()+" validated"))
	})
}

// updateExclusive runs update while it holds exclusive locks, until the end of the transaction, on
// the tables that find returns. find returns only tables that exist; f reports errors about the
// others.
func (r *runner) updateExclusive(find func(*change) []catalog.OID, f func(*change) error) error {
	return r.locking(r.Lock, find, f)
}

// updateReserved is like updateExclusive, but its locks do not block reads and writes of the
// tables.
func (r *runner) updateReserved(find func(*change) []catalog.OID, f func(*change) error) error {
	return r.locking(r.Reserve, find, f)
}

func (r *runner) locking(lock func(context.Context, []catalog.OID) error, find func(*change) []catalog.OID,
	f func(*change) error) error {
	for {
		v := r.View()
		c := &change{runner: r, view: v, me: v.Role(r.Role)}
		tables := c.withOwned(find(c))
		err := r.whileLocked(lock, tables, f)
		if !errors.Is(err, errMoved) {
			return err
		}
		// another attempt would fail in the same way
		if r.View().DefinitionVersion() == v.DefinitionVersion() {
			return pgerr.New(pgerr.InternalError, "a definition changes a table that it has not locked")
		}
	}
}

func (r *runner) whileLocked(lock func(context.Context, []catalog.OID) error, tables []catalog.OID,
	f func(*change) error) error {
	if err := lock(r.ctx, tables); err != nil {
		return err
	}
	return r.updateLocked(tables, f)
}

// requireLocked returns an error unless a table is locked, which means that its definition cannot
// change.
func (c *change) requireLocked(t *catalog.Table) error {
	if !slices.Contains(c.locked, t.OID) {
		return errMoved
	}
	return nil
}

func (c *change) notice(code, format string, args ...any) {
	n := pgerr.New(code, format, args...)
	n.Severity = "NOTICE"
	c.notices = append(c.notices, n)
}

// noticeSkipped adds the notice of IF EXISTS and IF NOT EXISTS.
func (c *change) noticeSkipped(err *pgerr.Error) {
	code := err.Code
	switch code {
	case pgerr.UndefinedTable, pgerr.UndefinedObject, pgerr.InvalidSchemaName, pgerr.InvalidCatalogName,
		pgerr.UndefinedColumn, pgerr.ObjectNotInPrerequisiteState:
		code = pgerr.SuccessfulCompletion
	}
	c.notice(code, "%s, skipping", err.Message)
}

// skipsMissing reports whether err means that the relation of an ALTER … IF EXISTS, or its schema,
// does not exist. If so, it adds PostgreSQL's notice.
func (c *change) skipsMissing(err error, rv *pg_query.RangeVar) bool {
	if !pgerr.Is(err, pgerr.UndefinedTable) && !pgerr.Is(err, pgerr.InvalidSchemaName) {
		return false
	}
	c.notice(pgerr.SuccessfulCompletion, `relation "%s" does not exist, skipping`, rv.Relname)
	return true
}

// missing handles ALTER … IF EXISTS for a kind of relation that cannot be created yet.
func (r *runner) missing(rv *pg_query.RangeVar, tag string) error {
	return r.update(func(c *change) error {
		f, err := c.lookup(rv)
		if err == nil && f == (found{}) {
			err = undefinedRelation(rv)
		}
		if c.skipsMissing(err, rv) {
			return nil
		}
		if err != nil {
			return err
		}
		return pgerr.Unsupported("%s is not supported yet", tag).
			WithHint("There are no objects of this kind yet, except those that are built in.")
	})
}

func (c *change) newOID() (catalog.OID, error) { return c.Catalog.NewOID(c.ctx) }

// anyRow reports whether a SELECT against the definitions of view returns a row.
func (c *change) anyRow(view *catalog.View, text string) (bool, error) {
	found := false
	err := c.Query(c.ctx, view, text, func([]types.Datum) error {
		found = true
		return nil
	})
	return found, err
}

// isEmpty reports whether a table has no rows, by the definitions in force.
func (c *change) isEmpty(t *catalog.Table) (bool, error) {
	found, err := c.anyRow(c.view, "SELECT 1 FROM "+c.quoted(c.view, t)+" LIMIT 1")
	return !found, err
}

// quoted returns the quoted name of a table with its schema.
func (c *change) quoted(v *catalog.View, t *catalog.Table) string { return quotedName(v, t) }

func quotedName(v *catalog.View, t *catalog.Table) string {
	schema := ""
	if s := v.Schema(t.Schema); s != nil {
		schema = s.Name
	}
	return builtin.QuoteIdent(schema) + "." + builtin.QuoteIdent(t.Name)
}

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
