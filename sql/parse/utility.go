package parse

import pg_query "github.com/pganalyze/pg_query_go/v6"

// CommitsItself returns the name of a statement that commits by itself, and "" for any other
// statement.
func CommitsItself(n *pg_query.Node) string {
	switch x := n.Node.(type) {
	case *pg_query.Node_CreatedbStmt:
		return "CREATE DATABASE"
	case *pg_query.Node_DropdbStmt:
		return "DROP DATABASE"
	case *pg_query.Node_AlterSystemStmt:
		return "ALTER SYSTEM"
	case *pg_query.Node_IndexStmt:
		if x.IndexStmt.Concurrent {
			return "CREATE INDEX CONCURRENTLY"
		}
	case *pg_query.Node_DropStmt:
		if x.DropStmt.Concurrent {
			return "DROP INDEX CONCURRENTLY"
		}
	case *pg_query.Node_VacuumStmt:
		if x.VacuumStmt.IsVacuumcmd {
			return "VACUUM"
		}
	case *pg_query.Node_ReindexStmt:
		switch x.ReindexStmt.Kind {
		case pg_query.ReindexObjectType_REINDEX_OBJECT_SCHEMA:
			return "REINDEX SCHEMA"
		case pg_query.ReindexObjectType_REINDEX_OBJECT_SYSTEM:
			return "REINDEX SYSTEM"
		case pg_query.ReindexObjectType_REINDEX_OBJECT_DATABASE:
			return "REINDEX DATABASE"
		}
		for _, o := range x.ReindexStmt.Params {
			if o.GetDefElem().GetDefname() == "concurrently" {
				return "REINDEX CONCURRENTLY"
			}
		}
	}
	return ""
}

// NeedsNoWork returns the tag of a statement that has nothing to do here, because storage maintains
// itself (docs/sql/compatibility.md).
func NeedsNoWork(n *pg_query.Node) (tag string, ok bool) {
	switch n.Node.(type) {
	case *pg_query.Node_ReindexStmt:
		return "REINDEX", true
	case *pg_query.Node_ClusterStmt:
		return "CLUSTER", true
	case *pg_query.Node_CheckPointStmt:
		return "CHECKPOINT", true
	}
	return "", false
}

// TakesSnapshot reports whether a statement that is not a query counts as one for SET TRANSACTION,
// as in PostgreSQL.
func TakesSnapshot(n *pg_query.Node) bool {
	switch n.Node.(type) {
	case *pg_query.Node_TransactionStmt, *pg_query.Node_VariableSetStmt, *pg_query.Node_VariableShowStmt,
		*pg_query.Node_ConstraintsSetStmt, *pg_query.Node_LockStmt, *pg_query.Node_FetchStmt,
		*pg_query.Node_CheckPointStmt, *pg_query.Node_ListenStmt, *pg_query.Node_UnlistenStmt,
		*pg_query.Node_NotifyStmt,
		*pg_query.Node_ExecuteStmt: // the executed statement decides
		return false
	}
	return true
}
