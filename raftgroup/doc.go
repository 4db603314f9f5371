// Package raftgroup opens one consensus group: a hashicorp/raft instance over a raft-wal log of its
// own or its part of a node's shared log device (package raftlog). The settings were measured for a
// database whose durability is this log (fsync before acknowledge).
//
// The package owns the log directory, the Raft instance and the watch over leadership; it does not
// interpret the entries. Package storage opens one group per fragment replica, package catalog one
// for the cluster's definitions:
//
//	g, err := raftgroup.Open(raftgroup.Options{
//		Dir:            filepath.Join(data, "catalog"),
//		Name:           "catalog",
//		FSM:            fsm,           // a raft.FSM; a raft.BatchingFSM gets whole batches
//		RestoreOnStart: true,          // restore the last snapshot into memory, replay the rest
//		Logger:         logger,
//	})
//	defer g.Close()
//	err = g.WaitLeader(ctx)                   // the state machine has all acknowledged entries (Barrier)
//	resp, index, err := g.Apply(ctx, entry)   // resp is the result of FSM.Apply
//	err = g.Confirm(ctx)                      // T5: still leader, by a round after the call
//
// Reconcile brings the members of a group to the desired membership, one change at a time, at the
// leader:
//
//	desired := func() raftgroup.Membership { return raftgroup.Membership{Voters: …, Nonvoters: …, Leader: "2"} }
//	g.Reconcile(desired, looked)
//	g.Leader(), g.LeaderChanged(), g.Progress(id)   // the leader, and how far the others are
//
// A server is added without a vote, catches up, and becomes a voter when its log is nearly the
// leader's. Other voters are demoted only when all desired voters vote. If a group has lost its
// majority for good, UnsafeRecover makes one stopped replica the only voter (unsafe recovery).
//
// With no Transport the group has one voter, this process, and elects itself at once; several
// groups may be opened in parallel. A transport and a list of peers make it a replicated group
// without any other change.
//
// # Invariants
//
//   - Apply returns nil only after the entry is on disk at a quorum and applied here.
//   - An error of Apply says whether the entry may still take effect: 40003 if it may, 57P03 if it
//     never entered the log, 53100 if the disk was full and the log refused it.
//   - OnLeader is called, and WaitLeader returns, only after an entry of the new term has been
//     applied here (T4).
//   - An entry of ProposeIn names its term. The state machine refuses it in any other term
//     (TermOf): an entry that was proposed to a leader does not count after another server has led
//     and the first one leads again.
//   - A round of Confirm serves the callers that arrived before it started (T5). It succeeds when a
//     majority of the voters has accepted a request of this term that was sent after the round
//     started; answers to earlier requests and answers of servers without a vote do not count. A
//     group whose only voter is this process needs no round: no other server can have been elected.
//     From before another voter is added, this process does not count as the only one.
//
// # Limits
//
// One log entry is at most MaxEntry bytes (raft-wal refuses 64 MiB). The log preallocates its
// segments, so a full disk is noticed when a segment is begun. After a kill between two segments
// raft-wal v0.4.2 would refuse to continue the log; walseal.go repairs this before the log is
// opened. hashicorp/raft stays at v1.7.3: v1.8.0 does not build with raft-wal without a replace
// directive.
package raftgroup
