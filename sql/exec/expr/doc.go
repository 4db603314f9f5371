// Package expr compiles expressions into closures.
//
// A Compiler compiles the expressions of one instance of a plan: a tree of query.Expr becomes an
// Eval, which computes a value from a row and the Ctx of the execution. Functions and operators are
// those of package builtin; comparisons, integer arithmetic, paths into documents and LIKE with a
// plain prefix have closures of their own, without an argument list.
//
// The package knows no operators. Compiler.Subqueries compiles expressions that contain a plan.
//
// An Eval has its own scratch space, registered with the compiler's Scratch. It therefore serves
// one execution at a time, allocates nothing per row of its own, and leaves nothing of an execution
// that has ended (exec.E2, exec.E11). Its value may alias the row, and is valid as long as the row
// (exec.E1).
package expr
