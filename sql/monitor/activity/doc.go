// Package activity lets the sessions of all nodes see, and cancel, each other: it asks the other
// nodes for their reports (monitor.Report), and brings signals to the node of a session, which its
// process number names (monitor.NodeOfPID).
//
// Views of the whole cluster are built on request from what each node reports: none is kept. A node
// that does not answer in time is named (monitor.Absent), and never treated as a node without
// sessions: views warn of it, and a caller that must know of every session waits for it or returns
// an error. What its sessions hold in the fragments of other nodes shows as transactions without a
// session.
//
// Limits: a node reports up to 10,000 row locks and 10,000 transactions, and up to 1,024 bytes of a
// statement's text.
package activity
