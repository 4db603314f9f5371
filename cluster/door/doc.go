// Package door is a node's one port: TLS, the greeting, and behind it gRPC, for the nodes of the cluster and for those that join it.
//
//	           ┌ ALPN sherd-node: both show certificates ─▶ greeting ─▶ gRPC server of the members: Raft, tasks, membership
//	port ─ TLS ┤
//	           └ ALPN sherd-join: only the node shows one ─▶ greeting ─▶ gRPC server of the joining: one call
//
// Whoever connects verifies the node by the cluster's roots, or by a join token, before it says anything. The node verifies the certificate it
// is shown after the handshake of TLS and not within it, so that it can say why it refuses: TLS has one word for all reasons. Nothing is read
// from a connection but a greeting of bounded length until that is done.
//
// # Invariants
//
//   - N1 Who a peer is follows from its verified certificate (package trust). PeerOf gives it to the services.
//   - N5 The greeting comes first on every connection: cluster, versions, whom one means to reach. Nothing else is decoded before it is accepted,
//     and both speak the version agreed on (V4): the newest that both know and that the cluster was raised to.
//   - N6 A refusal says why, in a sentence, to the one refused; and the log here says who it was.
//
// A Link is a connection to another node that is made when it is needed and again when it was lost. There are two kinds, so that the bulk of
// tasks' rows never stands before Raft's messages in one TCP stream.
//
// A node that connects is told in the answer where it is known to be reached: if another process answers there as the same node, its data directory was
// copied, and it ends (package node).
//
// # Limits
//
// A greeting takes at most ten seconds, its messages 4 KiB, and 128 may go on at once. TLS sessions are not resumed: connections are few and long,
// and what a certificate says is looked at each time.
package door
