// Package plan turns an analysed statement into steps and says where each runs.
//
// It is pure: a query and a catalog view in, a tree of Nodes out; no I/O, no clock, no session. In
// the order of a statement: subqueries of FROM are merged with the query around them (pullup.go),
// EXISTS, IN and correlated aggregates become joins (unnest.go), FROM is joined in the cheapest
// order (from.go, join.go, lookup.go, package joinorder) or in that of ORDER BY up to LIMIT
// (driving.go), over scans whose conditions make routes and choose a way to the rows (scan.go,
// route.go, access.go), in an order that serves what is above (order.go), or one for each arm of an
// OR (union.go), what every fragment can run alone stays below a Gather (place.go), and the rest
// merges at the gateway (agg.go, build.go, late.go, lockrows.go, modify.go). Sizes and costs come
// from statistics, or are guessed (estimate.go, cost.go). Package outline describes plans; its text
// is the contract: golden files show routing.
//
// Rows are flat: a node's row is its output slots, a join's row is left then right. Expressions
// have no Var any more: Slot reads the input row, Outer reads a value that a NestLoop or SubPlan
// above has set.
//
// Invariants:
//
//	R1  A route only ever saves work: a scan keeps all its conditions, so that a route left out is
//	    never a wrong answer.
//	R2  Content routes and co-location by policy need a validated, immutable policy; co-location
//	    also a Range of 1.
//	R3  Subqueries and volatile targets run at the gateway, never in a fragment; so does what asks
//	    or changes the session, its node or the catalog (place.go, builtin.PlaceOf), but in ON
//	    CONFLICT. What it says once for the statement is asked before it and goes below as a
//	    parameter.
//	R4  A condition crosses an outer join only on the side whose rows are all kept, or from ON to
//	    the other side.
//	R5  An index is used where it costs least of all ways to the wanted rows in the wanted order,
//	    and the conditions imply its predicate; never one that is being built (access.go). A route
//	    by a global index is looked up when the plan runs.
//
// Limits: the order of joins does not know which of them run in the fragments; groups and the
// results of outer joins are guessed; columns that only a filter reads still cross a Gather under a
// join; aggregates of an outer query are 0A000. LIMIT does not reach the fragments where rows are
// locked.
package plan
