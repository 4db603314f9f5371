// Package wire sends plans to the nodes that lead fragments: what stands below a Gather, and the plans of package exec's own tasks.
//
// The format is protobuf's. Its schema is the lists in schema_node.go and schema_expr.go: a message for each Go struct, each field with
// its number. Numbers are never used for something else (V4). A step and an expression are a message with one field, as in a oneof: the field's number says
// which kind it is.
//
// A plan names what both sides have: tables by OID and version (C2), their indexes by position, functions and operators by the OID of the function,
// types by OID. Tables that the gateway's transaction has defined itself, which no catalog has yet, go whole. Constants are in the form in which rows
// keep them. Parameters, rows and session are not the plan's: they come with each task.
//
// Invariants:
//
//	P1  What is decoded runs as the original does: nothing but positions in what EXPLAIN shows may be missing. Unlike protobuf elsewhere, what the receiver does not know
//	    is refused (ErrNewer), for to run a plan without it would be a wrong answer.
//	P2  A plan is decoded only over the versions of the tables that it was made with; else a *VersionError says to plan again.
//	P3  Bytes from outside never cause a panic here or memory out of proportion: depth and size are bounded. Whether a well-formed plan makes sense is for
//	    who compiles and runs it to find.
//
// Limits: a plan of up to 64 MiB and 20,000 levels. Queries that are not planned (SubLink) cannot be sent; a display form that holds one is left out.
package wire
