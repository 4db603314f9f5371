// Package plan turns an analysed statement into steps and says where each runs.
//
// It is pure: a query and a catalog view in, a tree of Nodes out; no I/O, no clock, no session. Three passes: the logical tree (from.go,
// query.go), routing (route.go: which buckets, hence which fragments), placement (place.go: the largest subtree that every fragment can run
// alone goes below a Gather; the rest merges at the gateway). The text form (explain.go) is the contract: golden files show routing.
//
// Rows are flat: a node's row is its output slots, a join's row is left then right. Expressions have no Var any more: Slot reads the
// input row, Outer reads a value that an enclosing Apply, lateral join or SubPlan has set.
package plan
