// Package tablelock takes locks of tables at all nodes of the cluster: those that are stronger than what reading and writing rows takes, and the
// barriers of definitions that change by steps.
//
// Readers and writers lock a table at their own node alone, at no cost. Who takes more asks every node, in the order of their numbers and its own among
// them, so that two who want the same table do not each hold one half. What another node's transaction holds stands in the lock table here (package
// locks) under the transaction's id and its session's process number: it is seen, waits, and is part of deadlocks, as if the session were here.
//
// A node that cannot be asked is waited for, until nobody who answers has heard of it for longer than the lease of stages: then what its transactions
// had staged is gone, and it is left out. Otherwise the statement ends with 57P03 after 30 s. Before the transaction commits, every node that was asked
// confirms that it has held the locks all along, and none that was not asked may serve: else 40001.
//
// Invariants:
//
//	L1  A lock is let go when its transaction has ended at the gateway, when the gateway's process has ended, or when nothing was heard of the gateway
//	    for the lease of stages.
//	L2  It is let go after this node has the definitions that its holder has committed, as far as it gets them within some seconds.
//	L3  A transaction that has lost a lock elsewhere does not commit.
//
// Limits: between the confirmation and the commit there is no check. A gateway that stands still just then, for longer than the lease, does not commit what it
// has staged at other nodes, since that is gone, nor what it leads with replicas elsewhere, since others lead that by then; what it leads alone (one replica)
// it may commit after its locks are gone. Locks of a prepared transaction are taken again at its own node only, when that starts again.
package tablelock
