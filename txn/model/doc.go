// Package model checks the rules of a commit in one round over several fragments (txn/doc.go, docs/decisions), by looking at every state that
// they can lead to. It is no part of the program: it has tests alone.
//
// The model is the smallest that has all races: one transaction with two writers, of which the first is the anchor, two attempts at a
// commit time, and at most one reader that is checked. What was sent may arrive late, twice, in any order, or never; leaders change, the
// coordinator dies between any two steps or takes an answer for lost, and recoverers start at any moment, as many as like to.
//
// After every step: all or nothing, one commit time, and the client was told the truth. From every state, recovery alone leads to one where
// nothing is undecided. TestEveryRuleIsNeeded drops one rule at a time and must find a state that is wrong, so the silence of the whole says
// something; the shortest way there is what the text of the rule rests on.
//
// A second model is of one replica that installs the rows of a large commit in the background, with checkpoints, a log that is cut, compactions and
// a crash: install_test.go.
//
// A third is of a held SERIALIZABLE transaction and a writer into what it has read, in one fragment, with a change of leaders: held_test.go.
//
// A fourth is of reads at a replica that does not lead, T9: what leaders close, are replaced, and go on saying: closed_test.go.
//
// Not modelled: clocks, other reads, and anything but commit times about logs: an entry is an atomic step. Those are the rules T1 to T6.
package model
