// Package model checks the rules of a commit in one round over several fragments (txn/doc.go,
// docs/decisions) by exploring every state that they can lead to. It is no part of the program: it
// has tests only.
//
// The model is the smallest that has all races: one transaction with two writers, the first of
// which is the coordinator fragment, two attempts at a commit time, and at most one reader that is
// checked. Messages may arrive late, twice, in any order, or never; leaders change, the coordinator
// stops between any two steps or takes an answer for lost, and recoveries start at any moment, any
// number of them.
//
// After every step the model checks: all or nothing, one commit time, and a true answer to the
// client. From every state, recovery alone leads to one where nothing is undecided.
// TestEveryRuleIsNeeded drops one rule at a time and must find a wrong state, so that it means
// something when the whole finds none; the text of a rule rests on the shortest way to that state.
//
// A second model is of one replica that installs the rows of a large commit in the background, with
// checkpoints, a truncated log, compactions and a crash: install_test.go.
//
// A third is of a prepared SERIALIZABLE transaction and a writer to what it has read, in one
// fragment, with a change of leader: held_test.go.
//
// A fourth is of follower reads, T9: what leaders close, how they are replaced, and what old
// leaders still publish: closed_test.go.
//
// Not modelled: clocks, other reads, and anything but commit times about logs: an entry is an
// atomic step. Rules T1 to T6 cover those.
package model
