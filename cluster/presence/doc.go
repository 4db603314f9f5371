// Package presence is how the nodes of a cluster know of each other that they are there.
//
// Each node keeps a stream to every other (nodepb.Presence), on which both send a message each second, and at once where something changed: the
// incarnation of the process, its clock, the fragments that it leads with their terms. Each pair has two streams, so that a network that
// carries one direction alone is noticed by both.
//
// # What follows from it
//
//   - A node whose answers were missed three times in a row is dead: its links are reset, so that whatever waits for it fails at once. It is not
//     a decision about anything but waiting; who leads is Raft's matter.
//   - Stages of a gateway are let go (Config.Lost) when its process is another one, or when nothing was heard of it for five seconds. That needs
//     no agreement: until its commit is in the log a stage may go at any time.
//   - Who leads a fragment is who says so of the newest term, on either stream; what others say of it, asked in vain, counts for five beats, unless the leader of that
//     term or a newer one says otherwise.
//   - A clock too far ahead is not merged, and the node is named in the log.
//
// # Limits
//
// What it knows is as old as a message; who uses it must be able to be wrong. A process that was stopped itself counts the beats it has missed, and
// not the time, so it does not take the others for dead when it goes on.
package presence
