// Package exec runs plans: it compiles a plan.Node tree into operators and its expressions into closures, and pushes rows through them.
//
// A Program is compiled once and cached with its plan; each execution borrows an instance of it. Operators push: Run calls emit for
// each row, from the scan upwards, without a queue in between. What lies below a Gather runs where the data is: the Gather evaluates its
// Route to buckets, cuts them into one Task per fragment by the database's map, and hands each Task to its Fragment, which calls RunTask on
// the node that leads it. One fragment runs inline in the caller's goroutine; several run in parallel and meet in bounded channels.
//
// The package never parses, plans or looks anything up in the catalog; it knows no sockets and no disks: rows come from a Tx, which the
// cluster makes of a storage transaction.
//
// Invariants:
//
//	E1  A row is valid during emit only, and so is everything its datums alias. Whoever retains one copies it into its arena.
//	E2  An instance runs one execution at a time. Within one, no operator is entered again before it has returned, so operators and
//	    closures keep their scratch space in themselves and allocate nothing per row.
//	E3  All reads of a statement, in whatever fragment, are at one timestamp, taken before the first from every fragment that the
//	    statement may reach (T6). Where that is one, and one Gather, the fragment takes it with the task and says it before its first row.
//	E4  A fragment gets its bucket ranges by name and reads no other (C1). Where they have moved it refuses the task before anything is done, and the
//	    task is run at the same timestamp where they are by a newer map (reroute.go).
//	E5  What a query retains is counted by its Memory; beyond the limit it ends with 53200.
//	E6  A statement never sees a row that it wrote itself.
//	E7  Writes are staged under the row's lock after the newest version was checked. A row that changed after the snapshot is 40001; but READ
//	    COMMITTED looks at the newest version where a row is one of one scan's, holds it against the scan's condition again, and goes on with
//	    it or leaves it out; a row that is there under another key now, and may still fit, has the statement run again (gone.go). What reads more than that row (joins, subqueries in SET) stays 40001, and the session runs the statement again;
//	    but a cursor's join is put together again with the row as it is now and the others as they were (rejoin.go).
//	E8  LockRows locks rows in the order in which they are to be answered, and no more than are wanted: in the fragment where neither ORDER BY
//	    nor LIMIT says anything, else from the gateway, by key.
//	E9  Entries of secondary indexes are staged with their rows, in the same transaction. An entry that no other row may have is put, removed
//	    and claimed under the lock of its key, after the newest state was looked at; a statement puts them when it has removed all it removes
//	    (index_write.go).
//	    An entry of a local index says of which arrival of its bucket it is; of others it is not there for anybody, though what an earlier stay has
//	    left may lie about (arrival.go).
//	E10 Keys that a Modify is to watch are noted of every row that it writes, in the form in which it is written, and only of those.
//	E11 An instance that no execution has borrowed holds nothing of the last one, however that ended (owned.go).
//
// Limits: rows that a Modify keeps go to a file beyond 2 MiB (spool.go); what else does not fit into the query's memory is refused. Float sums merge in the order in which
// fragments answer.
package exec
