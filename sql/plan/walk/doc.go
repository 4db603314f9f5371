// Package walk visits the expressions of query plans: those of a node, of a route, and of the
// subqueries in them. It changes nothing.
package walk
