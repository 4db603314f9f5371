package sysview

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/usertype"
)

// Computed OIDs; see doc.go.
const (
	rowTypeBit   = 1 << 28
	arrayTypeBit = 1 << 29
	partBit      = 1 << 30
	partColumns  = 1600 // maximum number of columns of a table
)

// RowType returns the OID of a table's row type.
func RowType(table uint32) uint32 { return rowTypeBit | table }

// ArrayType returns the OID of the array type of a table's row type.
func ArrayType(table uint32) uint32 { return arrayTypeBit | table }

// partOID returns the OID of a column's default; for column 0, of the sharding constraint.
func partOID(table uint32, column int16) uint32 { return partBit | table*partColumns + uint32(column) }

// partOf is the inverse of partOID.
func partOf(oid uint32) (table uint32, column int16, ok bool) {
	if oid>>30 != 1 {
		return 0, 0, false
	}
	oid &^= partBit
	return oid / partColumns, int16(oid % partColumns), true
}

// tableOfType returns the table whose row type, or array of it, has the OID.
func tableOfType(oid uint32) (table uint32, array, ok bool) {
	switch oid >> 28 {
	case 1:
		return oid &^ rowTypeBit, false, true
	case 2:
		return oid &^ arrayTypeBit, true, true
	}
	return 0, false, false
}

// typeIn finds a type by its pg_type name in a schema; 0 if there is none.
func (n *Names) typeIn(schema, name string) uint32 {
	if t := pgcatalog.TypeByName(schema, name); t != nil {
		return t.OID
	}
	if oid := usertype.Find(n.View, n.Database.OID, schema, name); oid != 0 {
		return oid
	}
	if t := n.View.FindTable(n.Database.OID, schema, name); t != nil {
		return RowType(t.OID)
	}
	if bare, ok := strings.CutPrefix(name, "_"); ok {
		if t := n.View.FindTable(n.Database.OID, schema, bare); t != nil {
			return ArrayType(t.OID)
		}
	}
	return 0
}

// TypeName returns schema and pg_type name of a type.
func (n *Names) TypeName(oid uint32) (schema, name string, ok bool) {
	if catalog.TypeNumber(oid) != 0 {
		return usertype.NameOf(n.View, oid)
	}
	if t := pgcatalog.TypeByOID(oid); t != nil {
		return t.Namespace, t.Name, true
	}
	table, array, ok := tableOfType(oid)
	if !ok {
		return "", "", false
	}
	t := n.table(table)
	if t == nil {
		return "", "", false
	}
	schema, _ = n.SchemaName(t.Schema)
	if array {
		return schema, "_" + t.Name, true
	}
	return schema, t.Name, true
}

// FormatType returns a type's SQL name as format_type does.
func (n *Names) FormatType(oid uint32, typmod int32) string {
	if catalog.TypeNumber(oid) != 0 {
		source := usertype.Source{View: n.View, Database: n.Database.OID, Path: n.Path}
		return source.Format(oid)
	}
	table, array, ok := tableOfType(oid)
	if !ok {
		return pgcatalog.FormatType(oid, typmod)
	}
	t := n.table(table)
	if t == nil {
		return "???"
	}
	schema, _ := n.SchemaName(t.Schema)
	name := n.qualify(schema, t.Name, n.first([]string{t.Name}, n.typeIn) == RowType(table))
	if array {
		name += "[]"
	}
	return name
}

// qualify quotes a name, with its schema unless the bare name is visible.
func (n *Names) qualify(schema, name string, visible bool) string {
	if visible || schema == "" {
		return builtin.QuoteIdent(name)
	}
	return builtin.QuoteIdent(schema) + "." + builtin.QuoteIdent(name)
}

// FindType resolves a type as written in SQL: integer[], varchar(10), public.orders. ok is false if
// the type does not exist; err is set if the text is not a type name.
func (n *Names) FindType(text string) (oid uint32, ok bool, err error) {
	tree, err := pg_query.Parse("SELECT NULL::" + text)
	if err != nil {
		return 0, false, pgerr.New(pgerr.SyntaxError, `invalid type name "%s"`, text)
	}
	name := castType(tree)
	if name == nil || name.Setof || name.PctType {
		return 0, false, pgerr.New(pgerr.SyntaxError, `invalid type name "%s"`, text)
	}
	var parts []string
	for _, p := range name.Names {
		parts = append(parts, p.GetString_().GetSval())
	}
	if len(parts) == 3 && parts[0] == n.Database.Name {
		parts = parts[1:]
	}
	if len(parts) > 2 {
		return 0, false, pgerr.New(pgerr.SyntaxError, "improper qualified name (too many dotted names): %s",
			strings.Join(parts, "."))
	}
	oid = n.first(parts, n.typeIn)
	if oid != 0 && len(name.ArrayBounds) > 0 {
		oid = arrayOf(oid)
	}
	return oid, oid != 0, nil
}

// castType returns the type of SELECT NULL::type, nil if the text contains anything else.
func castType(tree *pg_query.ParseResult) *pg_query.TypeName {
	if len(tree.Stmts) != 1 {
		return nil
	}
	sel := tree.Stmts[0].GetStmt().GetSelectStmt()
	if sel == nil || len(sel.TargetList) != 1 || len(sel.FromClause) > 0 || sel.WhereClause != nil ||
		sel.LimitCount != nil || sel.SortClause != nil {
		return nil
	}
	target := sel.TargetList[0].GetResTarget()
	if target.GetName() != "" {
		return nil
	}
	return target.GetVal().GetTypeCast().GetTypeName()
}

func arrayOf(oid uint32) uint32 {
	if table, array, ok := tableOfType(oid); ok && !array {
		return ArrayType(table)
	}
	return pgcatalog.ArrayOf(oid)
}
