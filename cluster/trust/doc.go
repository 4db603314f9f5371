// Package trust decides which nodes belong to a cluster: its certificate authorities, the
// certificates of its nodes, and the tokens with which nodes join.
//
//	authority ──signs──▶ certificate of node 3          sherd://CLUSTER/node/3
//	    │ fingerprint
//	    ▼
//	join token: cluster, fingerprint, secret ──▶ an operator carries it to the new machine
//
// The first node makes the authority. A joining node makes its own key, which never leaves it,
// proves that it has a token, and receives a certificate and the roots. A node keeps these in
// DATA/certs (Keeper). TLS configurations read them from there at each handshake, so renewal and
// the replacement of an authority end no connection.
//
// An authority also signs the certificate that a node shows to clients (IssueServer). It names
// hosts, and no node.
//
// The package opens no socket and reads no catalog. Its callers store authorities and tokens in the
// catalog (Authority.Marshal, Grant). A pure function decides the next step in the replacement of
// an authority (NextStep).
//
// # Invariants
//
//   - TR1 The identity of a peer follows from its verified certificate, never from what it says.
//   - TR2 A certificate is good for one cluster: its name carries the cluster's id, and each
//     cluster has authorities of its own.
//   - TR3 The cluster keeps a token's hash, not the token. One token admits one key: the same key
//     may ask again, because its first answer may have been lost; another key is refused.
//   - TR4 An authority signs only when all nodes trust it, and is trusted until no node's
//     certificate depends on it.
//
// # Limits
//
// Keys are ECDSA P-256. A node's certificate is valid for a year and is renewed after a third of
// it, so a machine that was switched off for months can come back by itself; after a longer time it
// needs a token made for it. Certificates are not revoked: a removed node is refused by its number,
// which the cluster never assigns again. Certificates start a day in the past, so that clocks may
// differ.
package trust
