package model

import (
	"testing"

	"github.com/sherddb/sherd/internal/explore"
)

// The third model is of a SERIALIZABLE transaction that PREPARE TRANSACTION prepares
// (storage/prepared_reads.go), and of a writer into what it has read, in the fragment where it has:
// the steps between which others may come. The leader changes once at any moment, with which write
// buffers go; after that another writer comes.

// heldRules can be dropped, one at a time.
type readsRules struct {
	guard    bool // the one to be prepared looks for buffered writes before it is guarded
	buffer   bool // who writes looks for guards before it has buffered the write
	tell     bool // a serializable writer that is open is not told
	open     bool // others that are open are no reason to refuse
	busy     bool // and those that commit are none
	prepared bool // the validation does not wait for what is prepared
	validate bool // there is none
	leader   bool // a new leader does not have the guards
}

// Places of the one that is to be prepared.
const (
	hOpen uint8 = iota
	hGuarded
	hLooked
	hPrepared
	hCommitted
	hGone
)

// Places of the writer.
const (
	wNone uint8 = iota
	wBuffered
	wOpen // it has looked for guards
	wBusy
	wPrepared
	wCommitted
	wGone
)

type readsState struct {
	h, w         uint8
	guard        bool
	looked       bool // h has looked, or w has looked, out of turn
	saw          bool
	serializable bool // the writer
	met, told    bool // the writer: it has met a guard, it was told of one
	early        bool // the writer's version is below the commit of h, if that comes
	changed      bool // the leader
}

type readsDo func(text string, change func(*readsState))

func (s readsState) next(r readsRules, do readsDo) {
	s.holder(r, do)
	s.writer(r, do)
	if !s.changed {
		do("the leader changes", func(t *readsState) {
			t.changed = true
			if t.h < hPrepared {
				t.h = hGone
			}
			t.guard = t.h == hPrepared && !r.leader
			if t.w < wPrepared || t.w == wGone { // its write buffer has gone; another one comes
				t.w, t.met, t.told, t.saw, t.early = wNone, false, false, false, false
			}
		})
	}
}

func (s readsState) holder(r readsRules, do readsDo) {
	look := func(t *readsState) {
		t.looked = true
		switch {
		case t.w == wBusy && !r.busy, t.w == wOpen && !t.serializable && !r.open,
			t.w == wBuffered && !t.serializable && !r.open && !r.buffer:
			t.h, t.guard = hGone, false // refused
		case (t.w == wOpen || t.w == wBuffered && !r.buffer) && t.serializable && !r.tell:
			t.told = true
		}
	}
	switch {
	case s.h == hOpen && r.guard && !s.looked:
		do("h looks", look)
	case s.h == hOpen:
		do("h is guarded", func(t *readsState) {
			t.h, t.guard = hGuarded, true
			if r.guard {
				t.h = hLooked
			}
		})
	case s.h == hGuarded:
		do("h looks", func(t *readsState) {
			if look(t); t.h == hGuarded {
				t.h = hLooked
			}
		})
	case s.h == hLooked && (s.w != wPrepared || r.prepared):
		do("h is validated and stamped", func(t *readsState) {
			if t.h = hPrepared; t.w == wCommitted && !r.validate {
				t.h, t.guard = hGone, false
			}
		})
	case s.h == hPrepared:
		do("h commits", func(t *readsState) { t.h, t.guard = hCommitted, false })
		do("h is rolled back", func(t *readsState) { t.h, t.guard = hGone, false })
	}
}

func (s readsState) writer(r readsRules, do readsDo) {
	if s.w < wPrepared && s.w > wNone {
		do("w is rolled back", func(t *readsState) { t.w = wGone })
	}
	switch s.w {
	case wNone:
		do("w writes", func(t *readsState) {
			if t.w = wBuffered; r.buffer {
				t.saw = t.guard
			}
		})
	case wBuffered:
		do("w looks for guards", func(t *readsState) {
			t.w, t.met = wOpen, t.guard && !r.buffer || t.saw
		})
	case wOpen:
		if s.met && s.guard {
			return // it waits
		}
		do("w enters its commit", func(t *readsState) {
			if t.w = wBusy; t.told && t.guard {
				t.w = wGone // 40001
			}
		})
	case wBusy:
		do("w is prepared", func(t *readsState) { t.w, t.early = wPrepared, t.h != hCommitted })
		do("w commits", func(t *readsState) { t.w, t.early = wCommitted, t.h != hCommitted })
	case wPrepared:
		do("w is decided", func(t *readsState) { t.w = wCommitted })
		do("w is aborted", func(t *readsState) { t.w, t.early = wGone, false })
	}
}

func exploreReads(r readsRules) explore.Result {
	return explore.Model[readsState]{
		Start: []readsState{{}, {serializable: true}},
		Next: func(s readsState, do func(t readsState, format string, args ...uint8)) {
			s.next(r, func(text string, change func(*readsState)) {
				t := s
				change(&t)
				do(t, text)
			})
		},
		Wrong: func(s readsState) string {
			if s.h == hCommitted && s.w == wCommitted && s.early {
				return "h has committed, and what it read was not so any more"
			}
			return ""
		},
	}.Run()
}

func TestPreparedReads(t *testing.T) {
	whole := exploreReads(readsRules{})
	if whole.Wrong != "" {
		t.Fatal(whole)
	}
	t.Log(whole)
	for name, r := range map[string]readsRules{
		"guard before look":                {guard: true},
		"write before look":                {buffer: true},
		"serializable writers are told":    {tell: true},
		"others have to end":               {open: true},
		"those that commit are waited for": {busy: true},
		"what is prepared is waited for":   {prepared: true},
		"reads are validated":              {validate: true},
		"a new leader has the guards":      {leader: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := exploreReads(r)
			if got.Wrong == "" {
				t.Fatal("nothing goes wrong without the rule")
			}
			t.Log(got)
		})
	}
}
