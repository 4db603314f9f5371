package ddl

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// settleOptions decides what hangs on the storage parameters: the document, what $ in keys means, the sharding policy. keyMade tells that
// the primary key was made by this statement, which is when anchors are decided.
func (d *draft) settleOptions(keyMade bool) error {
	if err := d.settleDocument(); err != nil {
		return err
	}
	was := len(d.t.Segments) > 0
	if err := d.settleSegments(); err != nil {
		return err
	}
	if err := d.settleAnchors(keyMade || was != (len(d.t.Segments) > 0)); err != nil {
		return err
	}
	if err := d.settlePolicy(); err != nil {
		return err
	}
	if err := d.settleCounters(); err != nil {
		return err
	}
	d.keepOptions()
	return nil
}

// settleDocument finds the document: the column that WITH names, else the one named doc, else the only jsonb column.
func (d *draft) settleDocument() error {
	if name, ok := d.option(optionDocument); ok {
		col := d.t.Column(name)
		switch {
		case col == nil:
			return pgerr.New(pgerr.UndefinedColumn, `column "%s" named in option "%s" does not exist`, name, optionDocument)
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

// settleAnchors decides whether $ means something in the table's keys.
func (d *draft) settleAnchors(keyMade bool) error {
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
		return pgerr.New(pgerr.InvalidParameterValue, `option "%s" needs a primary key of one text column`, optionAnchors)
	}
	anchors = anchors && d.t.PrimaryKey() != nil && len(d.t.Segments) == 0
	if anchors == d.t.Anchors {
		return nil
	}
	d.restored = true // by what their ids mean now
	d.t.Anchors = anchors
	return nil
}

// textKey tells whether the primary key is one column of type text.
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

// settlePolicy reads the policy and decides whether it may be trusted.
func (d *draft) settlePolicy() error {
	old := d.t.Policy
	d.doubted = d.declaredNotValid()
	p, err := d.policyOf(old)
	if err != nil {
		return err
	}
	if p != nil && d.t.PrimaryKey() == nil {
		if err := d.postpone(p); err != nil {
			return err
		}
		return d.settleDeclared(old)
	}
	if err := d.settlePolicyAs(old, p); err != nil {
		return err
	}
	return d.settleDeclared(old)
}

// settlePolicyAs puts a policy in force, or takes it back.
func (d *draft) settlePolicyAs(old, p *shardmap.Policy) error {
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
			return d.trust(nil, p) // its fields, or ids, mean something else now
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

// policyOf gives the policy as the statement leaves it.
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
	for name, field := range map[string]*string{shardmap.OptionBy: &o.By, shardmap.OptionRange: &o.Range, shardmap.OptionMutable: &o.Mutable} {
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

// trust decides whether queries may route by the new policy at once.
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
	d.t.PolicyValidated = !filled && !d.doubted
	switch waited := d.was != nil && d.was.PrimaryKey() == nil && pendingPolicy(d.was) != nil; {
	case !filled || d.doubted:
	case waited:
		d.judged = true
	default:
		d.notices = append(d.notices, notValidated(d.view, d.t))
	}
	return nil
}

// notValidated is the notice of a policy that some documents may not obey.
func notValidated(v *catalog.View, t *catalog.Table) *pgerr.Error {
	n := pgerr.New(pgerr.SuccessfulCompletion, `the sharding policy of "%s" is not validated: queries do not route by its fields yet`, t.Name).
		WithHint("Run ALTER TABLE %s VALIDATE CONSTRAINT %s.", quotedName(v, t), shardmap.ConstraintName)
	n.Severity = "NOTICE"
	return n
}

// checkPolicy makes sure that the table has the policy's fields.
func (d *draft) checkPolicy(p *shardmap.Policy) error {
	pk := d.t.PrimaryKey()
	if pk == nil {
		return pgerr.New(pgerr.InvalidParameterValue, `table "%s" needs a primary key before it can have a sharding policy`, d.t.Name)
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
			return pgerr.New(pgerr.InvalidParameterValue, `sharding field "%s" is no column of the primary key of "%s"`, f.PathString(), d.t.Name).
				WithHint("Only a collection, a table with one text key column and a jsonb document, can be sharded by other fields.")
		}
	}
	return nil
}

// checkField makes sure that a field is a column or that there is a document to find it in.
func (d *draft) checkField(f shardmap.Field, what string) error {
	if d.t.Document != 0 || len(f.Path) == 1 && d.t.Column(f.Path[0]) != nil {
		return nil
	}
	return pgerr.New(pgerr.UndefinedColumn, `%s "%s" is no column of "%s", and the table has no document`, what, f.PathString(), d.t.Name).
		WithHint("A document is a jsonb column named doc, the only jsonb column, or the one that WITH (document = …) names.")
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
