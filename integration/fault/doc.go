// Package fault runs clusters of real processes and injects faults: kill -9, SIGSTOP, partitions in
// one or both directions, slow and lossy links, a full disk, a lost data directory, rolling
// restarts. Meanwhile buckets move, and clients of package workload use any node that answers. If a
// client's transaction does not end within a minute, all nodes write the stacks of their
// goroutines. On Linux and amd64 the clock of a running process is set by changing the kernel's
// code page in its memory (SetClock).
//
// TestResharding meanwhile also splits documents, changes ids and segments, and changes rules for
// the places of replicas (Resharder).
//
// TestCrashAtArrows kills nodes between all states of a move of buckets. Its nodes are this test
// program itself: the driver of the move reports each state to the test and waits there.
//
// On loopback, nodes can be killed and stopped. A network of namespaces, which needs root and
// iproute2, can also be cut. It needs no packet filter: a cut is a neighbour entry with a hardware
// address that does not exist, so packets disappear in one direction, without an error.
package fault
