// Package member is the cluster's list of its nodes, and what admits a node: authorities and join
// tokens, as the catalog keeps them.
//
//	r := &member.Register{Catalog: cat, Now: time.Now}
//	// The first node makes the authority and its own certificate,
//	keeper, err := member.Found(dir, cluster, 1, time.Now)
//	// and puts the authority into the catalog.
//	err = r.Establish(ctx, keeper)
//	// An operator carries the token to the next machine.
//	token, err := r.NewToken(ctx, time.Hour, 0)
//	// Package join exchanges tokens for certificates.
//	r.Host(logger).Register(joining, members)
//
// It connects package trust, which knows certificates but no catalog, with package catalog, which
// stores them as bytes. It opens no socket.
//
// # Invariants
//
//   - I1 One entry of the catalog takes a token, allots a number and records the node, or none of
//     it happens. The same key gets the same answer again.
//   - I2 An authority is replaced step by step (Advance), each step one entry of the catalog. The
//     node that drives the replacement (in package node, the one that leads the catalog) may change
//     at any time.
//   - I3 Numbers of nodes are never reused; a crash between the allotment of a number and its use
//     leaves a gap.
package member
