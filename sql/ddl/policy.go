package ddl

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// applyOptions applies the storage parameters: the document, the meaning of $ in keys, the
// sharding policy. keyMade is set if this statement creates the primary key, because anchors are
// chosen then.
func (d *draft) applyOptions(keyMade bool) error {
	if by, ok := d.option(shardmap.OptionBy); ok && by != "" && d.t.IsTemporary() {
		return pgerr.Unsupported("temporary tables cannot be sharded").
			WithDetail("All their rows are on the node of the session.")
	}
	if err := d.chooseDocument(); err != nil {
		return err
	}
	was := len(d.t.Segments) > 0
	if err := d.updateSegments(); err != nil {
		return err
	}
	if err := d.chooseAnchors(keyMade || was != (len(d.t.Segments) > 0)); err != nil {
		return err
	}
	if err := d.applyPolicy(); err != nil {
		return err
	}
	if err := d.checkCounters(); err != nil {
		return err
	}
	d.keepOptions()
	return nil
}

// chooseDocument chooses the document: the column that WITH names, else the column doc, else the
// only jsonb column.
func (d *draft) chooseDocument() error {
	if name, ok := d.option(optionDocument); ok {
		col := d.t.Column(name)
		switch {
		case col == nil:
			return pgerr.New(pgerr.UndefinedColumn, `column "%s" named in option "%s" does not exist`, name,
				optionDocument)
		case col.Type != types.JSONB:
			return pgerr.New(pgerr.DatatypeMismatch, `the document column "%s" must be of type jsonb`, name)
		}
		d.t.Document = col.AttNum
		return nil
	}
	if d.t.Document != 0 && !d.touches(optionDocument) {
		return nil
	}
	d.t.Document = 0
	only, many := int16(0), false
	for _, c := range d.t.Columns {
		if c.Dropped || c.Type != types.JSONB {
			continue
		}
		if c.Name == "doc" {
			d.t.Document = c.AttNum
			return nil
		}
		many = only != 0
		only = c.AttNum
	}
	if !many {
		d.t.Document = only
	}
	return nil
}

// chooseAnchors decides whether $ has a meaning in the table's keys.
func (d *draft) chooseAnchors(keyMade bool) error {
	if by, ok := d.option(optionAnchorBy); ok {
		if err := d.checkAnchorBy(by); err != nil {
			return err
		}
		d.t.AnchorBy = by
	} else {
		d.t.AnchorBy = ""
	}
	if !keyMade && !d.touches(optionAnchors) {
		return nil
	}
	isText := d.textKey()
	anchors := d.boolOption(optionAnchors, isText && d.t.Document != 0)
	if anchors && d.t.PrimaryKey() != nil && !isText {
		return pgerr.New(pgerr.InvalidParameterValue, `option "%s" needs a primary key of one text column`,
			optionAnchors)
	}
	anchors = anchors && d.t.PrimaryKey() != nil && len(d.t.Segments) == 0
	if anchors == d.t.Anchors {
		return nil
	}
	d.restored = true // its ids place it differently now
	d.t.Anchors = anchors
	return nil
}

// textKey reports whether the primary key is one column of type text.
func (d *draft) textKey() bool {
	pk := d.t.PrimaryKey()
	return pk != nil && len(pk.Columns) == 1 && d.t.ColumnByNum(pk.Columns[0]).Type == types.Text
}

func (d *draft) checkAnchorBy(by string) error {
	f, err := shardmap.ParseField(by)
	if err != nil {
		return err
	}
	if f.Func != shardmap.PlainField {
		return pgerr.New(pgerr.InvalidParameterValue, `option "%s" takes a field without function`, optionAnchorBy)
	}
	return d.checkField(f, optionAnchorBy+" field")
}

// applyPolicy reads the policy and decides whether it counts as validated.
func (d *draft) applyPolicy() error {
	old := d.t.Policy
	d.declaredInvalid = d.declaredNotValid()
	p, err := d.policyOf(old)
	if err != nil {
		return err
	}
	if p != nil && d.t.PrimaryKey() == nil {
		if err := d.postponePolicy(p); err != nil {
			return err
		}
		return d.alignDeclared(old)
	}
	if err := d.replacePolicy(old, p); err != nil {
		return err
	}
	return d.alignDeclared(old)
}

// replacePolicy replaces the policy old by p; nil is no policy.
func (d *draft) replacePolicy(old, p *shardmap.Policy) error {
	if p != nil {
		if err := d.checkPolicy(p); err != nil {
			return err
		}
	}
	switch {
	case p == nil && old == nil:
		return nil
	case p != nil && old != nil && p.Equal(old):
		if d.was != nil && (d.was.Anchors != d.t.Anchors || d.was.Document != d.t.Document && d.needsDocument()) {
			return d.trust(nil, p) // its fields or ids have another meaning now
		}
		return nil
	case !d.t.Anchors:
		d.restored = true // the policy's columns choose the bucket of every row
	}
	d.t.Policy = p
	if p == nil {
		d.t.PolicyValidated = false
	} else if err := d.trust(old, p); err != nil {
		return err
	}
	return d.logPolicy(old, p)
}

// policyOf returns the policy after the statement.
func (d *draft) policyOf(old *shardmap.Policy) (*shardmap.Policy, error) {
	if d.wantsRange() {
		return nil, nil
	}
	waiting := pendingPolicy(d.t)
	if !d.touches(policyOptions...) && waiting == nil {
		return old, nil
	}
	var o shardmap.Options
	if old != nil {
		o = old.Options()
	} else if waiting != nil {
		o = waiting.Options()
	}
	for name, field := range map[string]*string{shardmap.OptionBy: &o.By, shardmap.OptionRange: &o.Range,
		shardmap.OptionMutable: &o.Mutable} {
		if d.touches(name) {
			*field = d.options.set[name]
		}
	}
	if by, given := d.options.set[shardmap.OptionBy]; given || o.By != "" {
		o.By = firstOf(by, o.By)
		return shardmap.ParseOptions(o)
	}
	for _, name := range policyOptions[1:] {
		if _, given := d.options.set[name]; given {
			return nil, shardmap.OptionsConflict(name)
		}
	}
	return nil, nil
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// trust decides whether queries may be routed by the new policy at once.
func (d *draft) trust(old, p *shardmap.Policy) error {
	if p.Mutable {
		d.t.PolicyValidated = false
		return nil
	}
	if p.IsID() || !d.t.Anchors || old != nil && d.t.PolicyValidated && old.KeepsValidated(p) {
		d.t.PolicyValidated = true
		return nil
	}
	filled, err := d.filled()
	if err != nil {
		return err
	}
	d.t.PolicyValidated = !filled && !d.declaredInvalid
	switch waited := d.was != nil && d.was.PrimaryKey() == nil && pendingPolicy(d.was) != nil; {
	case !filled || d.declaredInvalid:
	case waited:
		d.judged = true
	default:
		d.notices = append(d.notices, notValidated(d.view, d.t))
	}
	return nil
}

// notValidated is the notice about a policy that some documents may not obey.
func notValidated(v *catalog.View, t *catalog.Table) *pgerr.Error {
	n := pgerr.New(pgerr.SuccessfulCompletion,
		`the sharding policy of "%s" is not validated: queries do not route by its fields yet`, t.Name).
		WithHint("Run ALTER TABLE %s VALIDATE CONSTRAINT %s.", quotedName(v, t), shardmap.ConstraintName)
	n.Severity = "NOTICE"
	return n
}

// checkPolicy returns an error if the table lacks a field of the policy.
func (d *draft) checkPolicy(p *shardmap.Policy) error {
	pk := d.t.PrimaryKey()
	if pk == nil {
		return pgerr.New(pgerr.InvalidParameterValue,
			`table "%s" needs a primary key before it can have a sharding policy`, d.t.Name)
	}
	for _, f := range p.Fields {
		if f.Func == shardmap.IDFunc {
			continue
		}
		if d.t.Anchors {
			if err := d.checkField(f, "sharding field"); err != nil {
				return err
			}
			continue
		}
		if !d.inKey(pk, f) {
			return pgerr.New(pgerr.InvalidParameterValue, `sharding field "%s" is no column of the primary key of "%s"`,
				f.PathString(), d.t.Name).
				WithHint("Only a collection, a table with one text key column and a jsonb document, can be sharded " +
					"by other fields.")
		}
	}
	return nil
}

// checkField returns an error unless a field is a column or the table has a document to look it up
// in.
func (d *draft) checkField(f shardmap.Field, what string) error {
	if d.t.Document != 0 || len(f.Path) == 1 && d.t.Column(f.Path[0]) != nil {
		return nil
	}
	return pgerr.New(pgerr.UndefinedColumn, `%s "%s" is no column of "%s", and the table has no document`, what,
		f.PathString(), d.t.Name).
		WithHint("A document is a jsonb column named doc, the only jsonb column, or the one that WITH (document = " +
			"…) names.")
}

func (d *draft) inKey(pk *catalog.Constraint, f shardmap.Field) bool {
	if len(f.Path) != 1 {
		return false
	}
	for _, att := range pk.Columns {
		if d.t.ColumnByNum(att).Name == f.Path[0] {
			return true
		}
	}
	return false
}

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
