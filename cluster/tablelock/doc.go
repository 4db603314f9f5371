// Package tablelock takes table locks at all nodes of the cluster: locks that are stronger than
// those for reading and writing rows, and the barriers of schema changes by steps.
//
// Readers and writers lock a table at their own node only, at no cost. A transaction that needs a
// stronger lock asks every node, in the order of their numbers and its own among them, so that two
// that want the same table do not each hold one half. The lock table here (package locks) has the
// locks of another node's transaction under the transaction's id and its session's process number:
// they are visible, wait, and take part in deadlock detection as if the session were here.
//
// The request waits for a node that cannot be asked until no node that answers has heard from it
// for longer than the lease of write buffers: then what its transactions had buffered is
// gone, and the node is skipped. Otherwise the statement fails with 57P03 after 30 s. Before the
// transaction commits, every node that was asked confirms that it has held the locks all along, and
// no node that was not asked may serve: else 40001.
//
// Invariants:
//
//	H1  A lock is released when its transaction has ended at the gateway, when the gateway's
//	    process has ended, or when nothing was heard from the gateway for the lease of write
//	    buffers.
//	H2  It is released after this node has the definitions that its holder has committed, as
//	    far as they arrive within some seconds.
//	H3  A transaction that has lost a lock on another node does not commit.
//
// Limits: between the confirmation and the commit there is no check. A gateway that stands still
// just then, for longer than the lease, does not commit what it has buffered at other nodes,
// because that is gone, nor what it leads with replicas elsewhere, because others lead that by
// then; what it leads alone (one replica) it may commit after its locks are gone. Locks of a
// prepared transaction are taken again only at its own node, when that restarts.
package tablelock
