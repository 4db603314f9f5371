package sysview

import (
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
