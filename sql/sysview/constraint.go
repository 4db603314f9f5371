package sysview

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
)

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
