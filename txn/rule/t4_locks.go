//go:build !sherd_no_t4_locks

package rule

// T4Locks: a new leader starts with the locks of what is prepared.
const T4Locks = true
