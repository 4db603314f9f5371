// Package raftgroup opens one consensus group: a hashicorp/raft instance over a raft-wal log of its own or its part of a
// node's shared log device (package raftlog), with the settings that were measured to be right for a database whose durability
// is this log (fsync before acknowledge).
//
// It owns the log directory, the Raft instance and the watch over leadership; it knows nothing of what the entries mean.
// Package storage opens one group per fragment replica, package catalog one for the cluster's definitions:
//
//	g, err := raftgroup.Open(raftgroup.Options{
//		Dir:            filepath.Join(data, "catalog"),
//		Name:           "catalog",
//		FSM:            fsm,           // a raft.FSM; a raft.BatchingFSM is given whole batches
//		RestoreOnStart: true,          // the state machine lives in memory: restore the last snapshot, replay the rest
//		Logger:         logger,
//	})
//	defer g.Close()
//	err = g.WaitLeader(ctx)                   // the state machine holds everything that was ever acknowledged (Barrier)
//	resp, index, err := g.Apply(ctx, entry)   // resp is what FSM.Apply returned
//	err = g.Confirm(ctx)                      // T5: still leader, by a quorum round that started after the call
//
// Steer brings the members of a group, one at a time, to what is wanted, wherever it is led:
//
//	g.Steer(func() raftgroup.Want { return raftgroup.Want{Voters: …, Nonvoters: …, Leader: "2"} }, looked)
//	g.Leader(), g.LeaderChanged(), g.Progress(id)   // who leads, and how far the others are
//
// A server is added without a vote, filled, and given its vote when its log is nearly the leader's; others lose theirs only when all those wanted have
// one. Where the majority of a group is lost for good, Survive lets a replica that is not open begin anew, alone.
//
// With no Transport the group has one voter, this process, and elects itself at once; several groups may be opened in
// parallel. A transport and a list of peers make it a replicated group without any other change.
//
// # Invariants
//
//   - Apply returns nil only after the entry is on disk at a quorum and applied here.
//   - An error of Apply tells whether the entry may still take effect: 40003 where it may, 57P03 where it never entered the
//     log, 53100 where the disk was full and the log refused it.
//   - T4: OnLeader is called, and WaitLeader returns, only after an entry of the new term has been applied here.
//   - An entry of ProposeIn names its term. The state machine refuses it in any other (TermOf): what a leader was given is not carried over to when it
//     leads again, after another has.
//   - T5: a round of Confirm serves the callers that arrived before it started. It ends well when a majority of the
//     voters has taken a request of this term that was sent after it started; answers to earlier requests and answers of
//     servers without a vote do not count. A group whose only voter is this process needs no round: no other server can
//     have been elected. It does not count as the only one from before another is added.
//
// # Limits
//
// One log entry is at most MaxEntry bytes (raft-wal refuses 64 MiB). The log preallocates its segments, so a full disk shows
// when a segment is begun. What a kill leaves between two segments raft-wal v0.4.2 would refuse to go on with: walseal.go finishes it before the log
// is opened. hashicorp/raft stays at v1.7.3: v1.8.0 does not build with raft-wal without a replace directive.
package raftgroup
