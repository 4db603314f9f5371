package ddl

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
)

func (r *runner) alterTable(n *pg_query.AlterTableStmt) error         { return nil }
func (r *runner) rename(n *pg_query.RenameStmt) (string, bool, error) { return "", false, nil }
func (r *runner) setSchema(n *pg_query.AlterObjectSchemaStmt) (string, bool, error) {
	return "", false, nil
}
func (r *runner) setOwner(n *pg_query.AlterOwnerStmt) (string, bool, error) { return "", false, nil }
func (r *runner) comment(n *pg_query.CommentStmt) error                     { return nil }
func (r *runner) createDatabase(n *pg_query.CreatedbStmt) error             { return nil }
func (r *runner) dropDatabase(n *pg_query.DropdbStmt) error                 { return nil }
func (r *runner) alterDatabase(n *pg_query.AlterDatabaseStmt) error         { return nil }
func (r *runner) alterDatabaseSet(n *pg_query.AlterDatabaseSetStmt) error   { return nil }
func (r *runner) createRole(n *pg_query.CreateRoleStmt) error               { return nil }
func (r *runner) alterRole(n *pg_query.AlterRoleStmt) error                 { return nil }
func (r *runner) alterRoleSet(n *pg_query.AlterRoleSetStmt) error           { return nil }
func (r *runner) dropRole(n *pg_query.DropRoleStmt) error                   { return nil }
func (d *draft) fillWithDefault(col *catalog.Column, e query.Expr) error    { return nil }
func nullScan(t *catalog.Table, col *catalog.Column) scan                   { return scan{} }
