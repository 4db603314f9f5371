// Package liveness is the failure detector of a cluster: it maintains the liveness of nodes by
// heartbeats.
//
// Each node keeps a stream to every other node (nodepb.Presence), on which both sides send a
// message each second, and at once when something changed: the incarnation of the process, its
// clock, and the fragments that it leads with their terms. Each pair of nodes has two streams, so
// that both notice a network that carries only one direction.
//
// # What follows from liveness
//
//   - A node that missed three answers in a row is dead: its connections are reset, so that
//     whatever waits for it fails at once. This only ends waiting; Raft decides which node leads.
//   - The write buffers of a gateway's transactions are dropped (Detector.OnLost) when its process has
//     been replaced by another one, or when nothing was heard from it for five seconds. That needs
//     no agreement: until its commit is in the log, a write buffer may be dropped at any time.
//   - The leader of a fragment is the node that claims the newest term, on either stream. What
//     another node reports about a leader, in answer to a failed request, counts for five
//     heartbeats, unless the leader of that term or of a newer one claims otherwise.
//   - A clock that is too far ahead is not merged, and the log names the node.
//   - A node whose own clock has run ahead of most other nodes' leads nothing (clock.go).
//
// # Limits
//
// The information is as old as a message, and its users must tolerate that it is wrong. A process
// that was itself stopped counts the heartbeats that it has missed, and not the time, so it does
// not take the others for dead when it continues.
package liveness
