package txn

import "time"

// Options are fixed at the start of a transaction.
type Options struct {
	Isolation   Isolation
	LockTimeout time.Duration // for row locks; 0 waits for ever
	Session     uint32        // the backend's process number, for pg_locks and deadlock messages
}

// Scope limits where a transaction may write (sherd.txn_scope).
type Scope byte

// The scopes, from the widest.
const (
	ScopeCluster Scope = iota
	ScopeFragment
	ScopeBucket
)

// Marks is a position in a transaction's writes, for each fragment. The zero Marks is the beginning.
type Marks map[FragmentID]Mark
