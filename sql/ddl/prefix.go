package ddl

import (
	"context"
	"slices"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// PrefixTables returns the tables of a database that are placed by its prefix rules.
func PrefixTables(v *catalog.View, database catalog.OID) (out []catalog.OID) {
	for t := range v.Tables(database) {
		if t.FollowsPrefixes() {
			out = append(out, t.OID)
		}
	}
	return out
}

// ChangePrefixes adds or drops a prefix rule, as edit says, and redefines all tables that are
// placed by prefix rules, which the caller has locked. rewritten lists the tables whose rows must
// move and are rewritten; unvalidated lists those whose policies are not validated any more. It
// returns 40001 if another table has been created meanwhile.
func ChangePrefixes(ctx context.Context, e *Env, locked, rewritten, unvalidated []catalog.OID,
	edit func(*catalog.Change) error) error {
	r := &runner{Env: e, ctx: ctx}
	var rewrites []Rewrite
	err := r.updateLocked(locked, func(c *change) error {
		rewrites = nil
		if err := edit(c.ch); err != nil {
			return err
		}
		for _, oid := range PrefixTables(c.view, c.Database) {
			if !slices.Contains(locked, oid) {
				return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
					WithDetail("A table was made while a rule for a prefix was made or dropped.").WithHint("Try again.")
			}
			if err := c.applyPrefixRules(oid, slices.Contains(rewritten, oid),
				slices.Contains(unvalidated, oid)); err != nil {
				return err
			}
			if c.rewrite != nil {
				rewrites = append(rewrites, *c.rewrite)
				c.rewrite = nil
			}
		}
		return nil
	})
	for _, w := range rewrites {
		if err == nil {
			err = r.rewriteTable(w)
		}
	}
	return err
}

// applyPrefixRules redefines a table by the changed rules.
func (c *change) applyPrefixRules(oid catalog.OID, rewritten, unvalidated bool) error {
	was := c.view.Table(oid)
	t := was.Clone()
	if unvalidated {
		t.PolicyValidated = false
		c.notice(pgerr.SuccessfulCompletion,
			`the sharding policy of "%s" is not validated any more: documents lie elsewhere than their content `+
				`belongs now`, t.Name)
		c.notices[len(c.notices)-1].Hint = "SELECT sherd.replace_placement('" + t.Name +
			"'); changes their ids so that they lie there."
	}
	if !rewritten {
		return c.ch.PutTable(t)
	}
	d := &draft{change: c, t: t, was: was, restored: true}
	d.filled = func() (bool, error) { return true, nil }
	return d.putTable()
}

// The option shard_prefixes of CREATE TABLE has the prefix rules of the database that a table was
// dumped from. Rules belong to the database: missing ones are created at once, as by
// sherd.set_prefix, even if the transaction rolls back.

// restorePrefixes creates the rules that the options of a new table name.
func (r *runner) restorePrefixes(options []*pg_query.Node) error {
	text := ""
	for _, n := range options {
		if e := n.GetDefElem(); e.Defname == catalog.PrefixOption && e.Defnamespace == "" {
			text = optionText(e.Arg)
		}
	}
	if text == "" {
		return nil
	}
	missing, err := r.missingPrefixes(r.Catalog.View(), text)
	if err != nil || len(missing) == 0 {
		return err
	}
	if me := r.View().Role(r.Role); me == nil || !me.Superuser {
		return pgerr.New(pgerr.InsufficientPrivilege, `permission denied to make a rule for prefix "%s"`,
			missing[0].Text).
			WithHint("Only superusers may. Call sherd.set_prefix before, or restore as one.")
	}
	tables := PrefixTables(r.View(), r.Database)
	if err := r.Lock(r.ctx, tables); err != nil {
		return err
	}
	if err := r.checkUnused(tables); err != nil {
		return err
	}
	_, err = r.Catalog.Update(r.ctx, func(v *catalog.View, ch *catalog.Change) error {
		missing, err := r.missingPrefixes(v, text)
		if err != nil || len(missing) == 0 {
			return err
		}
		author := catalog.Author{Who: v.Role(r.Role).Name, Why: "restored with a table",
			Micros: time.Now().UnixMicro()}
		if err := ch.RestorePrefixes(r.Database, missing, author); err != nil {
			return err
		}
		for _, oid := range PrefixTables(v, r.Database) {
			if !slices.Contains(tables, oid) {
				return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
					WithDetail("A table was made while a rule for a prefix was made.").WithHint("Try again.")
			}
			if err := ch.PutTable(v.Table(oid)); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

func (r *runner) missingPrefixes(v *catalog.View, text string) ([]catalog.PrefixRule, error) {
	d := v.Database(r.Database)
	if d == nil {
		return nil, pgerr.New(pgerr.InvalidCatalogName, "the database does not exist any more")
	}
	rules, err := d.ParsePrefixText(text)
	if err != nil {
		return nil, err
	}
	return d.MissingPrefixes(rules)
}

// checkUnused returns an error if a new rule would move rows: tables must have no primary key yet,
// or no rows. Tables that only the running transaction knows cannot follow a rule that is in force
// for all.
func (r *runner) checkUnused(tables []catalog.OID) error {
	v, newest := r.View(), r.Catalog.View()
	c := &change{runner: r, view: v, me: v.Role(r.Role)}
	for _, oid := range tables {
		t, known := v.Table(oid), newest.Table(oid)
		if known == nil || known.Version != t.Version {
			return pgerr.Unsupported("making a rule for a prefix after other tables in a transaction is not supported").
				WithHint("Call sherd.set_prefix before the transaction.")
		}
		if t.PrimaryKey() == nil {
			continue
		}
		empty, err := c.isEmpty(t)
		if err != nil {
			return err
		}
		if !empty {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
				`rules for prefixes cannot be restored while table "%s" has rows`, t.Name).
				WithHint("Restore into an empty database, or call sherd.set_prefix before.")
		}
	}
	return nil
}
