package ddl

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// A table without a primary key may be given a sharding policy, or be made a range table, because
// pg_dump creates a table first, loads its rows, and adds the key last. The storage parameters are
// stored and take effect with the statement that adds the key. That statement rewrites all rows, so
// it validates the policy at no further cost.
//
// CONSTRAINT sharding CHECK (sherd.placed()) is how pg_get_constraintdef prints a policy for
// pg_dump. In CREATE TABLE it adds nothing to the storage parameters; with NOT VALID the policy
// stays not validated.

// placedText is the expression of that constraint as the catalog keeps it.
const placedText = "sherd.placed()"

// isPlaced reports whether a constraint is the one that pg_dump prints for a policy.
func isPlaced(k *catalog.Constraint) bool {
	return k != nil && k.Kind == catalog.Check && k.Name == shardmap.ConstraintName && k.Check == placedText
}

// declareSharding records CONSTRAINT sharding CHECK (sherd.placed()); alignDeclared applies it when
// the policy is known.
func (d *draft) declareSharding(valid bool) {
	d.declared = &catalog.Constraint{Name: shardmap.ConstraintName, Kind: catalog.Check, Check: placedText,
		Valid: valid}
}

// declaredNotValid reports whether this statement, or an earlier one, has declared the policy NOT
// VALID.
func (d *draft) declaredNotValid() bool {
	k := d.declared
	if k == nil {
		k = d.t.Constraint(shardmap.ConstraintName)
	}
	return isPlaced(k) && !k.Valid
}

// postponePolicy stores the parameters of a policy until the table has a primary key. A policy in
// force becomes pending when the key is dropped.
func (d *draft) postponePolicy(p *shardmap.Policy) error {
	old := d.t.Policy
	d.pending = pendingOptions(p)
	d.t.Policy = nil
	if old == nil {
		if d.touches(policyOptions...) {
			d.notice(pgerr.SuccessfulCompletion,
				`the sharding policy of "%s" takes effect when the table has a primary key`, d.t.Name)
		}
		return nil
	}
	if !d.t.PolicyValidated && !old.Mutable && d.declared == nil {
		d.declareSharding(false)
	}
	d.t.PolicyValidated = false
	return d.logPolicy(old, nil)
}

// pendingOptions are the storage parameters of a policy that differ from the defaults.
func pendingOptions(p *shardmap.Policy) map[string]string {
	o := p.Options()
	out := map[string]string{shardmap.OptionBy: o.By}
	if p.Range != 1 {
		out[shardmap.OptionRange] = o.Range
	}
	if p.Mutable {
		out[shardmap.OptionMutable] = o.Mutable
	}
	return out
}

// pendingPolicy returns the policy that a table without a primary key will have, or nil.
func pendingPolicy(t *catalog.Table) *shardmap.Policy {
	by, ok := t.Options[shardmap.OptionBy]
	if !ok || t.Policy != nil || isRange(by) {
		return nil
	}
	p, err := shardmap.ParseOptions(shardmap.Options{By: by, Range: t.Options[shardmap.OptionRange],
		Mutable: t.Options[shardmap.OptionMutable]})
	if err != nil {
		return nil
	}
	return p
}

// alignDeclared makes CONSTRAINT sharding agree with the policy: there is one constraint of that
// name, the policy's.
func (d *draft) alignDeclared(old *shardmap.Policy) error {
	stored := d.t.Constraint(shardmap.ConstraintName)
	sharded := d.t.Policy != nil || d.pending != nil && !isRange(d.pending[shardmap.OptionBy])
	switch {
	case sharded && stored != nil && !isPlaced(stored):
		return duplicateConstraint(d.t, shardmap.ConstraintName)
	case !sharded && d.declared != nil:
		return pgerr.New(pgerr.UndefinedObject, `constraint "%s" of relation "%s" needs a sharding policy`,
			shardmap.ConstraintName, d.t.Name).
			WithHint("Use WITH (%s = …).", shardmap.OptionBy)
	case d.t.Policy != nil && old != nil && d.declared != nil:
		if d.declared.Valid {
			return duplicateConstraint(d.t, shardmap.ConstraintName)
		}
		if d.t.Anchors {
			d.t.PolicyValidated = false
		}
	}
	if d.declared == nil && d.t.Policy == nil && d.pending != nil {
		return nil // an earlier declaration stays
	}
	if isPlaced(stored) {
		d.removeConstraint(shardmap.ConstraintName)
	}
	if d.declared == nil || d.t.Policy != nil {
		return nil
	}
	oid, err := d.newOID()
	if err != nil {
		return err
	}
	d.declared.OID = oid
	d.t.Constraints = append(d.t.Constraints, *d.declared)
	return nil
}

// hasConstraint reports whether the table has a constraint of this name; a policy counts under its
// constraint's name.
func hasConstraint(t *catalog.Table, name string) bool {
	return t.Constraint(name) != nil || name == shardmap.ConstraintName && t.Policy != nil
}

// dropSharding is DROP CONSTRAINT sharding of a policy: the table has no policy afterwards.
func (d *draft) dropSharding(name string) bool {
	if name != shardmap.ConstraintName || d.t.Policy == nil && !isPlaced(d.t.Constraint(name)) {
		return false
	}
	for _, o := range policyOptions {
		delete(d.options.set, o)
		d.options.reset = append(d.options.reset, o)
	}
	return true
}

// renamePending renames a column in the policy that a table without a primary key will have.
func (d *draft) renamePending(from, to string) error {
	p := pendingPolicy(d.t)
	if p == nil || d.t.PrimaryKey() != nil {
		return nil
	}
	q, err := renamedField(p, from, to)
	if err != nil {
		return err
	}
	d.pending = pendingOptions(q)
	d.keepOptions()
	return nil
}
