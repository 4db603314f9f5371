// Package transport is the transport between nodes: a node's one port with TLS, a handshake of
// ours, and behind it gRPC, for the nodes of the cluster and for nodes that join it.
//
//	           ┌ ALPN sherd-node: both show certificates
//	           │   ─▶ handshake ─▶ gRPC server of the members: Raft, tasks, membership
//	port ─ TLS ┤
//	           └ ALPN sherd-join: only the accepting node shows a certificate
//	               ─▶ handshake ─▶ gRPC server of the joining: one call
//
// The connecting node verifies the other one by the cluster's roots, or by a join token, before it
// sends anything. The accepting node verifies the peer's certificate after the TLS handshake and
// not within it, so that it can return the reason for a refusal: TLS has one alert for all reasons.
// Until that is done, nothing is read from a connection except a handshake of bounded length.
//
// # Invariants
//
//   - D1 A service learns of a peer only what its verified certificate proves (PeerOf, TR1).
//   - D2 The handshake comes first on every connection: cluster, versions, and the node that is
//     meant. Nothing else is decoded before it is accepted, and both sides speak the version agreed
//     on (V4): the newest that both know and that the cluster was raised to.
//   - D3 A refusal states the reason, in a sentence, to the refused node; the log here says which
//     node it was.
//
// A Link is a connection to another node that is made when it is needed and again when it was lost.
// There are two kinds, so that bulk rows of tasks never delay Raft's messages in one TCP stream.
//
// The answer to a connecting node includes the address at which it is known: if another process
// answers there as the same node, the data directory was copied, and the node ends (package node).
//
// # Limits
//
// A handshake takes at most ten seconds, its messages are at most 4 KiB, and 128 may be in progress
// at once. TLS sessions are not resumed: connections are few and long, and the certificate is
// checked each time.
package transport
