// Package cluster hosts the fragments of a node and leads every operation on a fragment to where the fragment is.
//
// For now that is always this process: a Host opens a storage replica for each fragment that the catalog places here, follows the catalog as
// databases come and go, and gives sessions their Transactions: one handle over any number of fragments, each used as the executor's
// Fragment. The node protocol will stand beside it as a second implementation of the same seam.
//
// The package never parses or plans, and keeps no state that the catalog or the fragments' logs do not have.
package cluster
