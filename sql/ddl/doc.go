// Package ddl runs the statements that define objects: databases, schemas, tables with their
// constraints and sharding policies, roles, comments.
//
// A statement adds steps to the catalog change that its transaction will commit. The steps are
// planned against the definitions as the transaction has left them. Existing tables stay locked
// until the transaction ends. Conditions on existing rows (NOT NULL, CHECK) are checked by queries
// against the new definitions; they see committed rows and the transaction's own.
//
// Rules, messages and SQLSTATEs are those of PostgreSQL 15. Unsupported statements return 0A000
// with a hint (unsupported.go has the list).
//
// If a change affects how or where rows are stored, the table gets a new storage id and its rows
// are rewritten there (Env.Rewrite), once for all sub-commands of an ALTER TABLE.
//
// The package never touches rows. The rows of dropped, truncated and rewritten tables are deleted
// by a job that the change records (catalog.DropStorageJob). Expressions are stored as the text
// that analysis deparses; the package only evaluates constants, for new columns with a default.
//
// Files: statement.go dispatches statements; change.go has what all statements share; create_*.go,
// like.go, alter_*.go and drop.go handle tables; index*.go and unique.go indexes; foreign_key.go
// and dependents.go foreign keys and CASCADE; options.go and policy.go WITH (…); sequence*.go and
// identity.go sequences and the columns that own them; statistics.go CREATE STATISTICS; user_type.go,
// domain.go and type_use.go types; schema.go,
// database.go, role.go, comment.go, rename.go and owner.go the rest.
package ddl
