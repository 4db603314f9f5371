package ddl

import (
	"context"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// PrefixTables gives the tables of a database that lie by its rules for prefixes.
func PrefixTables(v *catalog.View, database catalog.OID) (out []catalog.OID) {
	for t := range v.Tables(database) {
		if t.FollowsPrefixes() {
			out = append(out, t.OID)
		}
	}
	return out
}

// ChangePrefixes makes or drops a rule for a prefix, as edit says, and redefines all tables that lie by it, which the caller has locked. Those to be stored anew have
// rows that are to lie elsewhere; the policies of those that are doubted are not validated any more. Where a table has come meanwhile, it is 40001.
func ChangePrefixes(ctx context.Context, e *Env, locked, anew, doubted []catalog.OID, edit func(*catalog.Change) error) error {
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
			if err := c.follow(oid, slices.Contains(anew, oid), slices.Contains(doubted, oid)); err != nil {
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
			err = r.storeAgain(w)
		}
	}
	return err
}

// follow redefines a table by the rules that the change has made.
func (c *change) follow(oid catalog.OID, anew, doubted bool) error {
	was := c.view.Table(oid)
	t := was.Clone()
	if doubted {
		t.PolicyValidated = false
		c.notice(pgerr.SuccessfulCompletion, `the sharding policy of "%s" is not validated any more: documents lie elsewhere than their content belongs now`, t.Name)
		c.notices[len(c.notices)-1].Hint = "SELECT sherd.replace_placement('" + t.Name + "'); gives them ids by which they lie there."
	}
	if !anew {
		return c.ch.PutTable(t)
	}
	d := &draft{change: c, t: t, was: was, restored: true}
	d.filled = func() (bool, error) { return true, nil }
	return d.putTable()
}
