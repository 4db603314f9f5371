package txn

import "time"

// RowLock is a row lock that is held or waited for, as views show it.
type RowLock struct {
	Fragment FragmentID
	Holder   Party  // or who waits
	Key      []byte // of the row, or of an index entry
	Mode     LockMode
	Granted  bool
	Since    time.Time // the wait began
	Blockers []Party   // whom a wait is for
}

// OpenTransaction is a transaction that holds locks or has staged something, as views show it.
type OpenTransaction struct {
	Party     Party
	Since     time.Time // it was in a fragment first
	Writes    int       // staged operations
	Bytes     int64     // of them
	Locks     int       // of rows
	Prepared  bool      // in one fragment at least; then C and Anchor count
	C         Timestamp // at which it commits, if it does
	Anchor    FragmentID
	Fragments []FragmentID // ascending
}
