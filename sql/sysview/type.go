package sysview

import (
	"cmp"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/usertype"
)

// pgType returns the types of users, and the row types of tables, with their array types.
func pgType(b *builder) error {
	for t := range catalog.TypesOf(b.env.View, b.env.Database.OID) {
		if err := b.enumType(t); err != nil {
			return err
		}
	}
	return b.relations(func(t *catalog.Table) error {
		if t.Sequence != nil {
			return nil
		}
		row := b.row().oid("oid", RowType(t.OID)).text("typname", t.Name).oid("typnamespace", t.Schema).
			oid("typowner", t.Owner).
			int("typlen", -1).char("typtype", 'c').char("typcategory", 'C').bool("typisdefined", true).
			char("typdelim", ',').
			oid("typrelid", t.OID).oid("typarray", ArrayType(t.OID)).oid("typinput", recordIn).
			oid("typoutput", recordOut).
			oid("typreceive", recordRecv).oid("typsend", recordSend).char("typalign", 'd').char("typstorage", 'x').
			int("typtypmod", -1)
		if err := row.send(); err != nil {
			return err
		}
		return b.row().oid("oid", ArrayType(t.OID)).text("typname", "_"+t.Name).oid("typnamespace", t.Schema).
			oid("typowner", t.Owner).
			int("typlen", -1).char("typtype", 'b').char("typcategory", 'A').bool("typisdefined", true).
			char("typdelim", ',').
			oid("typelem", RowType(t.OID)).oid("typsubscript", arraySubscript).oid("typinput", arrayIn).
			oid("typoutput", arrayOut).
			oid("typreceive", arrayRecv).oid("typsend", arraySend).oid("typanalyze", arrayAnalyze).
			char("typalign", 'd').char("typstorage", 'x').int("typtypmod", -1).send()
	})
}

func (b *builder) enumType(t *catalog.Type) error {
	oid := t.TypeOID()
	row := b.typeRow(t, oid).text("typname", t.Name).int("typlen", 4).bool("typbyval", true).char("typtype", 'e').
		char("typcategory", 'E').oid("typarray", types.ArrayTypeOf(oid)).oid("typinput", enumIn).
		oid("typoutput", enumOut).oid("typreceive", enumRecv).oid("typsend", enumSend).char("typstorage", 'p')
	if err := row.send(); err != nil {
		return err
	}
	return b.typeRow(t, types.ArrayTypeOf(oid)).text("typname", usertype.ArrayName(b.env.View, t)).int("typlen", -1).
		char("typtype", 'b').char("typcategory", 'A').oid("typelem", oid).oid("typsubscript", arraySubscript).
		oid("typinput", arrayIn).oid("typoutput", arrayOut).oid("typreceive", arrayRecv).oid("typsend", arraySend).
		oid("typanalyze", arrayAnalyze).char("typstorage", 'x').send()
}

// typeRow starts a row of pg_type with what an enum and its array type share.
func (b *builder) typeRow(t *catalog.Type, oid uint32) *record {
	return b.row().oid("oid", oid).oid("typnamespace", t.Schema).oid("typowner", t.Owner).bool("typisdefined", true).
		char("typdelim", ',').char("typalign", 'i').int("typtypmod", -1)
}

func pgEnum(b *builder) error {
	for t := range catalog.TypesOf(b.env.View, b.env.Database.OID) {
		labels := slices.SortedFunc(slices.Values(t.Labels),
			func(x, y catalog.EnumLabel) int { return cmp.Compare(x.OID, y.OID) })
		for _, l := range labels {
			if err := b.row().oid("oid", l.OID).oid("enumtypid", t.TypeOID()).
				set("enumsortorder", types.NewFloat4(l.Order)).text("enumlabel", l.Text).send(); err != nil {
				return err
			}
		}
	}
	return nil
}

// typeEdges returns the dependencies of a type of a user.
func typeEdges(t *catalog.Type) []edge {
	from := object{typeClass, t.TypeOID(), 0}
	return []edge{
		{from, object{namespaceClass, t.Schema, 0}, 'n'},
		{object{typeClass, types.ArrayTypeOf(t.TypeOID()), 0}, from, 'i'},
	}
}

// typeUses returns the dependencies of a table on types of users: of its columns, and of their
// expressions.
func typeUses(n *Names, t *catalog.Table) []edge {
	var out []edge
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Dropped {
			continue
		}
		if used := catalog.TypeByOID(n.View, catalog.TypeNumber(c.Type)); used != nil {
			out = append(out, edge{object{relationClass, t.OID, c.AttNum}, object{typeClass, c.Type, 0}, 'n'})
		}
		for used := range catalog.TypesOf(n.View, t.Database) {
			if used.TypeInText(c.Default + " " + c.Generated) {
				out = append(out, edge{object{attrdefClass, partOID(t.OID, c.AttNum), 0},
					object{typeClass, used.TypeOID(), 0}, 'n'})
			}
		}
	}
	return out
}

// Functions of enums, of row types and of arrays.
const (
	enumIn         = 3506
	enumOut        = 3507
	enumRecv       = 3532
	enumSend       = 3533
	recordIn       = 2290
	recordOut      = 2291
	recordRecv     = 2402
	recordSend     = 2403
	arrayIn        = 750
	arrayOut       = 751
	arrayRecv      = 2400
	arraySend      = 2401
	arrayAnalyze   = 3816
	arraySubscript = 6179
)
