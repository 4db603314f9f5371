// Package txn is time and transactions: timestamps, the clock, ids, and the commit protocol over several fragments.
package txn
