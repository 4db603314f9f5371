package sysview

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// RegIn resolves the text form of a reg* value that is not a number (types.Env.RegIn).
func (n *Names) RegIn(oid types.OID, text string) (uint32, error) {
	switch oid {
	case types.RegClass:
		return regClassIn(n, text)
	case types.RegType:
		v, ok, err := n.FindType(text)
		return found(v, ok, err, pgerr.UndefinedObject, `type "%s" does not exist`, text)
	case types.RegProc:
		if strings.ContainsRune(text, '(') {
			return 0, pgerr.New(pgerr.UndefinedFunction, `function "%s" does not exist`, text)
		}
		v, count, err := n.FindProc(text)
		if err == nil && count > 1 {
			return 0, pgerr.New(pgerr.AmbiguousFunction, `more than one function named "%s"`, text)
		}
		return found(v, count == 1, err, pgerr.UndefinedFunction, `function "%s" does not exist`, text)
	case types.RegOper:
		v, count, err := n.FindOperator(text)
		if err == nil && count > 1 {
			return 0, pgerr.New(pgerr.AmbiguousFunction, "more than one operator named %s", text)
		}
		return found(v, count == 1, err, pgerr.UndefinedFunction, "operator does not exist: %s", text)
	case types.RegProcedure, types.RegOperator:
		return regSignatureIn(n, oid, text)
	case types.RegRole:
		v, ok, err := n.Find(builtin.ObjRole, text)
		return found(v, ok, err, pgerr.UndefinedObject, `role "%s" does not exist`, bare(text))
	case types.RegNamespace:
		v, ok, err := n.Find(builtin.ObjSchema, text)
		return found(v, ok, err, pgerr.InvalidSchemaName, `schema "%s" does not exist`, bare(text))
	case types.RegCollation:
		v, ok, err := n.Find(builtin.ObjCollation, text)
		return found(v, ok, err, pgerr.UndefinedObject, `collation "%s" for encoding "UTF8" does not exist`, bare(text))
	case types.RegConfig:
		v, ok, err := n.FindTextSearch("pg_ts_config", "cfgname", text)
		return found(v, ok, err, pgerr.UndefinedObject, `text search configuration "%s" does not exist`, bare(text))
	case types.RegDictionary:
		v, ok, err := n.FindTextSearch("pg_ts_dict", "dictname", text)
		return found(v, ok, err, pgerr.UndefinedObject, `text search dictionary "%s" does not exist`, bare(text))
	}
	return 0, pgerr.Unsupported("names of type %s are not supported yet", types.TypeName(oid))
}

func regClassIn(n *Names, text string) (uint32, error) {
	parts, err := n.QualifiedName(text)
	if err != nil {
		return 0, err
	}
	if len(parts) == 2 {
		if _, ok := n.SchemaOID(parts[0]); !ok {
			return 0, pgerr.New(pgerr.InvalidSchemaName, `schema "%s" does not exist`, parts[0])
		}
		if n.Uses != nil {
			if err := n.Uses(parts[0]); err != nil {
				return 0, err
			}
		}
	}
	v := n.FindRelation(parts)
	return found(v, v != 0, nil, pgerr.UndefinedTable, `relation "%s" does not exist`, strings.Join(parts, "."))
}

func regSignatureIn(n *Names, oid types.OID, text string) (uint32, error) {
	if !strings.ContainsRune(text, '(') {
		return 0, pgerr.New(pgerr.InvalidTextRepresentation, "expected a left parenthesis")
	}
	if oid == types.RegOperator {
		v, count, err := n.FindOperator(text)
		return found(v, count > 0, err, pgerr.UndefinedFunction, "operator does not exist: %s", text)
	}
	v, count, err := n.FindProc(text)
	return found(v, count > 0, err, pgerr.UndefinedFunction, `function "%s" does not exist`, text)
}

// found returns v, or the error that the object does not exist.
func found(v uint32, ok bool, err error, code, format, name string) (uint32, error) {
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, pgerr.New(code, format, name)
	}
	return v, nil
}

// bare returns a name without its quotes, for messages.
func bare(text string) string {
	parts, err := SplitName(text)
	if err != nil {
		return text
	}
	return strings.Join(parts, ".")
}

// RegOut appends the name of an object as its reg* type prints it, or its OID if it does not exist
// (types.Env.RegOut).
func (n *Names) RegOut(dst []byte, oid types.OID, value uint32) []byte {
	if value == 0 {
		if oid == types.RegOper || oid == types.RegOperator {
			return append(dst, '0')
		}
		return append(dst, '-')
	}
	if name, ok := n.RegName(oid, value); ok {
		return append(dst, name...)
	}
	return strconv.AppendUint(dst, uint64(value), 10)
}

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
