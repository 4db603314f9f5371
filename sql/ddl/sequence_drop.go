package ddl

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// usingDefault is a column whose default uses a sequence that is to be dropped.
type usingDefault struct {
	table *catalog.Table
	att   int16
}

// names reports whether a stored default refers to a sequence. Stored text refers to objects by
// OID.
func names(text string, sequence catalog.OID) bool {
	return strings.Contains(text, "'"+strconv.FormatUint(uint64(sequence), 10)+"'::regclass")
}

// sequenceUsers returns the columns whose default uses a sequence.
func (c *change) sequenceUsers(sequence *catalog.Table) []usingDefault {
	var out []usingDefault
	for t := range c.view.Tables(sequence.Database) {
		for i := range t.Columns {
			if col := &t.Columns[i]; !col.Dropped && names(col.Default, sequence.OID) {
				out = append(out, usingDefault{t, col.AttNum})
			}
		}
	}
	return out
}

// withOwned adds the sequences that tables own, to lock them.
func (c *change) withOwned(tables []catalog.OID) []catalog.OID {
	out := slices.Clone(tables)
	for _, oid := range tables {
		if t := c.view.Table(oid); t != nil && t.Kind == catalog.KindTable {
			for _, s := range c.view.OwnedSequences(t) {
				if !slices.Contains(out, s.OID) {
					out = append(out, s.OID)
				}
			}
		}
	}
	return out
}

// withUsers adds the tables with defaults that use a sequence among relations, or a sequence that
// one of relations owns.
func (c *change) withUsers(relations []catalog.OID) []catalog.OID {
	out := slices.Clone(relations)
	for _, oid := range c.withOwned(relations) {
		t := c.view.Table(oid)
		if t == nil || t.Sequence == nil {
			continue
		}
		for _, u := range c.sequenceUsers(t) {
			if !slices.Contains(out, u.table.OID) {
				out = append(out, u.table.OID)
			}
		}
	}
	return out
}

// sequenceDependents returns the dependents of dropped sequences, except columns that are dropped
// with them.
func (c *change) sequenceDependents(list []*catalog.Table, with func(usingDefault) bool) (lines, gone []string,
	users []usingDefault) {
	for _, s := range slices.Backward(list) { // in PostgreSQL's order
		for _, u := range c.sequenceUsers(s) {
			if with(u) || slices.Contains(users, u) {
				continue
			}
			what := "default value for column " + u.table.ColumnByNum(u.att).
				Name + " of table " + c.visibleName(u.table)
			lines = append(lines, what+" depends on sequence "+c.visibleName(s))
			gone, users = append(gone, what), append(users, u)
		}
	}
	return lines, gone, users
}

// dropDefaults removes defaults. Tables that the statement drops or puts itself are not in users.
func (c *change) dropDefaults(users []usingDefault) error {
	changed := map[catalog.OID]*catalog.Table{}
	for _, u := range users {
		if err := c.requireLocked(u.table); err != nil {
			return err
		}
		t := changed[u.table.OID]
		if t == nil {
			t = u.table.Clone()
			changed[u.table.OID] = t
		}
		t.ColumnByNum(u.att).Default = ""
	}
	for _, t := range changed {
		if err := c.ch.PutTable(t); err != nil {
			return err
		}
	}
	return nil
}

// dropDefaultsAndKeys is like dropDefaults for tables that may also lose foreign keys.
func (c *change) dropDefaultsAndKeys(users []usingDefault) error {
	for _, u := range users {
		if err := c.requireLocked(u.table); err != nil {
			return err
		}
		if c.lost == nil {
			c.lost = map[catalog.OID][]int16{}
		}
		if c.cut == nil {
			c.cut = map[catalog.OID][]catalog.OID{}
		}
		c.lost[u.table.OID] = append(c.lost[u.table.OID], u.att)
		// 0 is no key's OID: only the default is removed
		c.cut[u.table.OID] = append(c.cut[u.table.OID], 0)
	}
	return nil
}

// dropSequences is DROP SEQUENCE.
func (r *runner) dropSequences(n *pg_query.DropStmt) error {
	names := objectNames(n)
	return r.updateExclusive(func(c *change) []catalog.OID {
		if n.Behavior == pg_query.DropBehavior_DROP_CASCADE {
			return withViews(c, c.withUsers(c.find(names...)))
		}
		return c.find(names...)
	}, func(c *change) error {
		list, err := relationsToDrop(c, names, "sequence", n.MissingOk)
		if err != nil {
			return err
		}
		for _, s := range list {
			if t := c.view.Table(s.Sequence.Table); s.Sequence.Internal && t != nil {
				col := "column " + t.ColumnByNum(s.Sequence.Column).Name + " of table " + c.visibleName(t)
				return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop sequence %s because %s requires it",
					c.visibleName(s), col).
					WithHint("You can drop %s instead.", col)
			}
		}
		return c.dropSequenceList(list, n.Behavior)
	})
}

func (c *change) dropSequenceList(list []*catalog.Table, behavior pg_query.DropBehavior) error {
	if len(list) == 0 {
		return nil
	}
	lines, gone, users := c.sequenceDependents(list, func(usingDefault) bool { return false })
	views := dependentViews(c, relationsUsed(c, list), nil)
	moreLines, moreGone := dependentLines(c, views)
	lines, gone = append(lines, moreLines...), append(gone, moreGone...)
	if err := c.cascade("sequence "+c.visibleName(list[0]), len(list) > 1, lines, gone, behavior); err != nil {
		return err
	}
	if err := errors.Join(c.dropDefaults(users), dropViews(c, views)); err != nil {
		return err
	}
	for _, s := range list {
		if err := c.dropTable(s); err != nil {
			return err
		}
	}
	return nil
}

// dropOwned drops the sequences that a column of the draft owns; att 0 means all columns.
func (d *draft) dropOwned(att int16, behavior pg_query.DropBehavior) error {
	var list []*catalog.Table
	for _, s := range d.view.OwnedSequences(d.t) {
		if s.Sequence.Column == att {
			if err := d.requireLocked(s); err != nil {
				return err
			}
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return nil
	}
	lines, gone, users := d.sequenceDependents(list, func(u usingDefault) bool {
		return u.table.OID == d.t.OID && u.att == att
	})
	what := "column " + d.t.ColumnByNum(att).Name + " of table " + d.t.Name
	if err := d.cascade(what, false, lines, gone, behavior); err != nil {
		return err
	}
	others := slices.DeleteFunc(users, func(u usingDefault) bool {
		if u.table.OID == d.t.OID {
			d.t.ColumnByNum(u.att).Default = ""
		}
		return u.table.OID == d.t.OID
	})
	if err := d.dropDefaults(others); err != nil {
		return err
	}
	for _, s := range list {
		if err := d.dropTable(s); err != nil {
			return err
		}
	}
	return nil
}

// ownedBy returns the sequences that tables own, all of them locked.
func (c *change) ownedBy(tables []*catalog.Table) ([]*catalog.Table, error) {
	var out []*catalog.Table
	for _, t := range tables {
		if t.Kind != catalog.KindTable {
			continue
		}
		for _, s := range c.view.OwnedSequences(t) {
			if err := c.requireLocked(s); err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// dropWithSequences drops tables with the sequences that they own. The caller has checked that
// nothing else depends on these.
func (c *change) dropWithSequences(list []*catalog.Table) error {
	owned, err := c.ownedBy(list)
	if err != nil {
		return err
	}
	for _, t := range append(slices.Clone(list), owned...) {
		if err := c.dropTable(t); err != nil {
			return err
		}
	}
	return nil
}

// ownedAmong reports whether a relation is a sequence that one of the tables owns, and so is
// dropped with it.
func (c *change) ownedAmong(t *catalog.Table, tables []*catalog.Table) bool {
	return t.Sequence != nil && slices.ContainsFunc(tables,
		func(o *catalog.Table) bool { return o.OID == t.Sequence.Table })
}

// sequenceDependentsOf is sequenceDependents for one relation that is dropped together with others.
func (c *change) sequenceDependentsOf(t *catalog.Table,
	dropped []*catalog.Table) (lines, gone []string, users []usingDefault) {
	if t.Sequence == nil {
		return nil, nil, nil
	}
	return c.sequenceDependents([]*catalog.Table{t},
		func(u usingDefault) bool { return slices.Contains(dropped, u.table) })
}
