package parse

import (
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// IsQuery reports whether package analyze handles a statement: SELECT, VALUES, TABLE, INSERT,
// UPDATE, DELETE, MERGE. SELECT INTO creates a table and is not a query.
func IsQuery(n *pg_query.Node) bool {
	switch x := n.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		return Into(x.SelectStmt) == nil
	case *pg_query.Node_InsertStmt, *pg_query.Node_UpdateStmt, *pg_query.Node_DeleteStmt, *pg_query.Node_MergeStmt,
		*pg_query.Node_CallStmt:
		return true
	}
	return false
}

// Into returns the INTO of a SELECT, for a set operation that of its first part; nil if it has
// none.
func Into(n *pg_query.SelectStmt) *pg_query.IntoClause {
	for n.Larg != nil {
		n = n.Larg
	}
	return n.IntoClause
}

// EndsTransaction reports whether a statement is allowed in a failed transaction: COMMIT, ROLLBACK,
// ROLLBACK TO.
func EndsTransaction(n *pg_query.Node) bool {
	t := n.GetTransactionStmt()
	if t == nil {
		return false
	}
	switch t.Kind {
	case pg_query.TransactionStmtKind_TRANS_STMT_COMMIT, pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK,
		pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO, pg_query.TransactionStmtKind_TRANS_STMT_PREPARE:
		return true
	}
	return false
}

// irregular are the names of statements that do not follow from the name of their node.
var irregular = map[string]string{
	"CreateStmt":    "CREATE TABLE",
	"IndexStmt":     "CREATE INDEX",
	"ViewStmt":      "CREATE VIEW",
	"CreateSeqStmt": "CREATE SEQUENCE",
	"AlterSeqStmt":  "ALTER SEQUENCE", "DefineStmt": "CREATE", "RenameStmt": "ALTER … RENAME", "CopyStmt": "COPY",
	"CreateTableAsStmt":            "CREATE TABLE AS",
	"CreatedbStmt":                 "CREATE DATABASE",
	"DropdbStmt":                   "DROP DATABASE",
	"CreateTrigStmt":               "CREATE TRIGGER",
	"CreatePlangStmt":              "CREATE LANGUAGE",
	"RuleStmt":                     "CREATE RULE",
	"CreateEnumStmt":               "CREATE TYPE",
	"CreateRangeStmt":              "CREATE TYPE",
	"CompositeTypeStmt":            "CREATE TYPE",
	"AlterEnumStmt":                "ALTER TYPE",
	"VariableSetStmt":              "SET",
	"VariableShowStmt":             "SHOW",
	"DeclareCursorStmt":            "DECLARE CURSOR",
	"ClosePortalStmt":              "CLOSE",
	"LockStmt":                     "LOCK TABLE",
	"ConstraintsSetStmt":           "SET CONSTRAINTS",
	"AlterObjectSchemaStmt":        "ALTER … SET SCHEMA",
	"AlterOwnerStmt":               "ALTER … OWNER TO",
	"RefreshMatViewStmt":           "REFRESH MATERIALIZED VIEW",
	"CheckPointStmt":               "CHECKPOINT",
	"CreateExtensionStmt":          "CREATE EXTENSION",
	"CreateFdwStmt":                "CREATE FOREIGN DATA WRAPPER",
	"SecLabelStmt":                 "SECURITY LABEL",
	"ImportForeignSchemaStmt":      "IMPORT FOREIGN SCHEMA",
	"CreatePublicationStmt":        "CREATE PUBLICATION",
	"CreateSubscriptionStmt":       "CREATE SUBSCRIPTION",
	"AlterRoleSetStmt":             "ALTER ROLE … SET",
	"AlterDatabaseSetStmt":         "ALTER DATABASE … SET",
	"CreateTableSpaceStmt":         "CREATE TABLESPACE",
	"CreateEventTrigStmt":          "CREATE EVENT TRIGGER",
	"CreateForeignServerStmt":      "CREATE SERVER",
	"GrantRoleStmt":                "GRANT",
	"DropRoleStmt":                 "DROP ROLE",
	"AlterSystemStmt":              "ALTER SYSTEM",
	"CreateStatsStmt":              "CREATE STATISTICS",
	"VacuumStmt":                   "VACUUM",
	"TruncateStmt":                 "TRUNCATE TABLE",
	"ReindexStmt":                  "REINDEX",
	"CreateFunctionStmt":           "CREATE FUNCTION",
	"CreatePolicyStmt":             "CREATE POLICY",
	"DropTableSpaceStmt":           "DROP TABLESPACE",
	"AlterTableSpaceOptionsStmt":   "ALTER TABLESPACE",
	"AlterExtensionContentsStmt":   "ALTER EXTENSION",
	"AlterFdwStmt":                 "ALTER FOREIGN DATA WRAPPER",
	"AlterForeignServerStmt":       "ALTER SERVER",
	"CreateAmStmt":                 "CREATE ACCESS METHOD",
	"AlterEventTrigStmt":           "ALTER EVENT TRIGGER",
	"CreateOpClassStmt":            "CREATE OPERATOR CLASS",
	"CreateOpFamilyStmt":           "CREATE OPERATOR FAMILY",
	"AlterOpFamilyStmt":            "ALTER OPERATOR FAMILY",
	"AlterStatsStmt":               "ALTER STATISTICS",
	"AlterObjectDependsStmt":       "ALTER … DEPENDS ON EXTENSION",
	"AlterDatabaseRefreshCollStmt": "ALTER DATABASE … REFRESH COLLATION VERSION",
	"AlterTsdictionaryStmt":        "ALTER TEXT SEARCH DICTIONARY",
	"AlterTsconfigurationStmt":     "ALTER TEXT SEARCH CONFIGURATION",
	"AlterTableMoveAllStmt":        "ALTER … ALL IN TABLESPACE",
}

// droppedKinds are the kinds of objects whose names the parser shortens.
var droppedKinds = map[string]string{
	"FDW":             "FOREIGN DATA WRAPPER",
	"FOREIGN SERVER":  "SERVER",
	"MATVIEW":         "MATERIALIZED VIEW",
	"OPCLASS":         "OPERATOR CLASS",
	"OPFAMILY":        "OPERATOR FAMILY",
	"STATISTIC EXT":   "STATISTICS",
	"TSCONFIGURATION": "TEXT SEARCH CONFIGURATION",
	"TSDICTIONARY":    "TEXT SEARCH DICTIONARY",
	"TSPARSER":        "TEXT SEARCH PARSER", "TSTEMPLATE": "TEXT SEARCH TEMPLATE",
}

// Name returns the kind of a statement for messages: "CREATE FUNCTION".
func Name(n *pg_query.Node) string {
	if d := n.GetDropStmt(); d != nil {
		kind := strings.ReplaceAll(strings.TrimPrefix(d.RemoveType.String(), "OBJECT_"), "_", " ")
		if name, ok := droppedKinds[kind]; ok {
			kind = name
		}
		return "DROP " + kind
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", n.GetNode()), "*pg_query.Node_")
	if name, ok := irregular[kind]; ok {
		return name
	}
	var b strings.Builder
	for i, c := range strings.TrimSuffix(kind, "Stmt") {
		if i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return strings.ToUpper(b.String())
}
