package protocol_test

import "github.com/sherddb/sherd/txn/protocol"

// coordinate gives the coordinator's steps.
func (m *model) coordinate(s *state, do doFunc) {
	do(func(t *state) { t.tell(nothing, 0) }, "coordinator: dies")
	k := s.co.attempt
	if s.co.proposed != protocol.Prepare {
		m.afterProposal(s, do)
		return
	}
	if m.reader && s.reader == 0 {
		do(func(t *state) { t.reader = protocol.OK }, "reader: checked")
		do(func(t *state) { t.reader = protocol.Refused }, "reader: refuses")
	}
	all := !m.reader || s.reader != 0
	for i := range m.writers {
		if s.co.got[i] == protocol.Lost { // it asks whether it is prepared
			do(func(t *state) { m.bar(t, i, k) }, "coordinator: asks %d about %d", i, k)
			if s.has(msgYes, i, k) {
				do(func(t *state) { t.co.got[i] = protocol.OK }, "coordinator: %d is prepared", i)
			}
			if s.has(msgNo, i, k) {
				do(func(t *state) { t.co.got[i] = protocol.LateNo }, "coordinator: %d is not prepared", i)
			}
		}
		if s.co.got[i] != 0 {
			continue
		}
		all = false
		if s.has(msgOK, i, k) {
			do(func(t *state) { t.co.got[i] = protocol.OK }, "coordinator: %d has prepared", i)
		}
		if s.has(msgLow, i, k) {
			do(func(t *state) { t.co.got[i] = protocol.Low }, "coordinator: %d has promised more", i)
		}
		if s.has(msgRefused, i, k) {
			do(func(t *state) { t.co.got[i] = protocol.Refused }, "coordinator: %d refuses", i)
		}
		do(func(t *state) { t.co.got[i] = protocol.Lost }, "coordinator: no answer of %d", i)
	}
	if all {
		do(m.conclude, "coordinator: has all answers to %d", k)
	}
}

func (m *model) conclude(t *state) {
	answers := t.reader
	for i := range m.writers {
		answers |= t.co.got[i]
	}
	k := t.co.attempt
	switch t.co.proposed = t.co.Answered(answers); t.co.proposed {
	case protocol.Prepare:
		m.attempt(t, k+1)
	case protocol.ProposeCommit:
		t.send(msgCommit, 0, k)
	case protocol.ProposeAbort:
		if m.two {
			t.send(msgPlain, 0, k)
		} else {
			t.send(msgAbort, 0, k)
		}
	default:
		t.tell(committed, k) // what it has sent stays on its way
		t.send(msgCommit, 0, k)
		if m.rules().MayResolve(false) {
			t.send(msgCommitted, 0, k)
		}
	}
}

// afterProposal adds the steps in which the coordinator fragment answers a proposal.
func (m *model) afterProposal(s *state, do doFunc) {
	for k := uint8(1); k <= maxAttempts; k++ {
		if s.has(msgCommitted, 0, k) {
			do(func(t *state) { t.tellAfter(protocol.Committed, k) }, "coordinator: the coordinator fragment has committed %d", k)
		}
	}
	if s.has(msgAborted, 0, s.co.attempt) {
		do(func(t *state) { t.tellAfter(protocol.Aborted, 0) }, "coordinator: the coordinator fragment has aborted")
	}
	do(func(t *state) { t.tellAfter(protocol.Unknown, 0) }, "coordinator: the coordinator fragment does not answer")
}

// tellAfter tells the client what the coordinator fragment's answer means.
func (s *state) tellAfter(o protocol.Outcome, k uint8) {
	after := s.co.Aborted
	if s.co.proposed == protocol.ProposeCommit {
		after = s.co.Committed
	}
	switch after(o) {
	case protocol.TellCommitted:
		s.tell(committed, k)
	case protocol.TellAborted:
		s.tell(aborted, 0)
	default:
		s.tell(unknown, 0)
	}
}

// tell ends the coordinator. Nothing else of it matters any more, which makes different states equal.
func (s *state) tell(what, k uint8) { s.co = coordinator{told: what, toldC: k, dead: true} }
