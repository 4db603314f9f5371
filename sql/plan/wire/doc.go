// Package wire sends plans to the nodes that lead fragments: the part of a plan below a Gather, and
// the plans of package exec's own tasks.
//
// plan.proto has the messages. There are no Go types of them: go generate writes functions that
// read and write the types of packages plan and query in that form (plan_encode.pb.go,
// plan_decode.pb.go). It fails if a kind of step or expression, a field or a value of an
// enumeration is in plan.proto or in Go only, and so does the test of internal/codegen.
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

//go:generate go run ./internal/codegen
