// Package routine runs the statements of functions and procedures in the transaction of a session.
// It is what a language (package function) may ask of the statement that calls.
//
//	RT1  A statement of a function runs as one of the session's own: it waits, is run again after a
//	     conflict, and checks constraints as that would.
//	RT2  Expressions without tables are evaluated without a plan and without a snapshot.
//	RT3  What a function asks for while its caller may not end the transaction is never a commit.
//
// The package never writes to the client: what statements return goes to the function.
package routine
