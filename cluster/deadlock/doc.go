// Package deadlock ends deadlocks over several nodes.
//
// Waits stand where the locks are: those for rows at the nodes that lead the fragments, those for tables and advisory locks at the sessions' own. Each
// node's detector (txn.Detector) finds the circles among its own waits at once. While a wait lasts, its node asks the others, once a second, for the
// waits of whom it is for, and so on (txn.FindCircles, which has the rules), and has the wait of a circle's victim ended where it stands: 40P01.
//
// Nothing is kept between two searches, and nodes that do not answer are left out: a circle over one of them is found when it answers again, or its
// transactions end with it.
//
// Limits: the time after which a wait is looked at is one second, whatever deadlock_timeout says in the session. The next search comes later
// where one has taken long.
package deadlock
