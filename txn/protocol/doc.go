// Package protocol is the decisions of a commit over several fragments, without time, messages or a
// disk: what a coordinator does next, what a log entry means at a writer, and what a recovery
// proposes (T7; package txn describes the protocol). Package txn's Coordinator and package storage
// step it, and so does the model checker of this package's tests, which looks at every state that it
// can lead to. So what is checked is what runs.
//
// A Coordinator gets the answers to an attempt and returns what to do. A Writer is what the log of
// one fragment has of a transaction; its methods return what an entry does there. The attempts of a
// commit are at growing times C, which are timestamps in a server and small numbers in the model.
//
// Rules is the set of conditions that apply. The model checker drops one at a time and must find a
// wrong state. A build without a rule of package rule drops it here too.
package protocol
