package ddl

import (
	"slices"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

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
