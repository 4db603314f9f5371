// Package raftnet carries the messages of all Raft groups between two nodes over one connection in
// each direction.
//
//	group 1 ─┐                      ┌ control: heartbeats, votes ┐                       ┌▶ group 1: inbox ─▶ Raft
//	group 2 ─┼▶ Transport ─▶ peer 3 ┤                            ├─ node 3: Exchange ────┼▶ group 2: inbox ─▶ Raft
//	catalog ─┘                      └ append: entries            ┘                       └▶ …
//
//	mux := raftnet.New(port, members)           // registers the service
//	g, err := raftgroup.Open(raftgroup.Options{
//		ID: raftnet.ServerID(1), Transport: mux.Transport(7), Peers: raftnet.Servers(1, 2, 3), …
//	})
//
// A lane is one gRPC stream that lasts as long as the connection. Messages of several groups that
// arise while another message is being written go into the next one together, so idle groups cost
// little: there is no goroutine, connection or buffer per group and peer. Appends and heartbeats
// have separate lanes, so that no heartbeat waits behind megabytes of entries. Snapshots have
// separate streams on the connection for bulk data.
//
// Raft knows servers only by the number of their node, as id and as address; package transport
// knows where a node is reached. A node may come back at another address without a change in the
// configuration of any group.
//
// # Invariants
//
//   - RN1 The leader or candidate that a request speaks for is the node whose certificate is on the
//     connection; requests do not name one.
//   - RN2 Requests of one group and one lane arrive in the order of their sending, and are handed
//     to Raft one at a time.
//   - RN3 A group that is slow, or waits for its disk, holds up no other: each has an inbox, and a
//     request is refused if the inbox is full.
//   - RN4 A request is answered, or fails, within its time. A peer that answers nothing loses its
//     connection, so that the next attempt starts again: bytes that a cut link held back do not
//     come first.
//   - RN5 Heartbeats go past Raft's loop only in the term in which Raft has answered before.
//
// # Limits
//
// A message has at most transport.MaxMessage bytes, so no entry may be larger. A request that is
// larger because of its number of entries is cut into several, and Raft treats each as a request by
// itself. The answer to the request is that of the first part that fails, or of the last part.
//
// Raft's library refuses its vote to a candidate that is not a voter in the configuration that the
// voter knows. If a leader is lost just after it has made a node a voter, and another voter has not
// received that configuration, no leader may be elected until the lost one is back: the new voter
// is refused because it is not known as one, and the other voter because its log is shorter.
package raftnet
