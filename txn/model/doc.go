// Package model checks rules of storage that several log entries, replicas or leaders keep together,
// by exploring every state that a small model can reach. It is no part of the program: it has tests
// only. Each drops one rule at a time and must find a wrong state, so that it means something when
// the whole finds none. The decisions of a commit over several fragments have their model in package
// protocol.
//
// The first model is of one replica that installs the rows of a large commit in the background, with
// checkpoints, a truncated log, compactions and a crash: install_test.go.
//
// The second is of a prepared SERIALIZABLE transaction and a writer to what it has read, in one
// fragment, with a change of leader: prepared_reads_test.go.
//
// The third is of follower reads, T9: what leaders close, how they are replaced, and what old
// leaders still publish: closed_test.go.
package model
