package catalog

import (
	"errors"
	"slices"
	"strings"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/pgerr"
)

// ViewRule is the definition of a SQL view.
type ViewRule struct {
	OID   OID    // of the rule _RETURN, in pg_rewrite
	Query string // in the stored form of package sql/deparse, which has no names that can change
	Uses  []Use  // what the query depends on: relations by OID, then constraints
	// Populated is set of a materialized view that has the rows of a refresh.
	Populated bool
}

// IsView reports whether t is a view whose query is run where the view is read.
func (t *Table) IsView() bool { return t.Kind == KindView }

// IsMaterialized reports whether t is a materialized view.
func (t *Table) IsMaterialized() bool { return t.Kind == KindMaterialized }

// Use is an object that the query of a view depends on.
type Use struct {
	Relation   OID     // a relation or the row type of one; 0 for a constraint
	Columns    []int16 // that the query reads, sorted
	Constraint OID     // a primary key that grouped columns depend on; 0 for a relation
}

func (r *ViewRule) clone() *ViewRule {
	if r == nil {
		return nil
	}
	c := *r
	c.Uses = cloneUses(r.Uses)
	return &c
}

func cloneUses(uses []Use) []Use {
	out := slices.Clone(uses)
	for i := range out {
		out[i].Columns = slices.Clone(out[i].Columns)
	}
	return out
}

// eachObject calls f for each relation and constraint that a view uses. A nil ViewRule uses none.
func (r *ViewRule) eachObject(f func(OID)) {
	if r == nil {
		return
	}
	for _, u := range r.Uses {
		f(u.Relation + u.Constraint) // one of them is 0
	}
}

// UseOf returns what a view uses of a relation, nil if it does not use it.
func (r *ViewRule) UseOf(relation OID) *Use {
	for i := range r.Uses {
		if r.Uses[i].Relation == relation {
			return &r.Uses[i]
		}
	}
	return nil
}

// ViewsUsing returns the views that use a relation or a constraint, by OID.
func ViewsUsing(v *View, object OID) []*Table {
	findReferrers(v)
	return v.referrers.users[object]
}

// checkUses checks that what a view uses exists.
func checkUses(v *View, t *Table) error {
	if t.View == nil {
		return nil
	}
	if t.View.Query == "" || t.View.OID == 0 {
		return errors.New("catalog: a view without a query or a rule")
	}
	for _, u := range t.View.Uses {
		if err := checkUse(v, relationWord(t), u); err != nil {
			return err
		}
	}
	return nil
}

// checkUse checks that what an object uses exists; by names the object.
func checkUse(v *View, by string, u Use) error {
	if u.Constraint != 0 {
		if t := v.TableOfPart(u.Constraint); t == nil {
			return pgerr.New(pgerr.UndefinedObject, "constraint with OID %d does not exist", u.Constraint)
		}
		return nil
	}
	t := v.Table(u.Relation)
	if t == nil {
		return pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", u.Relation)
	}
	for _, n := range u.Columns {
		if c := t.ColumnByNum(n); c == nil || c.Dropped {
			return pgerr.New(pgerr.DependentObjectsStillExist, "column %d of %s is needed by %s", n,
				relationWord(t), by)
		}
	}
	return nil
}

// checkUsers checks that the views and functions that use t still find their columns.
func checkUsers(v *View, t *Table) error {
	for _, by := range ViewsUsing(v, t.OID) {
		if u := by.View.UseOf(t.OID); u != nil {
			if err := checkUse(v, relationWord(by), *u); err != nil {
				return err
			}
		}
	}
	if err := checkPolicyUsers(v, t); err != nil {
		return err
	}
	for f := range FunctionsOf(v, t.Database) {
		if u := f.UseOf(t.OID); u != nil {
			if err := checkUse(v, f.word(), *u); err != nil {
				return err
			}
		}
	}
	return nil
}

func encodeViewRule(r *ViewRule) *pb.ViewRule {
	if r == nil {
		return nil
	}
	return &pb.ViewRule{Oid: r.OID, Query: r.Query, Uses: encodeUses(r.Uses), Populated: r.Populated}
}

func encodeUses(uses []Use) (out []*pb.ViewUse) {
	for _, u := range uses {
		out = append(out, &pb.ViewUse{
			Relation: u.Relation, Columns: encodeAttNums(u.Columns), Constraint: u.Constraint,
		})
	}
	return out
}

func (d *attNumDecoder) viewRule(p *pb.ViewRule) *ViewRule {
	if p == nil {
		return nil
	}
	return &ViewRule{OID: p.GetOid(), Query: p.GetQuery(), Uses: d.uses(p.GetUses()), Populated: p.GetPopulated()}
}

func (d *attNumDecoder) uses(list []*pb.ViewUse) (out []Use) {
	for _, u := range list {
		out = append(out, Use{
			Relation: u.GetRelation(), Columns: d.nums(u.GetColumns()), Constraint: u.GetConstraint(),
		})
	}
	return out
}

// Options of views.
const (
	OptionSecurityInvoker = "security_invoker"
	OptionSecurityBarrier = "security_barrier"
	OptionCheck           = "check_option"
)

// SecurityInvoker reports whether the query of a view runs with the privileges of the user of the
// view, not of its owner.
func (t *Table) SecurityInvoker() bool { return isOn(t.Options[OptionSecurityInvoker]) }

// SecurityBarrier reports whether conditions on a view are evaluated only for rows that the view has.
func (t *Table) SecurityBarrier() bool { return isOn(t.Options[OptionSecurityBarrier]) }

// CheckOption reports whether rows that are written through a view must satisfy its conditions, and
// whether also those of the views below it.
func (t *Table) CheckOption() (checked, cascaded bool) {
	value := strings.ToLower(t.Options[OptionCheck])
	return value != "", value == "cascaded"
}

// isOn reads the value of a boolean option as PostgreSQL does; it has been checked before.
func isOn(value string) bool {
	v := strings.ToLower(strings.TrimSpace(value))
	return v == "1" || v == "on" || v != "" && (strings.HasPrefix("true", v) || strings.HasPrefix("yes", v))
}
