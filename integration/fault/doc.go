// Package fault runs clusters of real processes and makes them suffer: kill -9, SIGSTOP, partitions of one or both directions, slow and lossy
// links, a full disk, rolling restarts, clocks that are wrong. Clients of package workload go on meanwhile, at whichever node answers.
//
// On loopback nodes can be killed and stopped; a network of namespaces, which wants root and iproute2, can also be cut. It takes no packet
// filter: a cut is a neighbour entry that leads nowhere, so packets vanish on their way out, in one direction, without a word.
package fault
