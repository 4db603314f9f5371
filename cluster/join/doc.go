// Package join admits a node to a cluster, and renews its certificate afterwards.
//
//	new node                                 any node of the cluster
//	   │ makes a key, and keeps it (next.pem)      │
//	   ├── TLS, verified by the token's fingerprint ▶
//	   ├── handshake: cluster, versions ───────────▶│ refuses other clusters and releases
//	   ├── secret, certificate request ────────────▶│ Redeem: one entry of the catalog takes
//	   │                                            │ the token and assigns the number
//	   │◀── number, certificate, roots, contacts ───┤
//	   │ keeps them (node.pem, roots.pem)          │
//
// The secret is sent only to a node that has proved to belong to the token's cluster. After a crash
// on either side at any step, the joining node asks again: the key is on disk before the first
// request, and the token continues to admit that key (TR3).
//
// The package stores nothing itself: Host.Redeem decides in the catalog what a token allows and
// which number is next.
package join
