package sysview

import (
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// RegName returns an object's name as its reg* type prints it; ok is false if it does not exist.
func (n *Names) RegName(reg types.OID, oid uint32) (string, bool) {
	kind := builtin.ObjRelation
	switch reg {
	case types.RegType:
		if _, _, ok := n.TypeName(oid); !ok {
			return "", false
		}
		return n.FormatType(oid, -1), true
	case types.RegProc:
		return n.ProcName(oid)
	case types.RegProcedure:
		return n.Signature(oid)
	case types.RegOper:
		return n.OperatorName(oid)
	case types.RegOperator:
		return n.OperatorSignature(oid)
	case types.RegConfig:
		return textSearchName("pg_ts_config", "cfgname", oid)
	case types.RegDictionary:
		return textSearchName("pg_ts_dict", "dictname", oid)
	case types.RegRole:
		kind = builtin.ObjRole
	case types.RegNamespace:
		kind = builtin.ObjSchema
	case types.RegCollation:
		kind = builtin.ObjCollation
	case types.RegClass:
	default:
		return "", false
	}
	schema, name, ok := n.Name(kind, oid)
	if !ok {
		return "", false
	}
	visible, _ := n.Visible(kind, oid)
	return n.qualify(schema, name, visible), true
}

// textSearchName returns the name of a text search object; all are in pg_catalog.
func textSearchName(table, column string, oid uint32) (string, bool) {
	rel := pgcatalog.RelationByName(pgCatalog, table)
	id, name := place(rel, "oid"), place(rel, column)
	for _, row := range staticRows(table) {
		if row[id].Oid() == oid {
			return builtin.QuoteIdent(row[name].S), true
		}
	}
	return "", false
}

// FindTextSearch resolves the name of a text search object.
func (n *Names) FindTextSearch(table, column, text string) (oid uint32, ok bool, err error) {
	parts, err := n.QualifiedName(text)
	if err != nil {
		return 0, false, err
	}
	rel := pgcatalog.RelationByName(pgCatalog, table)
	id, name := place(rel, "oid"), place(rel, column)
	oid = n.first(parts, func(schema, bare string) uint32 {
		for _, row := range staticRows(table) {
			if schema == pgCatalog && row[name].S == bare {
				return row[id].Oid()
			}
		}
		return 0
	})
	return oid, oid != 0, nil
}
