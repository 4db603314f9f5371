package ddl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/privilege"
)

// Misplaced is a document that lies outside the buckets that its collection's policy allows.
type Misplaced struct {
	ID     string
	Bucket shardmap.Bucket
	Detail string
}

// maxOffenders is the number of documents that an error lists.
const maxOffenders = 5

// errEnough ends a scan that has found enough documents.
var errEnough = fmt.Errorf("ddl: enough offenders")

// onlyValidation returns the sub-command of ALTER TABLE … VALIDATE CONSTRAINT sharding, which does
// not block the table's users.
func onlyValidation(n *pg_query.AlterTableStmt) *pg_query.AlterTableCmd {
	if len(n.Cmds) != 1 {
		return nil
	}
	k := n.Cmds[0].GetAlterTableCmd()
	if k.Subtype != pg_query.AlterTableType_AT_ValidateConstraint || k.Name != shardmap.ConstraintName {
		return nil
	}
	return k
}

func (r *runner) validatePolicyOf(n *pg_query.AlterTableStmt) error {
	v := r.View()
	c := &change{runner: r, view: v, me: v.Role(r.Role), locked: nil}
	f, err := c.lookup(n.Relation)
	if err == nil && f == (found{}) {
		err = undefinedRelation(n.Relation)
	}
	if n.MissingOk && c.skipsMissing(err, n.Relation) {
		return r.Notice(c.notices[0])
	}
	switch {
	case err != nil:
		return err
	case f.system != nil:
		return systemCatalog(f.system.Name)
	case f.index != nil:
		return pgerr.New(pgerr.WrongObjectType, `"%s" is not a table`, n.Relation.Relname)
	}
	var bad []Misplaced
	more := false
	err = ValidatePolicy(r.ctx, r.Env, f.table.OID, func(m Misplaced) error {
		if len(bad) == maxOffenders {
			more = true
			return errEnough
		}
		bad = append(bad, m)
		return nil
	})
	if len(bad) > 0 {
		return misplacedError(f.table, builtin.QuoteLiteral(c.quoted(v, f.table)), bad, more)
	}
	return err
}

func misplacedError(t *catalog.Table, name string, bad []Misplaced, more bool) error {
	var ids []string
	for _, m := range bad {
		ids = append(ids, fmt.Sprintf(`"%s" in bucket %d`, m.ID, m.Bucket))
	}
	detail := "Documents outside of the block of their content: " + strings.Join(ids, ", ")
	if more {
		detail += " and more"
	}
	e := pgerr.New(pgerr.CheckViolation, `check constraint "%s" of relation "%s" is violated by some row`,
		shardmap.ConstraintName, t.Name).
		WithDetail("%s.", detail).
		WithHint("SELECT * FROM sherd.validate_policy(%s) lists them all. SELECT sherd.replace_placement(%s) "+
			"changes their ids so that they lie where the policy allows.", name, name)
	e.Table, e.Constraint = t.Name, shardmap.ConstraintName
	return e
}

// ValidatePolicy scans a collection while it is in use, calls emit for each document that lies
// outside the block that its content chooses, and marks the policy as validated if there is none.
// New documents obey the policy already, so a snapshot taken now shows all documents that may not.
func ValidatePolicy(ctx context.Context, e *Env, table catalog.OID, emit func(Misplaced) error) error {
	for {
		v := e.View()
		t := v.Table(table)
		if err := checkValidation(v, e, t, table); err != nil {
			return err
		}
		if t.PolicyValidated {
			return nil
		}
		// Transactions that still write by the previous definition must end before the snapshot is
		// taken.
		if err := e.Barrier(ctx, table); err != nil {
			return err
		}
		bad := false
		err := e.Misplaced(ctx, v, t, func(m Misplaced) error {
			bad = true
			return emit(m)
		})
		if err != nil || bad {
			return err
		}
		if done, err := e.TrustPolicy(ctx, t); done || err != nil {
			return err
		}
	}
}

func checkValidation(v *catalog.View, e *Env, t *catalog.Table, table catalog.OID) error {
	switch {
	case t == nil || t.Database != e.Database:
		return pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", table)
	case !privilege.Owns(v, e.Database, e.Role, t.Owner):
		return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
	}
	return CanValidate(t)
}

// CanValidate refuses a table that has no policy, or one that cannot be validated.
func CanValidate(t *catalog.Table) error {
	switch {
	case t.Policy == nil:
		return pgerr.New(pgerr.UndefinedObject, `constraint "%s" of relation "%s" does not exist`,
			shardmap.ConstraintName, t.Name).
			WithHint("The table has no sharding policy: set one with ALTER TABLE %s SET (%s = '…').",
				builtin.QuoteIdent(t.Name), shardmap.OptionBy)
	case t.Policy.Mutable:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`the sharding policy of "%s" is mutable and cannot be validated`, t.Name).
			WithHint("Use ALTER TABLE %s SET (%s = false) first.", builtin.QuoteIdent(t.Name), shardmap.OptionMutable)
	}
	return nil
}

// TrustPolicy marks a policy as validated if the table's definition has not changed since it was
// scanned.
func (e *Env) TrustPolicy(ctx context.Context, scanned *catalog.Table) (done bool, err error) {
	err = e.Change(ctx, func(v *catalog.View, ch *catalog.Change) error {
		t := v.Table(scanned.OID)
		if t == nil || t.Version != scanned.Version {
			done = false
			return nil
		}
		done = true
		t = t.Clone()
		t.PolicyValidated = true
		c := &change{runner: &runner{Env: e, ctx: ctx}, view: v, ch: ch, me: v.Role(e.Role)}
		return errors.Join(ch.PutTable(t), c.log(catalog.PolicyRecord, e.Database, c.quoted(v, t),
			t.Policy.Definition()+" validated"))
	})
	return done, err
}

// SetPolicy sets a table's policy from its JSON form; an empty text removes it.
func SetPolicy(ctx context.Context, e *Env, table catalog.OID, text string) error {
	r := &runner{Env: e, ctx: ctx}
	return r.updateExclusive(func(*change) []catalog.OID { return []catalog.OID{table} }, func(c *change) error {
		t, err := TableOf(c.view, c.Database, table)
		if err != nil {
			return err
		}
		if !c.owns(t.Owner) {
			return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
		}
		d := &draft{change: c, t: t.Clone(), was: t, options: options{reset: policyOptions}}
		d.filled = c.rowsOf(t)
		if text != "" {
			p, err := shardmap.ParsePolicyJSON(text)
			if err != nil {
				return err
			}
			o := p.Options()
			d.options = options{set: map[string]string{
				shardmap.OptionBy: o.By, shardmap.OptionRange: o.Range, shardmap.OptionMutable: o.Mutable,
			}}
		}
		if err := d.applyOptions(false); err != nil {
			return err
		}
		return d.putTable()
	})
}
