// Package raftnet carries the messages of all Raft groups between two nodes over one connection in
// each direction.
//
//	group 1 ─┐                      ┌ control: heartbeats, votes ┐                       ┌▶ group 1: inbox ─▶ Raft
//	group 2 ─┼▶ Transport ─▶ peer 3 ┤                            ├─ node 3: Exchange ────┼▶ group 2: inbox ─▶ Raft
//	catalog ─┘                      └ append: entries            ┘                       └▶ …
//
//	mux := raftnet.New(door, members)           // registers the service
//	g, err := raftgroup.Open(raftgroup.Options{
//		ID: raftnet.ServerID(1), Transport: mux.Transport(7), Peers: raftnet.Servers(1, 2, 3), …
//	})
//
// A lane is one gRPC stream for as long as the connection lives. What several groups have to say
// while a message is being written goes into the next one together, so idle groups cost little:
// there is no goroutine, connection or buffer per group and peer. Appends and heartbeats have lanes
// of their own, so that no heartbeat waits behind megabytes of entries; snapshots have streams of
// their own on the connection for bulk.
//
// Servers are known to Raft by their node's number alone, as id and as address; where a node is
// reached is the door's to know. A node may come back at another address without any group's
// configuration changing.
//
// # Invariants
//
//   - RN1 The leader or candidate that a request speaks for is the node whose certificate is on the
//     connection; requests do not name one.
//   - RN2 Requests of one group and one lane arrive in the order of their sending, and are handed to
//     Raft one at a time.
//   - RN3 A group that is slow, or waits for its disk, holds up no other: each has an inbox, which
//     is refused where it is full.
//   - RN4 A request is answered, or fails, within its time. A peer that answers nothing loses its
//     connection, so that the next attempt starts again: bytes that a cut link held back do not
//     come first.
//   - RN5 Heartbeats go past Raft's loop only in the term in which Raft has answered before.
//
// # Limits
//
// A message is at most door.MaxMessage bytes, which one entry must fit into. A request of more
// entries is cut into several, each of which Raft takes as a request by itself; the answer is that
// of the first that fails, or the last.
//
// Raft's library refuses its vote to a candidate that is no voter in the configuration that the
// voter knows. A leader that is lost in the moment in which it has made a voter, and one of the
// others has not heard of it, is therefore waited for: the new voter is refused for what it is
// taken for, and the other for its log.
package raftnet
