// Package builtin implements PostgreSQL's built-in functions: operators, casts, aggregates, window
// and set-returning functions.
//
// An implementation is found by its pg_proc row (For): internal functions by prosrc, aggregates by
// name, and functions whose body is SQL in PostgreSQL by name and argument types. A file has one
// family and its table; Lookup searches the tables. Names, arguments, results and strictness of
// functions are data of package pgcatalog and are not repeated here.
//
// The package never touches tables, transactions or the network. Functions use the session and the
// catalog through SessionInfo. Functions of schema sherd that ask or change the cluster are in package
// sql/admin, which the session's Gateway calls.
//
// Invariants:
//
//	F1  A function is a pure function of its arguments, Ctx.Env and Ctx.Session. Data in Ctx.Memo,
//	    which it keeps between calls, changes no result.
//	F2  A function never keeps an argument beyond the call without Clone, because its text may alias
//	    storage. Aggregates clone what they keep.
//	F3  Combining partial states in any grouping and order has the same result as stepping through
//	    all the rows, except that order-sensitive aggregates and floating-point sums depend on the
//	    order of the rows.
//	F4  An unsupported call returns 0A000, never an approximation.
//
// Limits: if a text can be divided among the groups of a regular expression in several ways,
// PostgreSQL's rule (each group as long as possible, earlier ones first) holds where RE2 agrees
// with it; patterns with back references, lookaround or word constraints take the first alternative
// that matches, not the longest. Trigonometric functions may differ from PostgreSQL's in the last
// digit, as PostgreSQL's own do between platforms. testdata/missing.txt lists the everyday
// functions that are missing.
//
// Text is compared in the C collation, as in a database created with C.UTF-8.
package builtin
