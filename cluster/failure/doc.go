// Package failure is the errors of requests to the node that leads a fragment, and their form between nodes (nodepb.Failure).
//
// Most are what a client is to see, and travel whole (sql/exec/wire). Besides, the leader's node tells why a request has to be made otherwise: it does
// not lead the fragment (NotLeader), what the gateway believes is staged is not there (txn.LostError), the buckets are elsewhere (txn.MovedError), the definitions are
// others (Replan), it does not have the plan (ErrUnknownPlan). Each of these is an error for clients as well, should nobody be able to do better.
package failure
