// Package keychange notes which keys the rows that a statement writes had before and have after it,
// for foreign keys, former ids and deferrable unique constraints (exec.E10).
//
// A Watcher compares the rows with a plan's list of watched keys. A Set has the changes of one
// statement, each once, and a Log those that wait for the end of the transaction. What is checked for
// a change is not known here.
package keychange
