// Package batch has the parts of a plan that run once for each row read what they need for many
// rows at once: the right sides of nested loops, such as LATERAL subqueries and look-ups by several
// columns, and correlated subqueries in expressions. Each of their Gathers would send a request per
// row to the fragments. It gets a number and an Each as its child, and a plan.Batch below the loop,
// or below the step with the expression, has it read ahead, in one request per fragment and batch.
// All other steps of such a part stay as they are: they find the rows that were read ahead.
//
// It is pure. It changes a plan that is complete and that no other goroutine has yet.
//
// Invariants:
//
//	BA1  A Gather is read ahead only by values of the row that is passed on, and of rows around it:
//	     nothing in the part itself sets an outer parameter that the Gather reads.
//	BA2  A Gather that reads by a global index is never read ahead, and no Batch is above a step that
//	     writes or locks: as many rows are locked as the client asks for.
//	BA3  A subquery that an expression may skip (AND, OR, CASE, COALESCE) is read ahead only for rows
//	     for which it is evaluated.
package batch
