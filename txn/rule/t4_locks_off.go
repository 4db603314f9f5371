//go:build sherd_no_t4_locks

package rule

// T4Locks is off.
const T4Locks = false
