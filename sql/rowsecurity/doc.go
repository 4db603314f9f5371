// Package rowsecurity adds to analyzed queries the conditions and checks of row policies (CREATE POLICY):
// which rows a role may read, change and write. It has nothing to do with the sharding policies of
// tables. What it adds depends on the definitions, the role and row_security alone.
//
//   - RS1: No way to a table's rows for a client omits its row policies: they are part of the query before
//     it is planned.
//   - RS2: Only owners, superusers, roles with BYPASSRLS and statements of the system, such as the checks
//     of foreign keys, read and write all rows.
package rowsecurity
