package model

import (
	"fmt"
	"math/bits"
)

// rules that can be dropped, one at a time.
type rules struct {
	noBar             bool // a writer that has not prepared says so and may prepare afterwards
	abortAnyAttempt   bool // an abort of one attempt ends a later one, at the anchor
	resolveAnyAttempt bool // the same at the other writers
	// the anchor's abort for an attempt it has not prepared ends what has been prepared meanwhile
	abortUnasked  bool
	resolveFirst  bool // writers are told to commit before the anchor has decided
	abortCounts   bool // the coordinator that wants to abort takes no other answer
	unknownIsNo   bool // a prepare without an answer counts as refused
	barAnyAttempt bool // a writer that has prepared at another attempt says that it has prepared
	checkedReader bool // a transaction with a checked reader commits in one round
	noRecord      bool // an anchor that has forgotten a commit says aborted
	// a writer that is asked after its answer was lost, and is not prepared, counts as one that has
	// refused
	lateNoIsNo bool
}

const (
	maxWriters  = 2
	maxAttempts = 2
)

// fragment is what the log of one writer says, and whether its leader still has the stage. Attempts
// stand for their commit times.
type fragment struct {
	promised  uint8 // attempts up to it are refused
	prepared  uint8 // the attempt
	installed uint8 // the attempt
	dropped   bool
	gone      bool // the stage: its leader changed, or the transaction ended here
}

// answers that the coordinator has to a prepare.
const (
	none uint8 = iota
	ok
	low
	refused
	lost
	lateNo // lost, and not prepared when it was asked afterwards
)

// what the client was told.
const (
	nothing uint8 = iota
	committed
	aborted
	unknown
)

// coordinator is at an attempt; told says how it ended.
type coordinator struct {
	attempt  uint8
	got      [maxWriters]uint8
	aborting bool
	dead     bool
	told     uint8
	toldC    uint8
}

// state is everything. sent is the set of messages that may arrive, at any time from now on.
type state struct {
	f       [maxWriters]fragment
	co      coordinator
	decided uint8 // at the anchor: the attempt that is committed
	forgot  bool  // the anchor has its record alone, since all have resolved
	reader  uint8 // answer of the checked reader
	sent    uint64
}

// message kinds; each has a bit for every writer and attempt.
const (
	msgPrepare = iota
	msgOK
	msgLow
	msgRefused
	msgBar
	msgYes
	msgNo
	msgCommit // from here on to or from the anchor: one bit for every attempt
	msgAbort  // by who knows that the attempt cannot be complete, or that no client was told
	msgPlain  // abort, by an anchor that has not prepared the attempt
	msgCommitted
	msgAborted
)

func bit(kind int, writer, attempt uint8) uint64 {
	n := kind * maxWriters * maxAttempts
	if kind >= msgCommit {
		n = msgCommit*maxWriters*maxAttempts + (kind-msgCommit)*maxAttempts
		writer = 0
	}
	return 1 << (n + int(writer)*maxAttempts + int(attempt-1))
}

func (s *state) send(kind int, writer, attempt uint8) { s.sent |= bit(kind, writer, attempt) }
func (s *state) has(kind int, writer, attempt uint8) bool {
	return s.sent&bit(kind, writer, attempt) != 0
}

// model is the protocol under some rules, for so many writers, at most maxWriters.
type model struct {
	rules
	writers uint8
}

func (m *model) start() state {
	s := state{}
	m.attempt(&s, 1)
	return s
}

func (m *model) attempt(s *state, k uint8) {
	s.co.attempt, s.co.got = k, [maxWriters]uint8{}
	for i := range m.writers {
		s.send(msgPrepare, i, k)
	}
}

// prepare is an entry of writer i's log, or its refusal.
func (m *model) prepare(s *state, i, k uint8) {
	f := &s.f[i]
	switch {
	case f.prepared == k || f.installed == k:
		s.send(msgOK, i, k) // repeated
	case f.gone:
		s.send(msgRefused, i, k)
	case k <= f.promised:
		s.send(msgLow, i, k)
	default:
		f.prepared, f.promised = k, k
		s.send(msgOK, i, k)
	}
}

func (f *fragment) promise(k uint8) { f.promised = max(f.promised, k) }

func (f *fragment) drop()    { f.prepared, f.dropped, f.gone = 0, true, true }
func (f *fragment) install() { f.installed, f.prepared, f.gone = f.prepared, 0, true }

// bar is an entry of writer i's log above the attempt's time: it tells whether the attempt is
// prepared, and that stays so.
func (m *model) bar(s *state, i, k uint8) {
	f := &s.f[i]
	if !m.noBar {
		f.promise(k)
	}
	if f.prepared == k || m.barAnyAttempt && f.prepared != 0 {
		s.send(msgYes, i, k)
	} else {
		s.send(msgNo, i, k)
	}
}

// commit is the anchor's decision.
func (m *model) commit(s *state, k uint8) {
	a := &s.f[0]
	switch {
	case s.decided != 0:
	case a.prepared == k:
		s.decided = k
		a.install()
	default:
		return // void: nothing may be concluded
	}
	s.send(msgCommitted, 0, s.decided)
}

// abort is the anchor's decision, stamped above the attempt's time.
func (m *model) abort(s *state, k uint8, plain bool) {
	a := &s.f[0]
	a.promise(k)
	switch {
	case s.decided != 0 && !(s.forgot && m.noRecord):
		s.send(msgCommitted, 0, s.decided)
		return
	case a.prepared == 0:
	case plain && !m.abortUnasked, a.prepared > k && !m.abortAnyAttempt:
		return // void
	default:
		a.drop()
	}
	s.send(msgAborted, 0, k)
}

// resolve brings the anchor's decision to writer i.
func (m *model) resolve(s *state, i, k uint8, commit bool) {
	f := &s.f[i]
	switch {
	case commit && f.prepared == k:
		f.install()
	case !commit && f.prepared != 0 && (f.prepared <= k || m.resolveAnyAttempt):
		f.drop()
	}
}

// ask is a recoverer at the anchor: it looks, and proposes afterwards.
func (m *model) ask(s *state, k uint8) {
	switch {
	case s.decided != 0:
		s.send(msgCommitted, 0, s.decided)
	case s.f[0].prepared != k:
		s.send(msgPlain, 0, k)
	default:
		for i := uint8(1); i < m.writers; i++ {
			s.send(msgBar, i, k)
		}
	}
}

// step is what leads from one state to another. Its text is made for those that somebody reads.
type step struct {
	format string
	args   [2]uint8
	n      int
}

func (s step) String() string {
	args := make([]any, s.n)
	for i := range args {
		args[i] = s.args[i]
	}
	return fmt.Sprintf(s.format, args...)
}

type doFunc func(change func(t *state), format string, args ...uint8)

// next calls fn with every state that one step leads to.
func (m *model) next(s state, fn func(by step, s state)) {
	do := func(change func(t *state), format string, args ...uint8) {
		t := s
		if change(&t); t == s {
			return
		}
		by := step{format: format, n: len(args)}
		copy(by.args[:], args)
		fn(by, t)
	}
	for k := uint8(1); k <= maxAttempts; k++ {
		for i := range m.writers {
			m.atWriter(&s, i, k, do)
		}
		m.atAnchor(&s, k, do)
	}
	for i := range m.writers {
		do(func(t *state) { t.f[i].gone = true }, "writer %d: another leader", i)
		do(func(t *state) { t.f[i].promise(1) }, "writer %d: promised to a reader", i)
	}
	if !s.co.dead {
		m.coordinate(&s, do)
	}
}

func (m *model) atWriter(s *state, i, k uint8, do doFunc) {
	if s.has(msgPrepare, i, k) {
		do(func(t *state) { m.prepare(t, i, k) }, "writer %d: prepare %d", i, k)
	}
	if s.has(msgBar, i, k) {
		do(func(t *state) { m.bar(t, i, k) }, "writer %d: bar %d", i, k)
	}
	if s.has(msgNo, i, k) {
		do(func(t *state) { t.send(msgAbort, 0, k) }, "recoverer: %d has not prepared %d", i, k)
	}
	if i == 0 {
		return
	}
	if s.has(msgCommitted, 0, k) {
		do(func(t *state) { m.resolve(t, i, k, true) }, "writer %d: resolve %d, commit", i, k)
	}
	if s.has(msgAborted, 0, k) {
		do(func(t *state) { m.resolve(t, i, k, false) }, "writer %d: resolve %d, abort", i, k)
	}
}

func (m *model) atAnchor(s *state, k uint8, do doFunc) {
	for i := range m.writers {
		if s.f[i].prepared == k {
			do(func(t *state) { m.ask(t, k) }, "recoverer: asks the anchor about %d", k)
		}
	}
	yes := true
	for i := uint8(1); i < m.writers; i++ {
		yes = yes && s.has(msgYes, i, k)
	}
	if yes {
		do(func(t *state) { t.send(msgCommit, 0, k) }, "recoverer: all have prepared %d", k)
	}
	if s.has(msgCommit, 0, k) {
		do(func(t *state) { m.commit(t, k) }, "anchor: commit %d", k)
	}
	if s.decided == k && m.resolved(s, k) {
		do(func(t *state) { t.forgot = true }, "anchor: forgets")
	}
	if s.has(msgAbort, 0, k) {
		do(func(t *state) { m.abort(t, k, false) }, "anchor: abort %d", k)
	}
	if s.has(msgPlain, 0, k) {
		do(func(t *state) { m.abort(t, k, true) }, "anchor: abort %d, which it has not prepared", k)
	}
}

// resolved tells whether all have applied a commit.
func (m *model) resolved(s *state, k uint8) bool {
	for i := range m.writers {
		if s.f[i].installed != k {
			return false
		}
	}
	return true
}

// wrong says what is not as it must be, "" if all is.
func (m *model) wrong(s *state) string {
	in, out, C := 0, 0, uint8(0)
	for i := range m.writers {
		f := &s.f[i]
		if f.dropped {
			out++
		}
		if f.installed == 0 {
			continue
		}
		if in++; C != 0 && C != f.installed {
			return "two commit times"
		}
		C = f.installed
	}
	switch {
	case in > 0 && out > 0:
		return "torn"
	case s.co.told == committed && (out > 0 || C != 0 && C != s.co.toldC):
		return "the client was told that it committed"
	case s.co.told == aborted && in > 0:
		return "the client was told that it was aborted"
	case s.reader == refused && in > 0:
		return "committed, though a reader refused"
	}
	return ""
}

// recovered is where recovery alone leads from s: nothing may stay undecided.
func (m *model) recovered(s state) state {
	s.co.dead = true
	s.sent = 0
	for range 2 * maxWriters {
		for i := range m.writers {
			if k := s.f[i].prepared; k != 0 {
				m.recoverOne(&s, k)
			}
		}
	}
	return s
}

func (m *model) recoverOne(s *state, k uint8) {
	if m.ask(s, k); s.has(msgPlain, 0, k) {
		m.abort(s, k, true)
	}
	yes := s.f[0].prepared == k
	for i := uint8(1); i < m.writers; i++ {
		if s.has(msgBar, i, k) {
			m.bar(s, i, k)
			yes = yes && s.has(msgYes, i, k)
		}
	}
	if yes {
		m.commit(s, k)
	} else if s.f[0].prepared == k {
		m.abort(s, k, false)
	}
	for i := uint8(1); i < m.writers; i++ {
		for k := uint8(1); k <= maxAttempts; k++ {
			if s.has(msgCommitted, 0, k) {
				m.resolve(s, i, k, true)
			}
			if s.has(msgAborted, 0, k) {
				m.resolve(s, i, k, false)
			}
		}
	}
	s.sent = 0
}

func (s *state) undecided() int {
	n := 0
	for _, f := range s.f {
		n += bits.OnesCount8(f.prepared)
	}
	return n
}
