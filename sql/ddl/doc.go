// Package ddl runs the statements that define: databases, schemas, tables with their constraints and sharding policies, roles, comments.
//
// A statement adds steps to the change of the catalog that its transaction will commit, planned against the definitions as the transaction has
// left them. Tables that exist already are locked against their users until it ends. What must hold of the rows that are there (NOT NULL, CHECK)
// is asked for by queries that run against the definitions as they would be, over rows that are committed or the transaction's own.
//
// Rules, messages and SQLSTATEs are PostgreSQL 15's. What Sherd has not yet answers 0A000 with a hint (unsupported.go holds the list).
//
// Where a change concerns what is stored of each row, or where, the table takes a new storage id and the rows are stored there anew (Env.Rewrite),
// once for all parts of an ALTER TABLE.
//
// The package never touches rows: the rows of dropped, truncated and rewritten tables are deleted by a job that the change records
// (catalog.DropStorageJob). It keeps expressions as the text that analysis deparses, and evaluates constants only, for columns that are added with
// a default.
//
// Files: statement.go has the switch; change.go what all statements share; create_*.go, like.go, alter_*.go, drop.go the statements on tables;
// index*.go and unique.go indexes; foreign_key.go and dependents.go foreign keys and what CASCADE takes with it; options.go and policy.go WITH (…);
// sequence*.go and identity.go sequences and the columns that own them; schema.go, database.go, role.go, comment.go, rename.go, owner.go the rest.
package ddl
