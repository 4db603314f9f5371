package catalog

import (
	"fmt"
	"slices"
	"sync"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Reference is what a foreign key refers to: unique columns of a table, possibly its own, and what
// happens to the referring rows when such a key is changed or deleted.
type Reference struct {
	Table    OID
	Columns  []int16 // of that table, parallel to the constraint's
	Index    OID     // the unique index of these columns; 0 is the primary key
	Match    Match
	OnUpdate Action
	OnDelete Action
	// DeleteColumns are the columns that ON DELETE SET NULL or SET DEFAULT sets; empty means all.
	DeleteColumns []int16
}

// Match is pg_constraint.confmatchtype: the meaning of a key in which some columns are null.
type Match byte

// Kinds of matches.
const (
	MatchSimple Match = 's' // a key with a null refers to nothing
	MatchFull   Match = 'f' // either all columns are null, or none
)

// Action is pg_constraint.confupdtype and confdeltype.
type Action byte

// Actions.
const (
	NoAction   Action = 'a'
	Restrict   Action = 'r'
	Cascade    Action = 'c'
	SetNull    Action = 'n'
	SetDefault Action = 'd'
)

func (r *Reference) clone() *Reference {
	if r == nil {
		return nil
	}
	c := *r
	c.Columns, c.DeleteColumns = slices.Clone(r.Columns), slices.Clone(r.DeleteColumns)
	return &c
}

// Referrer is a foreign key and the table that has it.
type Referrer struct {
	Table *Table
	Key   *Constraint
}

// referrers maps a table to the foreign keys that refer to it. It is computed at the first use,
// because a view never changes.
type referrers struct {
	once  sync.Once
	by    map[OID][]Referrer
	users map[OID][]*Table // views, by the relations and constraints that they use
	// guarded has the tables whose row policies use a relation or a constraint.
	guarded map[OID][]*Table
}

// Referrers lists the foreign keys that refer to a table, the oldest first.
func (v *View) Referrers(table OID) []Referrer {
	findReferrers(v)
	return v.referrers.by[table]
}

func findReferrers(v *View) {
	v.referrers.once.Do(func() {
		v.referrers.by, v.referrers.users = map[OID][]Referrer{}, map[OID][]*Table{}
		v.referrers.guarded = map[OID][]*Table{}
		for t := range v.Tables(0) {
			t.View.eachObject(func(oid OID) { v.referrers.users[oid] = append(v.referrers.users[oid], t) })
			for _, oid := range t.usedByPolicies() {
				v.referrers.guarded[oid] = append(v.referrers.guarded[oid], t)
			}
			for i := range t.Constraints {
				if k := &t.Constraints[i]; k.Reference != nil {
					v.referrers.by[k.Reference.Table] = append(v.referrers.by[k.Reference.Table], Referrer{t, k})
				}
			}
		}
		for _, list := range v.referrers.by {
			slices.SortFunc(list, func(a, b Referrer) int { return int(a.Key.OID) - int(b.Key.OID) })
		}
	})
}

// checkReference checks a foreign key without looking at other objects.
func (c *Constraint) checkReference() error {
	r := c.Reference
	if (r != nil) != (c.Kind == ForeignKey) {
		return fmt.Errorf("constraint %q: only a foreign key refers to something, and each does", c.Name)
	}
	if r != nil && (r.Table == 0 || len(c.Columns) == 0 || len(r.Columns) != len(c.Columns)) {
		return fmt.Errorf("constraint %q refers to %d columns by %d", c.Name, len(r.Columns), len(c.Columns))
	}
	return nil
}

// checkReferred checks that the keys that t refers to exist.
func (v *View) checkReferred(t *Table) error {
	for i := range t.Constraints {
		k := &t.Constraints[i]
		if k.Reference == nil {
			continue
		}
		if err := v.checkKeyOf(k); err != nil {
			return err
		}
	}
	return nil
}

// checkReferrers checks that the keys that refer to t still find their columns.
func (v *View) checkReferrers(t *Table) error {
	for _, by := range v.Referrers(t.OID) {
		if err := v.checkKeyOf(by.Key); err != nil {
			return err
		}
	}
	return nil
}

func (v *View) checkKeyOf(k *Constraint) error {
	r := k.Reference
	t := v.Table(r.Table)
	if t == nil {
		return pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", r.Table)
	}
	for _, n := range r.Columns {
		if err := t.checkAttNum(n, false); err != nil {
			return fmt.Errorf("constraint %q: %w", k.Name, err)
		}
	}
	if r.Index == 0 && t.PrimaryKey() == nil || r.Index != 0 && t.Index(r.Index) == nil {
		return pgerr.New(pgerr.DependentObjectsStillExist,
			"the key of table %s that constraint %s refers to is not there any more", t.Name, k.Name)
	}
	return nil
}
