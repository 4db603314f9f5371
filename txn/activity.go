package txn

import "time"

// RowLock is a row lock that is held or waited for, as views show it.
type RowLock struct {
	Fragment FragmentID
	Holder   LockOwner // or the waiter
	Key      []byte    // of the row, or of an index entry
	Mode     LockMode
	Granted  bool
	Since    time.Time   // when the wait began
	Blockers []LockOwner // of the wait
}

// OpenTransaction is a transaction that holds locks or has buffered writes, as views show it.
type OpenTransaction struct {
	Owner       LockOwner
	Since       time.Time // when it first used a fragment
	Writes      int       // buffered writes
	Bytes       int64     // of them
	Locks       int       // of rows
	Prepared    bool      // in one fragment at least; only then C and Coordinator are valid
	C           Timestamp // its commit timestamp, if it commits
	Coordinator FragmentID
	Fragments   []FragmentID // ascending
}
