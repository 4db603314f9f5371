// Package trust decides which nodes belong to a cluster: its certificate authorities, the
// certificates of its nodes, and the tokens with which nodes join.
//
//	authority ──signs──▶ certificate of node 3          sherd://CLUSTER/node/3
//	    │ fingerprint
//	    ▼
//	join token: cluster, fingerprint, secret ──▶ a person carries it to the new machine
//
// The first node makes the authority. A joining node makes its own key, which never leaves it,
// proves that it was given a token, and is handed a certificate and the roots. A node keeps these
// in DATA/certs (Keeper), from where TLS configurations take them again at each handshake, so that
// renewal and the replacement of an authority end no connection.
//
// An authority also signs what a node shows to clients (IssueServer). That names hosts, and no
// node.
//
// The package opens no socket and reads no catalog. What has to be kept of authorities and tokens
// (Authority.Marshal, Grant) its callers keep there; what is to be done next in the replacement of
// an authority is a pure function (NextStep).
//
// # Invariants
//
//   - TR1 The identity of a peer follows from its verified certificate, never from what it says.
//   - TR2 A certificate is good for one cluster: its name carries the cluster's id, and each cluster
//     has authorities of its own.
//   - TR3 The cluster keeps a token's hash, not the token. One token lets in one key: the same key
//     may ask again, since its first answer may have been lost; another is refused.
//   - TR4 An authority signs only when all nodes trust it, and is trusted until no node's
//     certificate hangs on it.
//
// # Limits
//
// Keys are ECDSA P-256. A node's certificate holds for a year and is renewed after a third of it,
// so that a machine that was switched off for months comes back by itself; beyond, it needs a token
// made for it. Certificates are not revoked: a removed node is refused by its number, which the
// cluster never assigns again. Start dates lie a day back, so that clocks may differ.
package trust
