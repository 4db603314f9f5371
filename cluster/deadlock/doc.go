// Package deadlock ends deadlocks over several nodes.
//
// Waits are registered where the locks are: waits for rows at the nodes that lead the fragments,
// waits for tables and advisory locks at the sessions' own nodes. Each node's deadlock detector
// (txn.Detector) finds the cycles among its own waits at once. While a wait lasts, its node asks
// the others, once a second, for the waits of the lock owners that it waits for, and so on
// (txn.FindCycles, which has the rules), and has the wait of a cycle's victim ended at its node:
// 40P01.
//
// Nothing is kept between two searches, and nodes that do not answer are left out: a cycle over one
// of them is found when it answers again, or its transactions end with it.
//
// Limits: a wait is examined after one second, whatever deadlock_timeout says in the session. The
// next search is delayed if one has taken long.
package deadlock
