// Package wire sends plans to the nodes that lead fragments: the part of a plan below a Gather, and
// the plans of package exec's own tasks.
//
// The format is protobuf's. Its schema is the lists in schema_node.go and schema_expr.go: a message
// for each Go struct, with a number for each field. Numbers are never used again for something else
// (V4). A step or an expression is a message with one field, as in a oneof: the field's number is
// the kind.
//
// A plan names objects that both sides have: tables by OID and version (C2), their indexes by
// position, functions and operators by the OID of the function, types by OID. It contains the full
// definitions of tables that the gateway's transaction has defined itself, because no catalog has
// them yet. Constants have the form in which rows keep them. Parameters, rows and the session are
// not part of the plan: they come with each task.
//
// Invariants:
//
//	P1  A decoded plan runs as the original does; it may lack only positions in what EXPLAIN
//	    shows. Unlike protobuf elsewhere, the receiver refuses what it does not know
//	    (ErrNewer), because running a plan without it would return a wrong answer.
//	P2  A plan is decoded only over the versions of the tables with which it was made; otherwise a
//	    *VersionError asks for a new plan.
//	P3  Bytes from outside never cause a panic here or use memory out of proportion: depth and
//	    size are bounded. The compiler and the executor check whether a well-formed plan makes
//	    sense.
//
// Limits: a plan of up to 64 MiB and 20,000 levels. Queries that are not planned (SubLink) cannot
// be sent; a display form that holds one is left out.
package wire
