package sysview

import (
	"strconv"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// systemColumns are the system columns of every table.
var systemColumns = []struct {
	num  int16
	name string
	typ  types.OID
}{{-1, "ctid", types.Tid}, {-2, "xmin", types.Xid}, {-3, "cmin", types.Cid}, {-4, "xmax", types.Xid},
	{-5, "cmax", types.Cid}, {-6, "tableoid", types.Oid}}

// fixedAttributes returns the columns of the schema sherd, and the system columns of all system
// tables.
func fixedAttributes(b *builder) error {
	for _, rel := range pgcatalog.Relations() {
		if rel.Schema == "sherd" {
			for i, c := range rel.Columns {
				if err := attribute(b, rel.OID, c.Name, c.Type, c.Typmod, int16(i+1)).send(); err != nil {
					return err
				}
			}
		}
		if rel.Kind == 'r' {
			if err := systemAttributes(b, rel.OID); err != nil {
				return err
			}
		}
	}
	return nil
}

func pgAttribute(b *builder) error {
	if err := b.composites(func(t *catalog.Type) error { return compositeAttributes(b, t) }); err != nil {
		return err
	}
	return b.relations(func(t *catalog.Table) error { return tableAttributes(b, t) })
}

func systemAttributes(b *builder, relation uint32) error {
	for _, c := range systemColumns {
		if err := attribute(b, relation, c.name, c.typ, -1, c.num).bool("attnotnull", true).int("attstattarget", 0).
			send(); err != nil {
			return err
		}
	}
	return nil
}

func tableAttributes(b *builder, t *catalog.Table) error {
	if !t.IsView() {
		if err := systemAttributes(b, t.OID); err != nil {
			return err
		}
	}
	for i := range t.Columns {
		if t.Sequence != nil && i == catalog.SequenceShown {
			break
		}
		if err := columnAttribute(b, t, &t.Columns[i]).send(); err != nil {
			return err
		}
	}
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		for k, c := range b.env.indexColumns(t, ix) {
			r := attribute(b, ix.OID, c.name, c.typ, c.typmod, int16(k+1))
			r.int("attstattarget", int64(ix.StatisticsTarget(k)))
			if err := r.oid("attcollation", c.coll).send(); err != nil {
				return err
			}
		}
	}
	return nil
}

// droppedName is the name of a dropped column or attribute.
func droppedName(number int16) string {
	return "........pg.dropped." + strconv.Itoa(int(number)) + "........"
}

func columnAttribute(b *builder, t *catalog.Table, c *catalog.Column) *record {
	if c.Dropped {
		return attribute(b, t.OID, droppedName(c.AttNum), c.Type, c.Typmod, c.AttNum).oid("atttypid", 0).
			bool("attisdropped", true).int("attstattarget", 0)
	}
	r := attribute(b, t.OID, c.Name, c.Type, c.Typmod, c.AttNum).bool("attnotnull", c.NotNull).
		oid("attcollation", collationOf(c)).int("attstattarget", int64(c.StatisticsTarget())).
		bool("atthasdef", c.Default != "" || c.Generated != "").bool("atthasmissing", len(c.Missing) > 0).
		acl("attacl", c.ACL)
	if c.Identity != 0 {
		r.char("attidentity", c.Identity)
	}
	if c.Generated != "" {
		r.char("attgenerated", 's')
	}
	if d, ok := missingValue(c); ok {
		r.set("attmissingval", d)
	}
	return r
}

// missingValue returns the value of rows written before the column was added, as an array of one.
func missingValue(c *catalog.Column) (types.Datum, bool) {
	if len(c.Missing) == 0 {
		return types.Null, false
	}
	d, _, err := types.DecodeDatum(c.Missing)
	if err != nil {
		return types.Null, false
	}
	return types.NewList(c.Type, []types.Datum{d}), true
}

func collationOf(c *catalog.Column) uint32 {
	if c.Collation != 0 {
		return c.Collation
	}
	return typeCollation(c.Type)
}

// attribute starts a row with the columns that depend on the type.
func attribute(b *builder, relation uint32, name string, typ types.OID, typmod int32, num int16) *record {
	r := b.row().oid("attrelid", relation).text("attname", name).oid("atttypid", typ).int("attstattarget", -1).
		int("attnum", int64(num)).
		int("attcacheoff", -1).int("atttypmod", int64(typmod)).bool("attislocal", true)
	t := pgcatalog.TypeByOID(typ)
	if t == nil {
		return r.int("attlen", -1).char("attalign", 'd').char("attstorage", 'x')
	}
	if pgcatalog.ElementOf(typ) != 0 {
		r.int("attndims", 1)
	}
	return r.int("attlen", int64(t.Len)).bool("attbyval", t.ByVal).char("attalign", t.Align).
		char("attstorage", t.Storage).
		oid("attcollation", t.Collation)
}

func pgAttrdef(b *builder) error {
	return b.relations(func(t *catalog.Table) error {
		for i := range t.Columns {
			c := &t.Columns[i]
			text := c.Default + c.Generated
			if c.Dropped || text == "" {
				continue
			}
			if err := b.row().oid("oid", partOID(t.OID, c.AttNum)).oid("adrelid", t.OID).int("adnum", int64(c.AttNum)).
				text("adbin", text).send(); err != nil {
				return err
			}
		}
		return nil
	})
}
