// Package exec runs query plans. It compiles a tree of plan.Node into operators, and its
// expressions into closures (package expr), and pushes rows through them. The operators that know
// only rows are those of package operator; this one has those that read tables, reach fragments,
// or write.
//
// A Program is compiled once and cached with its plan; each execution borrows an instance of it.
// Operators push: Run calls emit for each row, from the scan upwards, without a queue in between.
// The part of a plan below a Gather runs where the data is. The Gather evaluates its Route to
// buckets, makes one Task per fragment by the database's map, and hands each Task to its Fragment,
// which calls RunTask on the node that leads the fragment. Tasks run in the caller's goroutine
// until one is long; then they run in parallel and send their rows through bounded channels.
//
// The package never parses, plans or looks up names in the catalog, and it uses neither sockets nor
// disks, except for temporary files: rows come from a Tx, which the cluster makes from a storage
// transaction.
//
// Invariants:
//
//	E1  A row, and all memory that its datums alias, is valid only during emit. An operator
//	    that keeps a row copies it into its arena.
//	E2  An instance runs one execution at a time. Within one, no operator is entered again
//	    before it has returned, so operators and closures keep their scratch space in
//	    themselves and allocate nothing per row.
//	E3  All reads of a statement, in all fragments, are at one timestamp, taken before the
//	    first read from every fragment that the statement may reach (T6). If that is one
//	    fragment and one Gather, the fragment chooses the timestamp when it gets the task,
//	    and returns it before its first row.
//	E4  A fragment gets its buckets by number and reads no others (C1). If they have moved,
//	    it refuses the task before it has done anything, and the task runs, at the same
//	    timestamp, in the fragments that own them by a newer map (reroute.go).
//	E5  The memory that a query retains is counted by its Memory; above the limit it ends
//	    with 53200. Operators that can write files do so before, at a share of their own.
//	E6  A statement never sees a row that it has written itself.
//	E7  A write is buffered under the row's lock, after the newest version was checked. A row
//	    that changed after the snapshot is 40001, but READ COMMITTED does more. If the row
//	    belongs to a single scan, it checks the newest version against the scan's condition
//	    and continues with it, or leaves the row out. If the row may exist under another key,
//	    the statement runs again (scan.go). If the statement reads more than that row (joins,
//	    subqueries in SET), the session runs it again after 40001. For a cursor, the join is
//	    computed again with the present row and the others as they were (op_lockrows.go).
//	E8  LockRows locks rows in the order in which they are returned, and only as many as are
//	    needed: in the fragment if there is no ORDER BY and no LIMIT, otherwise from the
//	    gateway, by key.
//	E9  Entries of secondary indexes are written with their rows, in the same transaction. An
//	    exclusive entry is put, removed and claimed under the lock of its key, after the
//	    newest state was checked; a statement puts such entries after all its removals
//	    (index_write.go). An entry of a local index names the generation of its bucket. In
//	    any other generation it is invisible, even before it is deleted (table/generation.go).
//	E10 Keys that a Modify watches are recorded for every row that it writes, in the form in
//	    which the row is written, and for no other row.
//	E11 An instance that is not in use holds no data of the last execution, however that
//	    ended (expr.Scratch).
//
// Limits: rows that a Modify keeps go to a file beyond 2 MiB (package spool), and operators write files
// beyond their share; other data that exceeds the query's memory is an error. Float sums are added
// in the order in which fragments answer.
package exec
