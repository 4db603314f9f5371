package sysview

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// object identifies an object as pg_depend does.
type object struct {
	class, oid uint32
	sub        int16
}

func (b *builder) depends(from, to object, kind byte) error {
	return b.row().oid("classid", from.class).oid("objid", from.oid).int("objsubid", int64(from.sub)).
		oid("refclassid", to.class).oid("refobjid", to.oid).int("refobjsubid", int64(to.sub)).char("deptype", kind).
		send()
}

// Catalogs in dependencies.
const (
	typeClass       = 1247
	procClass       = 1255
	relationClass   = 1259
	attrdefClass    = 2604
	constraintClass = 2606
	rewriteClass    = 2618
	namespaceClass  = 2615
	authidClass     = 1260
	databaseClass   = 1262
	extensionClass  = 3079
	statisticsClass = 3381
	triggerClass    = 2620
	policyClass     = 3256
)

func pgDepend(b *builder) error {
	for _, e := range extensionEdges() {
		if err := b.depends(e.from, e.to, e.kind); err != nil {
			return err
		}
	}
	for t := range catalog.TypesOf(b.env.View, b.env.Database.OID) {
		for _, e := range typeEdges(t) {
			if err := b.depends(e.from, e.to, e.kind); err != nil {
				return err
			}
		}
	}
	for f := range catalog.FunctionsOf(b.env.View, b.env.Database.OID) {
		for _, e := range functionEdges(f) {
			if err := b.depends(e.from, e.to, e.kind); err != nil {
				return err
			}
		}
	}
	return b.relations(func(t *catalog.Table) error {
		if t.Sequence != nil {
			return b.sequenceDepends(t)
		}
		table := object{relationClass, t.OID, 0}
		rowType := object{typeClass, RowType(t.OID), 0}
		edges := []edge{
			{table, object{namespaceClass, t.Schema, 0}, 'n'}, {rowType, table, 'i'},
			{object{typeClass, ArrayType(t.OID), 0}, rowType, 'i'},
		}
		if t.View != nil {
			edges = append(edges, viewEdges(t)...)
		}
		for i := range t.Columns {
			if c := &t.Columns[i]; !c.Dropped && c.Default+c.Generated != "" {
				edges = append(edges, edge{object{attrdefClass, partOID(t.OID, c.AttNum), 0},
					object{relationClass, t.OID, c.AttNum}, 'a'})
				edges = append(edges, b.env.defaultEdges(t, c)...)
			}
		}
		for _, c := range b.env.constraints(t) {
			edges = append(append(edges, constraintEdges(t, c)...), b.env.foreignEdges(c)...)
		}
		for i := range t.Indexes {
			edges = append(edges, indexEdges(t, &t.Indexes[i])...)
		}
		for i := range t.Statistics {
			edges = append(edges, extendedEdges(t, &t.Statistics[i])...)
		}
		edges = append(append(edges, triggerEdges(t)...), rowPolicyEdges(t)...)
		for _, e := range append(edges, typeUses(&b.env.Names, t)...) {
			if err := b.depends(e.from, e.to, e.kind); err != nil {
				return err
			}
		}
		return nil
	})
}

type edge struct {
	from, to object
	kind     byte
}

func constraintEdges(t *catalog.Table, c *catalog.Constraint) []edge {
	from := object{constraintClass, c.OID, 0}
	if len(c.Columns) == 0 {
		return []edge{{from, object{relationClass, t.OID, 0}, 'a'}}
	}
	var out []edge
	for _, att := range c.Columns {
		out = append(out, edge{from, object{relationClass, t.OID, att}, 'a'})
	}
	return out
}

// indexEdges returns the dependencies of an index: on its constraint, or on its columns.
func indexEdges(t *catalog.Table, ix *catalog.Index) []edge {
	from := object{relationClass, ix.OID, 0}
	for i := range t.Constraints {
		if c := &t.Constraints[i]; c.Index == ix.OID {
			return []edge{{from, object{constraintClass, c.OID, 0}, 'i'}}
		}
	}
	var out []edge
	for _, att := range append(slices.Clip(ix.Columns), ix.Include...) {
		if att > 0 {
			out = append(out, edge{from, object{relationClass, t.OID, att}, 'a'})
		}
	}
	if len(out) == 0 {
		out = append(out, edge{from, object{relationClass, t.OID, 0}, 'a'})
	}
	return out
}

// extendedEdges returns the dependencies of a statistics object: on its columns, or its table, and on
// its schema.
func extendedEdges(t *catalog.Table, x *catalog.ExtendedStatistics) []edge {
	from := object{statisticsClass, x.OID, 0}
	var out []edge
	for _, att := range x.Columns {
		out = append(out, edge{from, object{relationClass, t.OID, att}, 'a'})
	}
	if len(out) == 0 {
		out = append(out, edge{from, object{relationClass, t.OID, 0}, 'a'})
	}
	return append(out, edge{from, object{namespaceClass, x.Schema, 0}, 'n'})
}

// pgShdepend lists the owners of objects, without those of the first superuser, as in PostgreSQL.
func pgShdepend(b *builder) error {
	owned := func(database, class, oid, owner uint32) error {
		if owner == catalog.BootstrapRole || owner == catalog.DatabaseOwnerRole {
			return nil
		}
		return b.row().oid("dbid", database).oid("classid", class).oid("objid", oid).oid("refclassid", authidClass).
			oid("refobjid", owner).
			char("deptype", 'o').send()
	}
	for d := range b.env.View.Databases() {
		if err := owned(0, databaseClass, d.OID, d.Owner); err != nil {
			return err
		}
		for s := range b.env.View.Schemas(d.OID) {
			if err := owned(d.OID, namespaceClass, s.OID, s.Owner); err != nil {
				return err
			}
		}
		for t := range catalog.TypesOf(b.env.View, d.OID) {
			if err := owned(d.OID, typeClass, t.TypeOID(), t.Owner); err != nil {
				return err
			}
		}
		for f := range catalog.FunctionsOf(b.env.View, d.OID) {
			if err := owned(d.OID, procClass, f.OID, f.Owner); err != nil {
				return err
			}
		}
	}
	for t := range b.env.View.Tables(0) {
		if err := owned(t.Database, relationClass, t.OID, t.Owner); err != nil {
			return err
		}
		for i := range t.Statistics {
			if err := owned(t.Database, statisticsClass, t.Statistics[i].OID, t.Statistics[i].Owner); err != nil {
				return err
			}
		}
		for _, x := range t.RowPolicies() {
			for _, role := range rowPolicyRoles(&x) {
				err := b.row().oid("dbid", t.Database).oid("classid", policyClass).oid("objid", x.OID).
					oid("refclassid", authidClass).oid("refobjid", role).char("deptype", 'r').send()
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func pgDescription(b *builder) error {
	send := func(class, oid uint32, sub int16, text string) error {
		if text == "" {
			return nil
		}
		return b.row().oid("objoid", oid).oid("classoid", class).int("objsubid", int64(sub)).text("description", text).
			send()
	}
	if err := send(extensionClass, sherdExtension, 0, "Sherd's own functions and views"); err != nil {
		return err
	}
	for _, rel := range pgcatalog.Relations() {
		if rel.Schema == "sherd" {
			if err := send(relationClass, rel.OID, 0, rel.Comment); err != nil {
				return err
			}
		}
	}
	for s := range b.env.View.Schemas(b.env.Database.OID) {
		if s.OID == catalog.PostgresPublic && s.Comment == catalog.PublicSchemaComment {
			continue // among the embedded rows
		}
		if err := send(namespaceClass, s.OID, 0, s.Comment); err != nil {
			return err
		}
	}
	for t := range catalog.TypesOf(b.env.View, b.env.Database.OID) {
		if err := send(typeClass, t.TypeOID(), 0, t.Comment); err != nil {
			return err
		}
		for _, a := range t.Live() {
			if err := send(relationClass, t.OID, a.Number, a.Comment); err != nil {
				return err
			}
		}
		if t.Domain != nil {
			for _, k := range t.Domain.Checks {
				if err := send(constraintClass, k.OID, 0, k.Comment); err != nil {
					return err
				}
			}
		}
	}
	if err := functionComments(b, send); err != nil {
		return err
	}
	return b.relations(func(t *catalog.Table) error {
		if err := send(relationClass, t.OID, 0, t.Comment); err != nil || t.Sequence != nil {
			return err
		}
		for i := range t.Columns {
			if err := send(relationClass, t.OID, t.Columns[i].AttNum,
				t.ColumnComments[t.Columns[i].AttNum]); err != nil {
				return err
			}
		}
		if err := partComments(t, send); err != nil {
			return err
		}
		for _, c := range b.env.constraints(t) {
			if err := send(constraintClass, c.OID, 0, c.Comment); err != nil {
				return err
			}
		}
		return nil
	})
}

// partComments sends the comments on the indexes, statistics objects, triggers and row policies of a table.
func partComments(t *catalog.Table, send func(class, oid uint32, sub int16, text string) error) error {
	for i := range t.Indexes {
		if err := send(relationClass, t.Indexes[i].OID, 0, t.Indexes[i].Comment); err != nil {
			return err
		}
	}
	for i := range t.Statistics {
		if err := send(statisticsClass, t.Statistics[i].OID, 0, t.Statistics[i].Comment); err != nil {
			return err
		}
	}
	for i := range t.Triggers {
		if err := send(triggerClass, t.Triggers[i].OID, 0, t.Triggers[i].Comment); err != nil {
			return err
		}
	}
	for _, x := range t.RowPolicies() {
		if err := send(policyClass, x.OID, 0, x.Comment); err != nil {
			return err
		}
	}
	return nil
}

func pgShdescription(b *builder) error {
	send := func(class, oid uint32, text string) error {
		if text == "" {
			return nil
		}
		return b.row().oid("objoid", oid).oid("classoid", class).text("description", text).send()
	}
	for d := range b.env.View.Databases() {
		if err := send(databaseClass, d.OID, d.Comment); err != nil {
			return err
		}
	}
	return b.roles(func(r *catalog.Role) error { return send(authidClass, r.OID, r.Comment) })
}

// functionEdges returns what a function of a user depends on.
func functionEdges(f *catalog.Function) []edge {
	from := object{procClass, f.OID, 0}
	out := []edge{{from, object{namespaceClass, f.Schema, 0}, 'n'}}
	if f.ResultRelation != 0 {
		out = append(out, edge{from, object{typeClass, RowType(f.ResultRelation), 0}, 'n'})
	}
	for _, u := range f.Uses {
		if u.Constraint != 0 {
			out = append(out, edge{from, object{constraintClass, u.Constraint, 0}, 'n'})
			continue
		}
		if len(u.Columns) == 0 {
			out = append(out, edge{from, object{relationClass, u.Relation, 0}, 'n'})
		}
		for _, n := range u.Columns {
			out = append(out, edge{from, object{relationClass, u.Relation, n}, 'n'})
		}
	}
	for _, g := range f.UsedFunctions() {
		out = append(out, edge{from, object{procClass, g, 0}, 'n'})
	}
	for _, t := range typesOf(f) {
		out = append(out, edge{from, object{typeClass, t, 0}, 'n'})
	}
	return out
}

// typesOf returns the types of users that the arguments and the result of a function have.
func typesOf(f *catalog.Function) []uint32 {
	var out []uint32
	add := func(t uint32) {
		if catalog.TypeNumber(t) != 0 && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	add(f.Result)
	for i := range f.Arguments {
		add(f.Arguments[i].Type)
	}
	return out
}

func functionComments(b *builder, send func(class, oid uint32, sub int16, text string) error) error {
	for f := range catalog.FunctionsOf(b.env.View, b.env.Database.OID) {
		if err := send(procClass, f.OID, 0, f.Comment); err != nil {
			return err
		}
	}
	return nil
}
