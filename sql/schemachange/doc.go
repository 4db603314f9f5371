// Package schemachange changes the definitions of tables that have rows: in the transaction of the
// statement, with the table locked, and beside the table's users. It also makes and fills the table
// of CREATE TABLE AS.
//
// A statement that is all of its transaction can be run beside the users of its table (C2), because
// it need not be undone together with other statements. It takes steps, each a change of the
// catalog of its own. At any time only two neighbouring steps are in use:
//
//	ADD COLUMN    the column exists, but has no name: updates of a row keep the column's value
//	              — all transactions that do not know the column have ended —
//	              the column is public
//	CREATE INDEX  writers maintain the index, and readers do not use it
//	              — all transactions that do not maintain the index have ended —
//	              existing rows get their entries in batches, each a transaction
//	              the index is public
//
// Meanwhile a lock keeps others from changing the definition of the table. A crash between the
// steps does no harm: the column stays a dropped one, and the index is removed at the next start.
package schemachange
