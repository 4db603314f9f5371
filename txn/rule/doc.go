// Package rule says which rules of the transaction protocol are in force: all of them, in every build but those that are broken on purpose.
//
// Each constant is a clause of DESIGN 5, or of T9 (docs/decisions/2026-11-21-follower-reads.md), true unless the program is built with the tag at its side. Such a build exists for one purpose: the
// history checker is shown to fail on it, so that its silence about the real build says something. The constants cost nothing, since the
// compiler leaves out what cannot happen.
//
//	go build -tags sherd_no_t3_prepared ./cmd/sherd
//
//	sherd_no_t1            T1Order
//	sherd_no_t2            T2Read
//	sherd_no_t2_floor      T2Floor
//	sherd_no_t3_proposed   T3Proposed
//	sherd_no_t3_prepared   T3Prepared
//	sherd_no_t3_installed  T3Installed
//	sherd_no_t4            T4Ceiling
//	sherd_no_t4_locks      T4Locks
//	sherd_no_t5_confirm    T5Confirm
//	sherd_no_t6_prepared   T6Prepared
//	sherd_no_t7_decide     T7Decide
//	sherd_no_t7_ask        T7Ask
//	sherd_no_t7_above      T7Above
//	sherd_no_t7_forget     T7Forget
//	sherd_no_t7_record     T7Record
//	sherd_no_t7_implied    T7Implied
//	sherd_no_t7_bar        T7Bar
//	sherd_no_t7_attempt    T7Attempt
//	sherd_no_t7_first      T7First
//	sherd_no_t8            T8Validate
//	sherd_no_t8_proposed   T8Proposed
//	sherd_no_t8_prepared   T8Prepared
//	sherd_no_t8_ceiling    T8Ceiling
//	sherd_no_t8_held       T8Held
//	sherd_no_t9            T9Closed
//	sherd_no_t9_applied    T9Applied
//	sherd_no_t9_promised   T9Promised
//	sherd_no_t9_ceiling    T9Ceiling
//	sherd_no_stage_term    StageTerm
//	sherd_no_commit_once   CommitOnce
//	sherd_no_first_updater FirstUpdater
//	sherd_no_move_number   MoveNumber
//	sherd_no_move_arrival  MoveArrival
//	sherd_no_move_fence    MoveFence
//	sherd_no_move_stage    MoveStage
//	sherd_no_move_proposed MoveProposed
//	sherd_no_move_above    MoveAbove
//	sherd_no_move_read     MoveRead
//	sherd_no_move_seen     MoveSeen
//
// A tag that the protocol survives by another rule is no mistake of the checker: T2Read, for one, hides behind clocks that are carried along.
package rule

// Off lists the rules that this build lacks; nil in every build that may hold anybody's data.
func Off() []string {
	var names []string
	for _, r := range []struct {
		name string
		on   bool
	}{
		{"T1Order", T1Order},
		{"T2Read", T2Read},
		{"T2Floor", T2Floor},
		{"T3Proposed", T3Proposed},
		{"T3Prepared", T3Prepared},
		{"T3Installed", T3Installed},
		{"T4Ceiling", T4Ceiling},
		{"T4Locks", T4Locks},
		{"T5Confirm", T5Confirm},
		{"T6Prepared", T6Prepared},
		{"T7Decide", T7Decide},
		{"T7Ask", T7Ask},
		{"T7Above", T7Above},
		{"T7Forget", T7Forget},
		{"T7Record", T7Record},
		{"T7Implied", T7Implied},
		{"T7Bar", T7Bar},
		{"T7Attempt", T7Attempt},
		{"T7First", T7First},
		{"T8Validate", T8Validate},
		{"T8Proposed", T8Proposed},
		{"T8Prepared", T8Prepared},
		{"T8Ceiling", T8Ceiling},
		{"T8Held", T8Held},
		{"T9Closed", T9Closed},
		{"T9Applied", T9Applied},
		{"T9Promised", T9Promised},
		{"T9Ceiling", T9Ceiling},
		{"StageTerm", StageTerm},
		{"CommitOnce", CommitOnce},
		{"FirstUpdater", FirstUpdater},
		{"MoveNumber", MoveNumber},
		{"MoveArrival", MoveArrival},
		{"MoveFence", MoveFence},
		{"MoveStage", MoveStage},
		{"MoveProposed", MoveProposed},
		{"MoveAbove", MoveAbove},
		{"MoveRead", MoveRead},
		{"MoveSeen", MoveSeen},
	} {
		if !r.on {
			names = append(names, r.name)
		}
	}
	return names
}
