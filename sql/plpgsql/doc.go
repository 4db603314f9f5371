// Package plpgsql runs routines written in PL/pgSQL. Package syntax parses their bodies; a call
// walks the tree. SQL in a body is analyzed when it is reached for the first time, because the
// fields of records are not known before, and is kept for later calls.
//
//	PL1  A body is shared by calls. What a call changes is in its frame.
//	PL2  The value of variable n is parameter n+1 of every statement in the body. Fields of records
//	     have numbers behind those.
//	PL3  A statement that was analyzed with a record's fields is analyzed again when they are others.
//	PL4  An error of a statement leaves the variables as they were before it; EXCEPTION undoes what
//	     the block wrote, and leaves the variables as they are.
//
// The package reads no tables and knows no plans: the statements of a call do that for it.
package plpgsql
