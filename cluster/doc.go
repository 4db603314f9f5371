// Package cluster hosts the fragments of a node and leads every operation on a fragment to where the fragment is.
//
// For now that is always this process: a Host opens a storage replica for each fragment that the catalog places here, follows the catalog as
// databases come and go, and gives sessions their Transactions: one handle over any number of fragments, each used as the executor's
// Fragment. The node protocol will stand beside it as a second implementation of the same seam.
//
// Transactions may be held by name beyond their session (held.go), and what became of one can be asked for (outcome.go), by what the
// fragments' logs and the catalog's have. An operator may end one that stays undecided because its anchor is lost (Host.ResolveTransaction);
// whatever a fragment within reach knows of a decision goes before the operator's word.
//
// The package never parses or plans, and keeps no state that the catalog or the fragments' logs do not have.
package cluster
