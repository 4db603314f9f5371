// Package rule has a switch for each clause of the transaction protocol whose absence does harm.
// All clauses are in force in every build. integration/broken makes builds in which one of them is
// not, and shows that a test fails on each; docs/testing.md has the list of clauses, of what goes
// wrong without them, and of these tests.
//
// The switches are constants, so the compiler removes what cannot happen, and a switch costs
// nothing.
//
// The labels T1 to T9 are those of package txn.
package rule
