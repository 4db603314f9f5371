// Package kv is the client of fragments. It knows no SQL.
//
//	Client ─▶ Find: leader hints, the failure detector ─▶ Sender ─▶ fragment.Server, or remote.Node
//	   └─ again with another leader, after a pause (Backoff), while the error allows it
//
// A Sender is a fragment's leader, or one of its replicas, on this node (fragment.Server) or on
// another one (remote.Node). A request is a generated message (nodepb.Request), and a function of
// package fragment answers it; CONTRIBUTING.md lists the files that a new operation touches.
//
// A Client finds the leader of a fragment and sends it requests that may be repeated (client.go,
// leader.go). It takes the timestamp of a statement over several fragments (snapshot.go). It lists
// prepared transactions and ends them (prepared.go), and it returns a transaction's outcome from the
// logs of the fragments and of the catalog (outcome.go). An operator may end a transaction that
// stays undecided because its coordinator fragment is lost (Client.ResolveTransaction); a decision
// that any reachable fragment knows takes precedence over the operator's.
//
// A Transaction has a Part in each fragment that it uses. A Sender makes the part at a node; a
// LeaderPart finds the leader first, keeps the part there, and decides what follows when the leader
// changes (leader_part.go). The snapshots that a transaction pins stay pinned while rows move and
// leaders change (pins.go). PREPARE TRANSACTION lets it outlive its session (prepare_transaction.go).
//
// Followers chooses the replicas for reads of the past and reads that may be stale, which need not
// lead (follower.go, T9).
//
// NoAnswer, and what OutcomeOpen reports, leave open whether a request took effect; every other
// error is definite.
//
// The package keeps no state that is not in the catalog or in the fragments' logs, except which
// transactions of this node are at work.
package kv
