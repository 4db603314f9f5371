// Package failure is the errors of requests to the node that leads a fragment, and their form
// between nodes (nodepb.Failure).
//
// Most are errors for the client, and are sent whole (nodepb.Error): the fields of pgerr.Error, and
// those of the error types of package txn. The leader's node also
// reports why a request has to be made differently: it does not lead the fragment (NotLeader), the
// write buffer that the gateway expects is not there (txn.LostError), the buckets are elsewhere
// (txn.MovedError), the definitions differ (Replan), it does not have the plan (ErrUnknownPlan).
// Each of these is an error for clients as well, if the gateway cannot handle it.
package failure
