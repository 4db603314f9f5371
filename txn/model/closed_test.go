package model

import (
	"fmt"
	"testing"

	"github.com/sherddb/sherd/internal/explore"
)

// The fourth model is of T9 (docs/decisions/2026-11-21-follower-reads.md): a replica that does not
// lead and is read at closedT, while leaders stamp, propose and are replaced. One that was replaced
// may not know it, and goes on answering. What it says may arrive at any time, or never.

// closedRules can be dropped, one at a time.
type closedRules struct {
	closed   bool // the replica serves whatever it is asked
	applied  bool // it does not look whether it has applied Last
	lowWater bool // closing a time does not raise lowWater to it
	oneStep  bool // Last is read before lowWater is raised, and others stamp between
	lease    bool // no read lease has to cover what is closed
	proposed bool // a read lease that was proposed is as good as one that was applied
	start    bool // a new leader's stamps do not begin above the read lease
}

const (
	closedT     = 3 // the time that is closed and read
	closedMax   = 5 // the largest stamp
	closedLog   = 4 // entries
	closedTerms = 3
)

// closedEntry is an entry of the log: a commit, or a read lease, which is always closedT+1.
type closedEntry struct {
	stamp uint8
	lease bool
}

// closedLeader is what a process believes that leads, or once did.
type closedLeader struct {
	lowWater, last uint8
	lease          bool // it covers closedT, as the leader's state has it
	asked          bool // a read lease was proposed
	reading        bool // it has read Last and not raised lowWater yet (oneStep)
	read           uint8
}

type closedState struct {
	log       [closedLog]closedEntry
	n         uint8 // entries that were proposed
	committed uint8 // entries that are there for ever
	term      uint8
	now       closedLeader
	old       closedLeader // who led before, and may not know that it is over
	said      [closedMax + 1]bool
	learned   [closedMax + 1]bool // by the replica: closedT is closed, with Last
	replica   uint8               // entries applied
	served    bool
	at        uint8 // entries applied when it was
}

func (s *closedState) wrong() bool {
	if !s.served {
		return false
	}
	for i := s.at; i < s.committed; i++ {
		if !s.log[i].lease && s.log[i].stamp <= closedT {
			return true
		}
	}
	return false
}

// applied gives the stamp of the last of some entries.
func (s *closedState) applied(entries uint8) uint8 {
	if entries == 0 {
		return 0
	}
	return s.log[entries-1].stamp
}

type closedDo func(text string, change func(*closedState))

func (s closedState) next(r closedRules, do closedDo) {
	s.propose(do)
	if s.n > s.committed {
		do("an entry is committed", func(t *closedState) {
			t.committed++
			t.now.lease = t.now.lease || t.log[t.committed-1].lease
		})
	}
	s.close(r, "the leader", func(t *closedState) *closedLeader { return &t.now }, do)
	if s.term > 1 {
		s.close(r, "who led before", func(t *closedState) *closedLeader { return &t.old }, do)
	}
	if s.term < closedTerms {
		s.replaceLeader(r, do)
	}
	s.follow(r, do)
}

// propose: the leader stamps what it likes above what it has promised.
func (s closedState) propose(do closedDo) {
	if s.n == closedLog {
		return
	}
	for stamp := max(s.now.lowWater, s.now.last) + 1; stamp <= closedMax; stamp++ {
		for _, lease := range []bool{false, true} {
			if lease && s.now.asked {
				continue
			}
			what := "a commit"
			if lease {
				what = "a read lease"
			}
			do(fmt.Sprintf("the leader proposes %s at %d", what, stamp), func(t *closedState) {
				t.log[t.n] = closedEntry{stamp, lease}
				t.n++
				t.now.last, t.now.lowWater = stamp, stamp
				t.now.asked = t.now.asked || lease
			})
		}
	}
}

// close: a process that leads, or believes that it does, closes closedT.
func (s closedState) close(r closedRules, who string, of func(*closedState) *closedLeader, do closedDo) {
	l := *of(&s)
	if !l.lease && !(r.proposed && l.asked) && !r.lease && l.last < closedT {
		return
	}
	say := func(t *closedState, last uint8) {
		if t.said[last] = true; !r.lowWater {
			of(t).lowWater = max(of(t).lowWater, closedT)
		}
	}
	if !r.oneStep {
		do(fmt.Sprintf("%s closes %d, Last is %d", who, closedT, l.last), func(t *closedState) { say(t, l.last) })
		return
	}
	if !l.reading {
		do(who+" reads Last", func(t *closedState) { of(t).reading, of(t).read = true, l.last })
		return
	}
	do(fmt.Sprintf("%s closes %d, Last was %d", who, closedT, l.read), func(t *closedState) {
		of(t).reading = false
		say(t, l.read)
	})
}

// replaceLeader: another one leads, whose log has all that is committed and may have more, which is
// committed by what it proposes first.
func (s closedState) replaceLeader(r closedRules, do closedDo) {
	for kept := s.committed; kept <= s.n; kept++ {
		do(fmt.Sprintf("another leads, with %d entries", kept), func(t *closedState) {
			t.old = t.now
			t.term++
			clear(t.log[kept:])
			t.n, t.committed = kept, kept
			t.now = closedLeader{lowWater: t.applied(kept), last: t.applied(kept)}
			for _, e := range t.log[:kept] {
				t.now.lease = t.now.lease || e.lease
			}
			t.now.asked = t.now.lease
			if t.now.lease && !r.start {
				t.now.lowWater = max(t.now.lowWater, closedT+1)
			}
		})
	}
}

// follow: the replica applies, learns and serves.
func (s closedState) follow(r closedRules, do closedDo) {
	if s.replica < s.committed {
		do("the replica applies an entry", func(t *closedState) { t.replica++ })
	}
	for last := range s.said {
		if s.said[last] && !s.learned[last] {
			do(fmt.Sprintf("the replica learns that %d is closed, Last is %d", closedT, last), func(t *closedState) {
				t.learned[last] = true
			})
		}
	}
	if s.served {
		return
	}
	servable := r.closed || s.applied(s.replica) >= closedT
	for last, learned := range s.learned {
		servable = servable || learned && (r.applied || uint8(last) <= s.applied(s.replica))
	}
	if servable {
		do(fmt.Sprintf("the replica serves a read at %d", closedT), func(t *closedState) {
			t.served, t.at = true, t.replica
		})
	}
}

func exploreClosed(r closedRules) explore.Result {
	return explore.Model[closedState]{
		Start: []closedState{{term: 1}},
		Next: func(s closedState, do func(t closedState, format string, args ...uint8)) {
			s.next(r, func(text string, change func(*closedState)) {
				t := s
				change(&t)
				do(t, text)
			})
		},
		Wrong: func(s closedState) string {
			if s.wrong() {
				return fmt.Sprintf("something at or below %d is committed that was not read there", closedT)
			}
			return ""
		},
	}.Run()
}

func TestClosedReads(t *testing.T) {
	whole := exploreClosed(closedRules{})
	if whole.Wrong != "" {
		t.Fatal(whole)
	}
	t.Log(whole)
	for name, r := range map[string]closedRules{
		"only what is closed is served":            {closed: true},
		"Last is applied":                          {applied: true},
		"the low-water timestamp is raised":        {lowWater: true},
		"in one step with reading Last":            {oneStep: true},
		"a read lease covers it":                   {lease: true},
		"one that is applied":                      {proposed: true},
		"a new leader begins above the read lease": {start: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := exploreClosed(r)
			if got.Wrong == "" {
				t.Fatal("nothing goes wrong without the rule")
			}
			t.Log(got)
		})
	}
}
