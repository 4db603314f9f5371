// Package ddl runs the statements that define: databases, schemas, tables with their constraints and sharding policies, roles, comments.
//
// A statement is one change of the catalog: Run plans it against a view and proposes it, and plans it anew where another change came first.
// Tables that exist already are locked against their users meanwhile. What must hold of the rows that are there (NOT NULL, CHECK) is asked
// for by queries that run against the definitions as they would be, before the change is proposed.
//
// Rules, messages and SQLSTATEs are PostgreSQL 15's. What Sherd has not yet answers 0A000 with a hint (unsupported.go holds the list).
//
// The package never touches rows: the rows of dropped and truncated tables are deleted by a job that the change records (catalog.DropStorageJob). It
// keeps expressions as the text that analysis deparses, and evaluates constants only, for columns that are added with a default.
//
// Files: statement.go has the switch; change.go what all statements share; create_*.go, alter_*.go, drop.go the statements on tables;
// options.go and policy.go WITH (…); schema.go, database.go, role.go, comment.go, rename.go, owner.go the rest.
package ddl
