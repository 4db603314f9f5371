package ddl

import (
	"context"
	"slices"

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
