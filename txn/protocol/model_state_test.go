package protocol_test

import (
	"github.com/sherddb/sherd/txn/protocol"
)

// variant is a transaction's kind, and what is left out of the protocol. The rules that package
// protocol does not decide about are those of logs: dropped says which of them is missing.
type variant struct {
	without protocol.Rules
	dropped string // "bar", "record", or "" for none
	reader  bool   // a reader that is checked
	two     bool   // two rounds: the commit is explicit
}

const (
	maxWriters  = 2
	maxAttempts = 2
)

// fragment is what the log of one writer says, and whether its leader still has the write buffer.
// Attempts stand for their commit times.
type fragment struct {
	protocol.Writer[uint8]
	lowWater  uint8 // attempts up to it are refused
	installed uint8 // the attempt
	dropped   bool
	gone      bool // the write buffer: its leader changed, or the transaction ended here
}

// what the client was told.
const (
	nothing uint8 = iota
	committed
	aborted
	unknown
)

// coordinator is at an attempt; told says how it ended.
type coordinator struct {
	protocol.Coordinator
	attempt  uint8
	got      [maxWriters]protocol.Answers
	proposed protocol.Action // to the coordinator fragment: ProposeCommit, ProposeAbort, or Prepare for nothing
	dead     bool
	told     uint8
	toldC    uint8
}

// state is everything. sent is the set of messages that may arrive, at any time from now on.
type state struct {
	f       [maxWriters]fragment
	co      coordinator
	decided uint8 // at the coordinator fragment: the attempt that is committed
	forgot  bool  // the coordinator fragment has its record alone, since all have resolved
	reader  protocol.Answers
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
	msgCommit // from here on to or from the coordinator fragment: one bit for every attempt
	msgAbort  // by who knows that the attempt cannot be complete, or that no client was told
	msgPlain  // any other abort
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

// model is the protocol for so many writers, at most maxWriters.
type model struct {
	variant
	writers uint8
}

func (m *model) rules() protocol.Rules { return protocol.All &^ m.without }

func (m *model) start() state {
	s := state{}
	s.co.Coordinator = protocol.Coordinator{Rules: m.rules(), Implicit: !m.two, Attempts: maxAttempts}
	m.attempt(&s, 1)
	return s
}

func (m *model) attempt(s *state, k uint8) {
	s.co.attempt, s.co.got = k, [maxWriters]protocol.Answers{}
	for i := range m.writers {
		s.send(msgPrepare, i, k)
	}
}

// prepare is an entry of writer i's log, or its refusal.
func (m *model) prepare(s *state, i, k uint8) {
	f := &s.f[i]
	switch {
	case f.Prepared && f.C == k || f.installed == k:
		s.send(msgOK, i, k) // repeated
	case f.gone:
		s.send(msgRefused, i, k)
	case k <= f.lowWater:
		s.send(msgLow, i, k)
	default:
		f.Writer, f.lowWater = protocol.Writer[uint8]{Prepared: true, C: k, Implicit: !m.two}, k
		s.send(msgOK, i, k)
	}
}

func (f *fragment) raiseLowWater(k uint8) { f.lowWater = max(f.lowWater, k) }

// apply is the effect of an entry for attempt k.
func (f *fragment) apply(e protocol.Effect, k uint8) {
	switch {
	case e == protocol.Install:
		f.installed = k
	case e == protocol.Drop && f.Prepared:
		f.dropped = true
	default:
		return
	}
	f.Writer, f.gone = protocol.Writer[uint8]{}, true
}

// bar is an entry of writer i's log above the attempt's time: it tells whether the attempt is
// prepared, and that stays so.
func (m *model) bar(s *state, i, k uint8) {
	f := &s.f[i]
	if m.dropped != "bar" {
		f.raiseLowWater(k)
	}
	if f.Has(m.rules(), k) {
		s.send(msgYes, i, k)
	} else {
		s.send(msgNo, i, k)
	}
}

// commit is the coordinator fragment's decision.
func (m *model) commit(s *state, k uint8) {
	o, e := s.f[0].Commit(m.rules(), s.decided != 0, k)
	if e == protocol.Install {
		s.decided = k
	}
	s.f[0].apply(e, k)
	if o == protocol.Committed {
		s.send(msgCommitted, 0, s.decided)
	}
}

// abort is the coordinator fragment's decision, stamped above the attempt's time.
func (m *model) abort(s *state, k uint8, known bool) {
	a := &s.f[0]
	a.raiseLowWater(k)
	decided := s.decided != 0 && !(s.forgot && m.dropped == "record")
	o, e := a.Abort(m.rules(), decided, k, known)
	a.apply(e, k)
	switch o {
	case protocol.Committed:
		s.send(msgCommitted, 0, s.decided)
	case protocol.Aborted:
		s.send(msgAborted, 0, k)
	}
}

// resolve brings the coordinator fragment's decision to writer i.
func (m *model) resolve(s *state, i, k uint8, commit bool) {
	e, _ := s.f[i].Resolve(m.rules(), commit, k)
	s.f[i].apply(e, k)
}

// ask is a recoverer at the coordinator fragment: it looks, and proposes afterwards.
func (m *model) ask(s *state, k uint8) {
	switch {
	case s.decided != 0:
		s.send(msgCommitted, 0, s.decided)
	case !s.f[0].MustAsk(m.rules(), k):
		s.send(msgPlain, 0, k)
	default:
		for i := uint8(1); i < m.writers; i++ {
			s.send(msgBar, i, k)
		}
	}
}

type doFunc func(change func(t *state), format string, args ...uint8)

// next calls fn with every state that one step leads to.
func (m *model) next(s state, fn func(t state, format string, args ...uint8)) {
	do := func(change func(t *state), format string, args ...uint8) {
		t := s
		if change(&t); t == s {
			return
		}
		fn(t, format, args...)
	}
	for k := uint8(1); k <= maxAttempts; k++ {
		for i := range m.writers {
			m.atWriter(&s, i, k, do)
		}
		m.atCoordinator(&s, k, do)
	}
	for i := range m.writers {
		do(func(t *state) { t.f[i].gone = true }, "writer %d: another leader", i)
		do(func(t *state) { t.f[i].raiseLowWater(1) }, "writer %d: promised to a reader", i)
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

func (m *model) atCoordinator(s *state, k uint8, do doFunc) {
	for i := range m.writers {
		if s.f[i].Prepared && s.f[i].C == k {
			do(func(t *state) { m.ask(t, k) }, "recoverer: asks the coordinator fragment about %d", k)
		}
	}
	yes := true
	for i := uint8(1); i < m.writers; i++ {
		yes = yes && s.has(msgBar, i, k) && s.has(msgYes, i, k) // a recoverer has asked
	}
	if yes {
		do(func(t *state) { t.send(msgCommit, 0, k) }, "recoverer: all have prepared %d", k)
	}
	if s.has(msgCommit, 0, k) {
		do(func(t *state) { m.commit(t, k) }, "coordinator fragment: commit %d", k)
	}
	if s.decided == k && m.rules().MayForget(m.resolved(s, k)) {
		do(func(t *state) { t.forgot = true }, "coordinator fragment: forgets")
	}
	if s.has(msgAbort, 0, k) {
		do(func(t *state) { m.abort(t, k, true) }, "coordinator fragment: abort %d", k)
	}
	if s.has(msgPlain, 0, k) {
		do(func(t *state) { m.abort(t, k, false) }, "coordinator fragment: abort %d, unasked", k)
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
	case s.reader == protocol.Refused && in > 0:
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
			if s.f[i].Prepared {
				m.recoverOne(&s, s.f[i].C)
			}
		}
	}
	return s
}

func (m *model) recoverOne(s *state, k uint8) {
	if m.ask(s, k); s.has(msgPlain, 0, k) {
		m.abort(s, k, false)
	}
	yes := s.f[0].MustAsk(m.rules(), k)
	for i := uint8(1); i < m.writers; i++ {
		if s.has(msgBar, i, k) {
			m.bar(s, i, k)
			yes = yes && s.has(msgYes, i, k)
		}
	}
	if yes {
		m.commit(s, k)
	} else if s.f[0].Prepared && s.f[0].C == k {
		m.abort(s, k, true)
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
		if f.Prepared {
			n++
		}
	}
	return n
}
