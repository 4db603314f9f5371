package main

// claim names a test that fails without a rule.
type claim struct{ rule, pkg, test string }

// claims has at least one test for each rule, in the order of txn/rule.
var claims = []claim{
	{"T1Order", "./storage", "TestRuleT1Order"},
	{"T2Read", "./storage", "TestRuleT2Read"},
	{"T2Floor", "./storage", "TestRuleT2Floor"},
	{"T3Proposed", "./storage", "TestRuleT3Proposed"},
	{"T3Prepared", "./storage", "TestReaderWaitsForPrepared"},
	{"T3Installed", "./storage", "TestRuleT3Installed"},
	{"T4ReadLease", "./storage", "TestRuleT4ReadLease"},
	{"T4Locks", "./storage", "TestRuleT4Locks"},
	{"T5Confirm", "./raftgroup", "TestRuleT5Confirm"},
	{"T6Prepared", "./storage", "TestRuleT6Prepared"},
	{"T7Decide", "./storage", "TestDecideWithoutPreparedIsUnknown"},
	{"T7Ask", "./storage", "TestNobodyDecidesByTimeout"},
	{"T7Above", "./storage", "TestLatePrepareIsRefusedAfterAbort"},
	{"T7Forget", "./storage", "TestRuleT7Forget"},
	{"T7Record", "./storage", "TestRuleT7Record"},
	{"T7Implicit", "./storage", "TestUnaskedAbortDoesNotCount"},
	{"T7Bar", "./storage", "TestWhoSaysNoNeverPrepares"},
	{"T7Attempt", "./storage", "TestWhoSaysNoNeverPrepares"},
	{"T7First", "./txn", "TestCoordinator"},
	{"T8Validate", "./storage", "TestSerializable"},
	{"T8Proposed", "./storage", "TestRuleT8Proposed"},
	{"T8Prepared", "./storage", "TestCheckWaitsForPrepared"},
	{"T8ReadLease", "./storage", "TestRuleT8ReadLease"},
	{"T8PreparedReads", "./storage", "TestRuleT8PreparedReads"},
	{"FirstUpdater", "./storage", "TestFirstUpdaterWins"},
	{"T9Closed", "./storage", "TestRuleT9Closed"},
	{"T9Applied", "./storage", "TestRuleT9Applied"},
	{"T9LowWater", "./storage", "TestRuleT9LowWater"},
	{"T9ReadLease", "./storage", "TestRuleT9ReadLease"},
	{"BufferTerm", "./storage", "TestRuleBufferTerm"},
	{"CommitOnce", "./storage", "TestRuleCommitOnce"},
	{"MoveNumber", "./storage", "TestRuleMoveNumber"},
	{"MoveGeneration", "./storage", "TestRuleMoveGeneration"},
	{"MoveFence", "./storage", "TestRuleMoveFence"},
	{"MoveBuffer", "./storage", "TestRuleMoveBuffer"},
	{"MoveProposed", "./storage", "TestRuleMoveProposed"},
	{"MoveAbove", "./storage", "TestRuleMoveAbove"},
	{"MoveRead", "./storage", "TestRuleMoveRead"},
	{"MoveSeen", "./storage", "TestRuleMoveSeen"},
}

// histories are the rules whose absence the random histories of package integration also find.
var histories = []string{"T3Prepared", "T7Ask", "T8Validate", "T8Prepared", "T8Proposed", "FirstUpdater"}
