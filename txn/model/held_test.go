package model

import (
	"testing"

	"github.com/sherddb/sherd/internal/explore"
)

// The third model is of a SERIALIZABLE transaction that is held (storage/hold_reads.go), and of a
// writer into what it has read, in the fragment where it has: the steps between which others may
// come. The leader changes once at any moment, with which stages go; after that another writer
// comes.

// heldRules can be dropped, one at a time.
type heldRules struct {
	guard    bool // who is to be held looks at who has staged before it is guarded
	stage    bool // who stages looks for guards before it has staged
	tell     bool // a serializable writer that is open is not told
	open     bool // others that are open are no reason to refuse
	busy     bool // and those that commit are none
	prepared bool // the validation does not wait for what is prepared
	validate bool // there is none
	leader   bool // a new leader does not have the guards
}

// Places of the one that is to be held.
const (
	hOpen uint8 = iota
	hGuarded
	hLooked
	hHeld
	hCommitted
	hGone
)

// Places of the writer.
const (
	wNone uint8 = iota
	wStaged
	wOpen // it has looked for guards
	wBusy
	wPrepared
	wCommitted
	wGone
)

type heldState struct {
	h, w         uint8
	guard        bool
	looked       bool // h has looked, or w has looked, out of turn
	saw          bool
	serializable bool // the writer
	met, told    bool // the writer: it has met a guard, it was told of one
	early        bool // the writer's version is below the commit of h, if that comes
	changed      bool // the leader
}

type heldDo func(text string, change func(*heldState))

func (s heldState) next(r heldRules, do heldDo) {
	s.holder(r, do)
	s.writer(r, do)
	if !s.changed {
		do("the leader changes", func(t *heldState) {
			t.changed = true
			if t.h < hHeld {
				t.h = hGone
			}
			t.guard = t.h == hHeld && !r.leader
			if t.w < wPrepared || t.w == wGone { // its stage has gone; another one comes
				t.w, t.met, t.told, t.saw, t.early = wNone, false, false, false, false
			}
		})
	}
}

func (s heldState) holder(r heldRules, do heldDo) {
	look := func(t *heldState) {
		t.looked = true
		switch {
		case t.w == wBusy && !r.busy, t.w == wOpen && !t.serializable && !r.open,
			t.w == wStaged && !t.serializable && !r.open && !r.stage:
			t.h, t.guard = hGone, false // refused
		case (t.w == wOpen || t.w == wStaged && !r.stage) && t.serializable && !r.tell:
			t.told = true
		}
	}
	switch {
	case s.h == hOpen && r.guard && !s.looked:
		do("h looks", look)
	case s.h == hOpen:
		do("h is guarded", func(t *heldState) {
			t.h, t.guard = hGuarded, true
			if r.guard {
				t.h = hLooked
			}
		})
	case s.h == hGuarded:
		do("h looks", func(t *heldState) {
			if look(t); t.h == hGuarded {
				t.h = hLooked
			}
		})
	case s.h == hLooked && (s.w != wPrepared || r.prepared):
		do("h is validated and stamped", func(t *heldState) {
			if t.h = hHeld; t.w == wCommitted && !r.validate {
				t.h, t.guard = hGone, false
			}
		})
	case s.h == hHeld:
		do("h commits", func(t *heldState) { t.h, t.guard = hCommitted, false })
		do("h is rolled back", func(t *heldState) { t.h, t.guard = hGone, false })
	}
}

func (s heldState) writer(r heldRules, do heldDo) {
	if s.w < wPrepared && s.w > wNone {
		do("w is rolled back", func(t *heldState) { t.w = wGone })
	}
	switch s.w {
	case wNone:
		do("w stages", func(t *heldState) {
			if t.w = wStaged; r.stage {
				t.saw = t.guard
			}
		})
	case wStaged:
		do("w looks for guards", func(t *heldState) {
			t.w, t.met = wOpen, t.guard && !r.stage || t.saw
		})
	case wOpen:
		if s.met && s.guard {
			return // it waits
		}
		do("w enters its commit", func(t *heldState) {
			if t.w = wBusy; t.told && t.guard {
				t.w = wGone // 40001
			}
		})
	case wBusy:
		do("w is prepared", func(t *heldState) { t.w, t.early = wPrepared, t.h != hCommitted })
		do("w commits", func(t *heldState) { t.w, t.early = wCommitted, t.h != hCommitted })
	case wPrepared:
		do("w is decided", func(t *heldState) { t.w = wCommitted })
		do("w is aborted", func(t *heldState) { t.w, t.early = wGone, false })
	}
}

func exploreHeld(r heldRules) explore.Result {
	return explore.Model[heldState]{
		Start: []heldState{{}, {serializable: true}},
		Next: func(s heldState, do func(t heldState, format string, args ...uint8)) {
			s.next(r, func(text string, change func(*heldState)) {
				t := s
				change(&t)
				do(t, text)
			})
		},
		Wrong: func(s heldState) string {
			if s.h == hCommitted && s.w == wCommitted && s.early {
				return "h has committed, and what it read was not so any more"
			}
			return ""
		},
	}.Run()
}

func TestHeldReads(t *testing.T) {
	whole := exploreHeld(heldRules{})
	if whole.Wrong != "" {
		t.Fatal(whole)
	}
	t.Log(whole)
	for name, r := range map[string]heldRules{
		"guard before look":                {guard: true},
		"stage before look":                {stage: true},
		"serializable writers are told":    {tell: true},
		"others have to end":               {open: true},
		"those that commit are waited for": {busy: true},
		"what is prepared is waited for":   {prepared: true},
		"reads are validated":              {validate: true},
		"a new leader has the guards":      {leader: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := exploreHeld(r)
			if got.Wrong == "" {
				t.Fatal("nothing goes wrong without the rule")
			}
			t.Log(got)
		})
	}
}
