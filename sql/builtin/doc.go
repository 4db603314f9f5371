// Package builtin implements PostgreSQL's built-in functions: operators, casts, aggregates, window and set-returning functions.
//
// An implementation is found by its pg_proc row (For): internal functions by prosrc, aggregates by name, functions whose body is SQL in
// PostgreSQL by name and argument types. One file holds one family and its table; Lookup goes through the tables. Whether a function is
// strict, what it takes and returns, and which name means it, is data of package pgcatalog: nothing of that is repeated here.
//
// The package never touches tables, transactions or the network. What a function needs of its session and of the catalog it asks
// through SessionInfo.
//
// Invariants:
//
//	F1  A function is a pure function of its arguments, Ctx.Env and Ctx.Session; what it remembers between calls stands in Ctx.Memo and
//	    changes no result.
//	F2  A function never keeps an argument beyond the call without Clone: its text may alias storage. Aggregates clone what they keep.
//	F3  Combining partial states in any grouping and order gives the result that stepping through all the rows gives, but for the order
//	    in which order-sensitive aggregates and floating-point sums saw the rows.
//	F4  What is unsupported answers 0A000, never an approximation.
//
// Limits: of several ways to divide a text among the groups of an expression, PostgreSQL's rule (each as long as it can be, the first one
// first) holds where RE2 agrees with it; patterns with back references, lookaround or word constraints take the first alternative that
// matches, not the longest. Trigonometric functions may differ from PostgreSQL's in the last digit, as its own do between platforms.
// testdata/missing.txt lists the everyday functions that are not there.
//
// Comparison of text is that of the C collation, as in a database made with C.UTF-8.
package builtin
