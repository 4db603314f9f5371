// Package function defines languages of functions: what a language gets of a definition and of a call,
// and what it may ask of the statement that calls.
//
//	FN1 A Body is compiled once for a definition, and for the types of a call if it is polymorphic. It is
//	    not changed by calls: several sessions may call it at once.
//	FN2 A call runs in the transaction of the statement that calls, in that statement's goroutine. What
//	    it writes is undone with that statement.
//
// The package runs nothing itself. Package session implements Statements.
package function
