// Package member is the cluster's list of its nodes, and what lets a node in: authorities and join tokens, as the catalog keeps them.
//
//	r := &member.Register{Catalog: cat, Now: time.Now}
//	keeper, err := member.Found(dir, cluster, 1, time.Now) // the first node: makes the authority, and its own certificate …
//	err = r.Establish(ctx, keeper)                         // … and gives the authority to the catalog
//	token, err := r.NewToken(ctx, time.Hour, 0)  // what a person carries to the next machine
//	r.Host(logger).Register(joining, members)    // package join: trades tokens for certificates
//
// It brings together packages trust, which knows certificates and no catalog, and catalog, which keeps bytes. It opens no socket.
//
// # Invariants
//
//   - N3 A token is taken, a number given and the node written down by one entry of the catalog, or none of it happens. The same key gets the
//     same answer again.
//   - N4 An authority is replaced step by step (Advance), each step one entry of the catalog; who drives it (package node does, on the node
//     that leads the catalog) may change at any time.
//   - V5 Numbers of nodes are never given twice; a crash between the number and its use leaves a gap.
package member
