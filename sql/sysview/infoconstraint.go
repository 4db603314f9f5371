package sysview

import (
	"fmt"

	"github.com/sherddb/sherd/catalog"
)

var constraintTypes = map[byte]string{'p': "PRIMARY KEY", 'u': "UNIQUE", 'c': "CHECK", 'f': "FOREIGN KEY"}

// tableConstraint is a constraint of a table or system table.
type tableConstraint struct {
	name, schema string
	kind         byte
	relation     uint32
	table        string
	tableSchema  string
	columns      []int16
	check        string
	deferrable   bool
	deferred     bool
	index        uint32 // of a foreign key: the index it uses, and the columns it refers to
	refers       uint32
	referred     []int16
}

// tableConstraints calls f for the constraints of the tables that the role may see, those of NOT
// NULL last.
func (b *builder) tableConstraints(notNulls bool, f func(c *tableConstraint) error) error {
	err := b.env.each("pg_constraint", func(r *reader) error {
		if r.oid("conrelid") == 0 || !b.ownsTable(r.oid("conrelid")) {
			return nil
		}
		c := &tableConstraint{name: r.text("conname"), kind: r.char("contype"), relation: r.oid("conrelid"),
			columns: int2s(r.get("conkey"))}
		c.tableSchema, c.table, _ = b.env.RelationName(c.relation)
		c.schema = c.tableSchema
		c.deferrable, c.deferred = r.bool("condeferrable"), r.bool("condeferred")
		if c.kind == 'f' {
			c.index, c.refers, c.referred = r.oid("conindid"), r.oid("confrelid"), int2s(r.get("confkey"))
		}
		if c.kind == 'c' {
			c.check = "(" + b.env.Expression(c.relation, r.text("conbin"), false) + ")"
		}
		return f(c)
	})
	if err != nil || !notNulls {
		return err
	}
	return b.visibleClasses(func(x *class) error {
		if x.kind != 'r' {
			return nil
		}
		schema, _ := b.env.SchemaOID(x.schema)
		for _, col := range b.env.columns(x.oid) {
			if !col.notNull {
				continue
			}
			err := f(&tableConstraint{
				name: fmt.Sprintf("%d_%d_%d_not_null", schema, x.oid, col.num), schema: x.schema, kind: 'c',
				relation: x.oid, table: x.name, tableSchema: x.schema, check: col.name + " IS NOT NULL",
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ownsTable reports whether the role owns a table.
func (b *builder) ownsTable(oid uint32) bool {
	if t := b.env.table(oid); t != nil {
		return b.canSee(t.Owner)
	}
	return b.canSee(catalog.BootstrapRole)
}

func (r *record) constraint(c *tableConstraint) *record {
	return r.database("constraint_catalog").text("constraint_schema", c.schema).text("constraint_name", c.name)
}

func (r *record) constrained(c *tableConstraint) *record {
	return r.database("table_catalog").text("table_schema", c.tableSchema).text("table_name", c.table)
}

func tableConstraints(b *builder) error {
	return b.tableConstraints(true, func(c *tableConstraint) error {
		r := b.row().constraint(c).constrained(c).text("constraint_type", constraintTypes[c.kind]).
			text("is_deferrable", yesNo(c.deferrable)).
			text("initially_deferred", yesNo(c.deferred)).text("enforced", "YES")
		if c.kind == 'u' {
			r.text("nulls_distinct", "YES")
		}
		return r.send()
	})
}

func keyColumnUsage(b *builder) error {
	return b.tableConstraints(false, func(c *tableConstraint) error {
		if c.kind == 'c' {
			return nil
		}
		for i, num := range c.columns {
			r := b.row().constraint(c).constrained(c).text("column_name", b.env.columnName(c.relation, num)).
				int("ordinal_position", int64(i+1))
			if c.kind == 'f' {
				if at := b.env.indexPosition(c.index, c.referred[i]); at > 0 {
					r.int("position_in_unique_constraint", int64(at))
				}
			}
			if err := r.send(); err != nil {
				return err
			}
		}
		return nil
	})
}

func constraintColumnUsage(b *builder) error {
	return b.tableConstraints(false, func(c *tableConstraint) error {
		c = b.env.usage(c)
		for _, num := range c.columns {
			if err := b.row().constraint(c).constrained(c).text("column_name", b.env.columnName(c.relation, num)).
				send(); err != nil {
				return err
			}
		}
		return nil
	})
}

func constraintTableUsage(b *builder) error {
	return b.tableConstraints(false, func(c *tableConstraint) error {
		if c.kind == 'c' {
			return nil
		}
		c = b.env.usage(c)
		return b.row().constraint(c).constrained(c).send()
	})
}

// usage returns a constraint with the table and columns that it uses: for a foreign key, those that
// it refers to.
func (e *Env) usage(c *tableConstraint) *tableConstraint {
	if c.kind != 'f' {
		return c
	}
	u := *c
	u.relation, u.columns = c.refers, c.referred
	u.tableSchema, u.table, _ = e.RelationName(c.refers)
	return &u
}

func checkConstraints(b *builder) error {
	if err := domainChecks(b); err != nil {
		return err
	}
	return b.tableConstraints(true, func(c *tableConstraint) error {
		if c.kind != 'c' {
			return nil
		}
		return b.row().constraint(c).text("check_clause", c.check).send()
	})
}

func (e *Env) columnName(relation uint32, num int16) string {
	for _, c := range e.columns(relation) {
		if c.num == num {
			return c.name
		}
	}
	return ""
}
