package protocol

// Coordinator is the state of a commit at its coordinator. Its methods are the events; each returns
// what to do next.
type Coordinator struct {
	Rules Rules
	// Implicit: the commit needs no decision once all have prepared at one C. Otherwise there are
	// fragments that were only checked and cannot be asked again, or an abort must leave something.
	Implicit bool
	Attempts uint8 // how many are left

	answers Answers // to the last attempt
}

// Answers is the set of answers to one attempt.
type Answers uint8

// Answers to a prepare, or to the check of reads.
const (
	OK      Answers = 1 << iota // prepared, or checked
	Low                         // C is too small; a larger one may do
	Refused                     // it is not prepared at C and never will be
	Lost                        // no answer
	LateNo                      // no answer, and afterwards it was not prepared
)

// Action is what a coordinator does next.
type Action uint8

// Actions of a coordinator.
const (
	Prepare       Action = iota // again, at a larger C
	ProposeCommit               // at the coordinator fragment, and then Decided
	ProposeAbort                // likewise; the abort is a known one
	TellCommitted               // the client
	TellAborted                 // the client
	TellUnknown                 // the client: only a log that did not answer has the outcome
)

// Answered gets the answers of all writers and checked readers to an attempt.
func (c *Coordinator) Answered(a Answers) Action {
	c.answers = a
	if c.Attempts > 0 {
		c.Attempts--
	}
	switch {
	case a&^(OK|Low) != 0, a&Low != 0 && c.Attempts == 0:
		return ProposeAbort
	case a&Low != 0:
		return Prepare
	case c.Implicit:
		return TellCommitted
	}
	return ProposeCommit
}

// Committed gets the coordinator fragment's answer to ProposeCommit; Unknown is no answer, or one
// from which nothing may be concluded.
func (c *Coordinator) Committed(o Outcome) Action {
	switch o {
	case Committed:
		return TellCommitted
	case Aborted: // a recovery found it undecided for too long
		return TellAborted
	}
	return TellUnknown
}

// Aborted gets the coordinator fragment's answer to ProposeAbort. The fragment may have recovered the
// transaction meanwhile, if all had prepared but did not answer. Without an answer of it the client
// is told that the transaction was aborted if a writer's refusal ensures that.
func (c *Coordinator) Aborted(o Outcome) Action {
	switch {
	case o == Committed && c.Rules.Have(CoordinatorFragmentDecides):
		return TellCommitted
	case o != Unknown:
		return TellAborted
	case c.answers&Refused != 0, !c.Implicit:
		return TellAborted
	case c.answers&Lost != 0 && c.Rules.Have(LostIsUnknown), c.answers&LateNo != 0 && c.Rules.Have(LateIsUnknown):
		return TellUnknown
	}
	return TellAborted
}

// MayResolve reports whether the other writers may be resolved, if the coordinator fragment has
// decided or has not. A writer that resolves is not prepared any more, and a recovery that asked it
// would take that for a no.
func (r Rules) MayResolve(decided bool) bool { return decided || !r.Have(First) }

// MayForget reports whether the coordinator fragment may forget a commit, if all its writers have
// applied the resolution or have not.
func (r Rules) MayForget(all bool) bool { return all || !r.Have(Forget) }
