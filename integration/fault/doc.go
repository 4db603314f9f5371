// Package fault runs clusters of real processes and makes them suffer: kill -9, SIGSTOP, partitions of one or both directions, slow and lossy
// links, a full disk, a lost data directory, rolling restarts. Buckets move to and fro and clients of package workload go on meanwhile, at whichever node answers; one whose
// transaction does not end within a minute has all nodes write down what they are at. The clock of a process is set while it runs by changing the kernel's
// page of code in its memory (SetClock), on Linux and amd64.
//
// TestResharding asks meanwhile for all else that reshards: split documents, former ids, segments, and rules where replicas may be (Resharder).
//
// At each arrow of a move of buckets nodes are killed in turn (TestCrashAtArrows): the nodes are then this program itself, which tells the test of every
// arrow that its driver comes by and waits there.
//
// On loopback nodes can be killed and stopped; a network of namespaces, which wants root and iproute2, can also be cut. It takes no packet
// filter: a cut is a neighbour entry that leads nowhere, so packets vanish on their way out, in one direction, without a word.
package fault
