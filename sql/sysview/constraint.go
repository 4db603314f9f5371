package sysview

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
)

// sharding returns the constraint that represents a table's policy; nil without a policy.
func sharding(t *catalog.Table) *catalog.Constraint {
	if t.Policy == nil {
		return nil
	}
	return &catalog.Constraint{OID: partOID(t.OID, 0), Name: shardmap.ConstraintName, Kind: catalog.Check,
		Valid: t.PolicyValidated}
}

// placed is the CHECK constraint that represents a policy in a dump.
const placed = "sherd.placed()"

// constraints returns a table's constraints including its policy. A portable dump leaves out the
// policy.
func (n *Names) constraints(t *catalog.Table) []*catalog.Constraint {
	var out []*catalog.Constraint
	for i := range t.Constraints {
		if c := &t.Constraints[i]; !n.Portable || c.Name != shardmap.ConstraintName || c.Check != placed {
			out = append(out, c)
		}
	}
	if s := sharding(t); s != nil && !n.Portable {
		out = append(out, s)
	}
	return out
}

// constraint finds a constraint by OID.
func (n *Names) constraint(oid uint32) (*catalog.Table, *catalog.Constraint) {
	t := n.View.TableOfPart(oid)
	if table, column, ok := partOf(oid); ok && column == 0 {
		t = n.View.Table(table)
	}
	if t == nil || t.Database != n.Database.OID {
		return nil, nil
	}
	for _, c := range n.constraints(t) {
		if c.OID == oid {
			return t, c
		}
	}
	return nil, nil
}

// ConstraintDef returns a constraint as pg_get_constraintdef does.
func (n *Names) ConstraintDef(oid uint32, pretty bool) (string, bool) {
	t, c := n.constraint(oid)
	if d, k := domainCheck(n, oid); k != nil {
		text := "CHECK (" + n.Expression(d.OID, k.Check, pretty) + ")"
		if !k.Valid {
			text += " NOT VALID"
		}
		return text, true
	}
	if t == nil {
		text, ok := systemConstraints()[oid]
		return text, ok
	}
	return n.constraintText(t, c, pretty), true
}

func (n *Names) constraintText(t *catalog.Table, c *catalog.Constraint, pretty bool) string {
	var b strings.Builder
	switch {
	case c.OID == partOID(t.OID, 0):
		b.WriteString(shardingText(t, pretty))
	case c.Kind == catalog.PrimaryKey, c.Primary:
		b.WriteString("PRIMARY KEY (" + columnList(t, c.Columns) + ")")
	case c.Kind == catalog.Unique:
		b.WriteString(uniqueText(t, c))
	case c.Kind == catalog.Check:
		b.WriteString("CHECK (" + n.Expression(t.OID, c.Check, pretty) + ")")
		if c.NoInherit {
			b.WriteString(" NO INHERIT")
		}
	case c.Kind == catalog.ForeignKey:
		b.WriteString(n.foreignText(t, c))
	}
	b.WriteString(deferralText(c))
	if !c.Valid {
		b.WriteString(" NOT VALID")
	}
	return b.String()
}

// shardingText returns a table's policy as a constraint. psql asks for the pretty form. pg_dump
// asks for the other form, which CREATE TABLE and ALTER TABLE accept: together with the storage
// parameters in the dump, it restores the policy, NOT VALID included.
func shardingText(t *catalog.Table, pretty bool) string {
	if pretty {
		return t.Policy.Definition()
	}
	return "CHECK (" + placed + ")"
}

// Expression returns a stored expression over a table's columns as pg_get_expr does.
func (n *Names) Expression(table uint32, text string, pretty bool) string {
	if n.Spell == nil {
		return text
	}
	return n.Spell(table, text, pretty)
}

func columnList(t *catalog.Table, columns []int16) string {
	names := make([]string, 0, len(columns))
	for _, att := range columns {
		if c := t.ColumnByNum(att); c != nil {
			names = append(names, builtin.QuoteIdent(c.Name))
		}
	}
	return strings.Join(names, ", ")
}

func pgConstraint(b *builder) error {
	if err := b.domainChecks(); err != nil {
		return err
	}
	return b.tables(func(t *catalog.Table) error {
		for _, c := range b.env.constraints(t) {
			r := b.row().oid("oid", c.OID).text("conname", c.Name).oid("connamespace", t.Schema).
				char("contype", byte(kindShown(c))).
				bool("convalidated", c.Valid).oid("conrelid", t.OID).oid("conindid", c.Index).bool("conislocal", true).
				bool("connoinherit", c.NoInherit || c.Kind != catalog.Check).bool("condeferrable", c.Deferrable).
				bool("condeferred", c.InitiallyDeferred)
			if c.Reference != nil {
				r.reference(&b.env.Names, t, c)
			} else {
				const blank = ' '
				r.char("confupdtype", blank).char("confdeltype", blank).char("confmatchtype", blank)
			}
			if len(c.Columns) > 0 {
				r.numbers("conkey", c.Columns)
			}
			if c.Kind == catalog.Check {
				r.text("conbin", checkText(t, c))
			}
			if err := r.send(); err != nil {
				return err
			}
		}
		return triggerConstraints(b, t)
	})
}

// kindShown returns pg_constraint.contype.
func kindShown(c *catalog.Constraint) catalog.ConstraintKind {
	if c.Primary {
		return catalog.PrimaryKey
	}
	return c.Kind
}

// checkText returns the text that pg_get_expr(conbin) shows.
func checkText(t *catalog.Table, c *catalog.Constraint) string {
	if c.OID == partOID(t.OID, 0) {
		return t.Policy.Definition()
	}
	return c.Check
}

func pgIndex(b *builder) error {
	return b.indexes(func(t *catalog.Table, ix *catalog.Index) error {
		n := len(ix.Columns)
		classes, collations, options := make([]uint32, n), make([]uint32, n), make([]int16, n)
		for i, c := range b.env.indexColumns(t, ix)[:n] {
			classes[i], collations[i], options[i] = operatorClass(ix.Method, c.typ), c.coll, int16(ix.OrderOf(i))
			if own := ix.ClassOf(i); own != 0 {
				classes[i] = own
			}
		}
		con, ready := t.ConstraintOf(ix.OID), ix.State == catalog.IndexPublic
		r := b.row().oid("indexrelid", ix.OID).oid("indrelid", t.OID).int("indnatts", int64(n+len(ix.Include))).
			int("indnkeyatts", int64(n)).
			bool("indisunique", ix.Unique).bool("indnullsnotdistinct", ix.NullsNotDistinct).
			bool("indisprimary", ix.Primary || con != nil && con.Primary).
			bool("indimmediate", con == nil || !con.Deferrable).bool("indisvalid", ready).bool("indisready", true).
			bool("indislive", true).
			numbers("indkey", append(slices.Clip(ix.Columns), ix.Include...)).oids("indcollation", collations).
			oids("indclass", classes).numbers("indoption", options)
		if len(ix.Expressions) > 0 {
			r.text("indexprs", strings.Join(ix.Expressions, ", "))
		}
		return r.optional("indpred", ix.Predicate).send()
	})
}
