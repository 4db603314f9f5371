package model

// coordinate gives the coordinator's steps.
func (m *model) coordinate(s *state, do doFunc) {
	do(func(t *state) { t.co.dead = true }, "coordinator: dies")
	k := s.co.attempt
	if s.co.aborting {
		m.afterAbort(s, do)
		return
	}
	if m.checkedReader && s.reader == none {
		do(func(t *state) { t.reader = ok }, "reader: checked")
		do(func(t *state) { t.reader = refused }, "reader: refuses")
	}
	all := !m.checkedReader || s.reader != none
	for i := range m.writers {
		if s.co.got[i] == lost { // it asks whether it is prepared
			do(func(t *state) { m.bar(t, i, k) }, "coordinator: asks %d about %d", i, k)
			if s.has(msgYes, i, k) {
				do(func(t *state) { t.co.got[i] = ok }, "coordinator: %d is prepared", i)
			}
			if s.has(msgNo, i, k) {
				do(func(t *state) { t.co.got[i] = lateNo }, "coordinator: %d is not prepared", i)
			}
		}
		if s.co.got[i] != none {
			continue
		}
		all = false
		if s.has(msgOK, i, k) {
			do(func(t *state) { t.co.got[i] = ok }, "coordinator: %d has prepared", i)
		}
		if s.has(msgLow, i, k) {
			do(func(t *state) { t.co.got[i] = low }, "coordinator: %d has promised more", i)
		}
		if s.has(msgRefused, i, k) {
			do(func(t *state) { t.co.got[i] = refused }, "coordinator: %d refuses", i)
		}
		do(func(t *state) { t.co.got[i] = lost }, "coordinator: no answer of %d", i)
	}
	if all {
		do(m.conclude, "coordinator: has all answers to %d", k)
	}
}

func (m *model) conclude(t *state) {
	seen := uint8(0)
	for i := range m.writers {
		seen |= 1 << t.co.got[i]
	}
	k := t.co.attempt
	switch {
	case seen&(1<<refused|1<<lost|1<<lateNo) != 0, t.reader == refused, seen&(1<<low) != 0 && k == maxAttempts:
		t.co.aborting = true
		t.send(msgAbort, 0, k)
	case seen&(1<<low) != 0:
		m.attempt(t, k+1)
	default:
		t.co.told, t.co.toldC, t.co.dead = committed, k, true // done; what it has sent stays on its way
		t.send(msgCommit, 0, k)
		if m.resolveFirst {
			t.send(msgCommitted, 0, k)
		}
	}
}

func (m *model) afterAbort(s *state, do doFunc) {
	for k := uint8(1); k <= maxAttempts; k++ {
		if s.has(msgCommitted, 0, k) {
			do(func(t *state) {
				t.co.told, t.co.toldC, t.co.dead = committed, k, true
				if m.abortCounts {
					t.co.told = aborted
				}
			}, "coordinator: the anchor has committed %d", k)
		}
	}
	if s.has(msgAborted, 0, s.co.attempt) {
		do(func(t *state) { t.co.told, t.co.dead = aborted, true }, "coordinator: the anchor has aborted")
	}
	do(func(t *state) {
		t.co.told, t.co.dead = aborted, true
		for _, got := range t.co.got {
			if got == lost && !m.unknownIsNo || got == lateNo && !m.lateNoIsNo {
				t.co.told = unknown
			}
		}
	}, "coordinator: the anchor does not answer")
}
