// Package locktable holds the row locks of one fragment's leader: which transaction has the lock of
// which row, in which mode, and which wait for it. It has its own mutexes, and its owners have
// theirs: no caller needs to hold one.
//
// Row locks have PostgreSQL's four modes. A stronger mode excludes everything that a weaker one
// does. A request waits for the holders whose modes conflict with its own, and for the requests
// ahead of it in the row's wait queue whose modes do, even if the holders' modes do not. A holder
// that wants a stronger mode waits only for the other holders, ahead of the queue: to wait for
// those that wait for it would never end.
//
//	row k   held: A SHARE, B KEY SHARE      queue: C NO KEY UPDATE (waits for A), D SHARE (for C)
//	        KEY SHARE of E is granted at once; A's own UPDATE would wait for B, before C
//
// The first holder of a row's lock is the entry in the table, and most rows have no other. A second
// holder or a request that waits turns the entry into one with a list of holders and a queue
// (contention). An Owner is a transaction's locks. It numbers them, so that a return to a savepoint
// releases the locks taken since, and weakens those made stronger since (Undo). A transaction with
// many locks keeps most of them in 8 bytes each until another transaction asks for the row
// (compact.go); the keys of those that are pinned are in a file (pins.go).
//
// The package knows keys as bytes. It never reads a row, a log or a clock of the cluster: what a
// holder learns of its row is a note that the caller keeps at the lock (Row). It ends no term: the
// caller calls Reset.
//
//   - LK1 If a row has an entry in the table, every transaction that has the row's lock has one
//     there. Otherwise the lock is only in compact sets, or nowhere.
//   - LK2 Two owners hold a lock in conflicting modes only if one of them got it by Force.
//   - LK3 A request that waits is answered exactly once: granted, or with an error.
//   - LK4 The detector knows each wait with its present blockers before the row is unlocked. A
//     request that closes a cycle fails with 40P01, and the newest request is the victim.
//   - LK5 A Row is known only while its lock is SHARE or stronger: under KEY SHARE others may
//     change everything but the key.
package locktable
