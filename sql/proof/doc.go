// Package proof proves with statements what sherd.check() reports besides the fragments (package
// verify): foreign keys, former ids of documents, and the parts of split documents.
//
// It reads what is committed, in transactions of its own, so it does not see what the client's
// transaction has written.
package proof
