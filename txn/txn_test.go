package txn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

func TestTimestamp(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 0, 0, 123_000_000, time.UTC)
	ts := FromTime(at) + 7
	if !ts.Time().Equal(at) || ts.Counter() != 7 {
		t.Fatal(ts.Time(), ts.Counter())
	}
	if got := ts.String(); got != "2026-11-21 06:00:00.123Z+7" {
		t.Fatal(got)
	}
	if got := ts.Add(time.Second); !got.Time().Equal(at.Add(time.Second)) || got.Counter() != 7 {
		t.Fatal(got)
	}
	if FromTime(time.Unix(-5, 0)) != 0 {
		t.Fatal("times before 1970 are 0")
	}
}

func TestClock(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	c := NewClock(func() time.Time { return now }, time.Second)
	a, b := c.Now(), c.Now()
	if a != FromTime(now) || b != a+1 {
		t.Fatal(a, b)
	}
	now = now.Add(-time.Hour) // a clock that goes back
	if d := c.Now(); d != b+1 {
		t.Fatal(d)
	}
	now = time.UnixMilli(2_000_000)
	if d := c.Now(); d != FromTime(now) {
		t.Fatal(d)
	}
	if err := c.Merge(FromTime(now.Add(900 * time.Millisecond))); err != nil {
		t.Fatal(err)
	}
	if err := c.Merge(FromTime(now.Add(1100 * time.Millisecond))); err == nil {
		t.Fatal("too far ahead")
	}
	full := FromTime(now.Add(950*time.Millisecond)) | 0xffff
	if err := c.Merge(full); err != nil {
		t.Fatal(err)
	}
	if d := c.Now(); d != full+1 || d.Counter() != 0 {
		t.Fatalf("a full counter carries: %s", d)
	}
}

func TestSpans(t *testing.T) {
	s := Prefix([]byte{1, 0xff})
	if !bytes.Equal(s.End, []byte{2}) || !s.Contains([]byte{1, 0xff, 9}) || s.Contains([]byte{2}) {
		t.Fatal(s)
	}
	if p := Point([]byte("a")); !p.Contains([]byte("a")) || p.Contains([]byte("a\x00")) || p.Empty() {
		t.Fatal(p)
	}
	if PrefixEnd([]byte{0xff}) != nil || !(Span{[]byte("b"), []byte("b")}).Empty() {
		t.Fatal("bounds")
	}
}

func TestDetector(t *testing.T) {
	d := NewDetector()
	owner := func(n byte) LockOwner { return LockOwner{ID: ID{15: n + 10}, Session: uint32(n)} }
	wait := func(n byte) *Wait { return &Wait{Waiter: owner(n), Lock: "ShareLock"} }
	a, b, c := wait(1), wait(2), wait(3)
	if err := errors.Join(d.Block(a, owner(2)), d.Block(b, owner(7), owner(3))); err != nil {
		t.Fatal(err)
	}
	c.Lock, c.Object = "AccessExclusiveLock", "relation 16385 of database 5"
	err := d.Block(c, owner(8), owner(1))
	var dead *DeadlockError
	if !pgerr.Is(err, pgerr.DeadlockDetected) || !errors.As(err, &dead) || len(dead.Waits) != 3 || dead.Waits[0] != c {
		t.Fatal(err)
	}
	want := "Process 3 waits for AccessExclusiveLock on relation 16385 of database 5; blocked by process 1.\n" +
		"Process 1 waits for ShareLock on transaction 12; blocked by process 2.\n" +
		"Process 2 waits for ShareLock on transaction 13; blocked by process 3."
	if got := pgerr.From(err); got.Detail != want || got.Hint != "See server log for query details." ||
		got.Message != "deadlock detected" {
		t.Fatalf("%+v", got)
	}
	d.Done(b)
	if err := d.Block(c, owner(1)); err != nil {
		t.Fatal(err)
	}
	if err := d.Block(a, owner(3)); !pgerr.Is(err, pgerr.DeadlockDetected) { // b's lock went to c
		t.Fatal(err)
	}
	d.Done(a) // nothing
	if err := d.Block(b, LockOwner{Session: 9}); err != nil {
		t.Fatal(err)
	}
	held := &Wait{Waiter: owner(9), Lock: "ShareLock"} // session 9, in any transaction
	if err := d.Block(held, owner(2)); !pgerr.Is(err, pgerr.DeadlockDetected) {
		t.Fatal(err)
	}
	d.Done(b)
	d.Done(c)
	if len(d.byID)+len(d.bySession) != 0 {
		t.Fatal("waits are left")
	}
}

func TestIDs(t *testing.T) {
	before := time.Now().Add(-time.Millisecond)
	a, b := NewID(), NewID()
	if a.Began().Before(before) || a.Began().After(time.Now()) {
		t.Fatal(a.Began())
	}
	if p, err := ParseID(a.String()); p != a || err != nil {
		t.Fatal(p, err)
	}
	if _, err := ParseID("x"); !pgerr.Is(err, pgerr.InvalidParameterValue) {
		t.Fatal(err)
	}
	if a == b || a.IsZero() || !(ID{}).IsZero() || len(a.String()) != 32 || (ID{}).XID() != 3 {
		t.Fatal(a, b)
	}
}

// scripted is a participant that does what its script says; the log notes the calls in order.
type scripted struct {
	f           FragmentID
	writes      bool
	pins        bool
	reads       bool
	check       error
	lowWater    Timestamp
	prepare     []error
	decide      func(Decision) (Outcome, error)
	log         *[]string
	lastC       Timestamp
	aborted     Timestamp // the C of the last decision
	coordinator bool

	onPrepare func()
}

func (s *scripted) note(format string, args ...any) {
	*s.log = append(*s.log, fmt.Sprintf("%d:", s.f)+fmt.Sprintf(format, args...))
}
func (s *scripted) Fragment() FragmentID { return s.f }
func (s *scripted) HasReads() bool       { return s.reads }
func (s *scripted) Check(_ context.Context, C Timestamp) error {
	s.note("check")
	s.lastC = C
	return s.check
}
func (s *scripted) HasWrites() bool     { return s.writes }
func (s *scripted) HasPins() bool       { return s.pins }
func (s *scripted) LowWater() Timestamp { return s.lowWater }
func (s *scripted) Commit(_ context.Context, r CommitRequest) (Timestamp, error) {
	s.note("commit")
	return r.Floor + 1, nil
}
func (s *scripted) Prepare(_ context.Context, r PrepareRequest) error {
	s.lastC, s.coordinator = r.C, r.Coordinator == s.f
	if s.onPrepare != nil {
		s.onPrepare()
	}
	var err error
	if len(s.prepare) > 0 {
		err, s.prepare = s.prepare[0], s.prepare[1:]
	}
	return err
}
func (s *scripted) Decide(_ context.Context, d Decision) (Outcome, error) {
	s.note("decide %s", d.Outcome)
	s.aborted = d.C
	if s.decide != nil {
		return s.decide(d)
	}
	return d.Outcome, nil
}
func (s *scripted) Resolve(_ context.Context, d Decision) error {
	s.note("resolve %s", d.Outcome)
	return nil
}
func (s *scripted) LogOutcome(d Decision, then func(Outcome, error)) {
	if s.coordinator {
		then(s.Decide(context.Background(), d))
		return
	}
	then(d.Outcome, s.Resolve(context.Background(), d))
}
func (s *scripted) Forget(context.Context, Decision) { s.note("forget") }
func (s *scripted) Rollback()                        { s.note("rollback") }

func TestCoordinator(t *testing.T) {
	low := &LowError{LowWater: FromTime(time.Now().Add(time.Hour))}
	boom := pgerr.New(pgerr.SerializationFailure, "boom")
	lost := pgerr.New(pgerr.StatementCompletionUnknown, "lost")
	cases := []struct {
		name  string
		parts func(log *[]string) []*scripted
		code  string
		want  []string
	}{
		{"nothing written", func(l *[]string) []*scripted { return []*scripted{{f: 1, log: l}, {f: 2, log: l}} },
			"", []string{"1:rollback", "2:rollback"}},
		{"one writer", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l}, {f: 2, log: l, writes: true}}
		},
			"", []string{"2:commit", "1:rollback"}},
		{"two writers", func(l *[]string) []*scripted {
			return []*scripted{{f: 2, log: l, writes: true}, {f: 1, log: l, writes: true}}
		},
			"", []string{"1:decide committed", "2:resolve committed", "1:forget"}},
		{"larger C", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true}, {f: 2, log: l, writes: true, prepare: []error{low, nil}}}
		}, "", []string{"1:decide committed", "2:resolve committed", "1:forget"}},
		{"one writer, one checked reader", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true}, {f: 2, log: l, reads: true}}
		}, "", []string{"2:check", "1:commit", "2:rollback"}},
		{"a reader refuses", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true}, {f: 2, log: l, reads: true, check: boom}}
		}, pgerr.SerializationFailure, []string{"2:check", "1:rollback", "2:rollback"}},
		{"a reader refuses two writers", func(l *[]string) []*scripted {
			return []*scripted{
				{f: 1, log: l, writes: true}, {f: 3, log: l, writes: true}, {f: 2, log: l, reads: true, check: boom},
			}
		}, pgerr.SerializationFailure, []string{"2:check", "1:decide aborted", "3:resolve aborted", "2:rollback"}},
		{"a writer, and pinned locks elsewhere", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true}, {f: 2, log: l, pins: true}, {f: 3, log: l}}
		}, "", []string{"1:decide committed", "2:resolve committed", "1:forget", "3:rollback"}},
		{"pinned locks alone", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, pins: true}, {f: 2, log: l, pins: true}}
		},
			"", []string{"1:rollback", "2:rollback"}},
		{"readers alone are not checked", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, reads: true}, {f: 2, log: l, reads: true}}
		}, "", []string{"1:rollback", "2:rollback"}},
		{"prepare fails", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true}, {f: 2, log: l, writes: true, prepare: []error{boom}}}
		}, pgerr.SerializationFailure, []string{"1:decide aborted", "2:resolve aborted"}},
		{"decision unanswered", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true, decide: func(Decision) (Outcome, error) {
				return Unknown, errors.New("gone")
			}}, {f: 2, log: l, writes: true}, {f: 3, log: l, reads: true}}
		}, pgerr.StatementCompletionUnknown, []string{"3:check", "1:decide committed", "3:rollback"}},
		{"decision finds nothing", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true, decide: func(Decision) (Outcome, error) {
				return Unknown, nil
			}}, {f: 2, log: l, writes: true}, {f: 3, log: l, reads: true}}
		}, pgerr.StatementCompletionUnknown, []string{"3:check", "1:decide committed", "3:rollback"}},
		{"aborted meanwhile", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true, decide: func(Decision) (Outcome, error) {
				return Aborted, nil
			}}, {f: 2, log: l, writes: true}, {f: 3, log: l, reads: true}}
		}, pgerr.SerializationFailure, []string{"3:check", "1:decide committed", "2:resolve aborted", "3:rollback"}},
		{"all have prepared, the decision is unanswered", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true, decide: func(Decision) (Outcome, error) {
				return Unknown, errors.New("gone")
			}}, {f: 2, log: l, writes: true}}
		}, "", []string{"1:decide committed"}},
		{"a prepare is unanswered, and the coordinator fragment aborts", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true}, {f: 2, log: l, writes: true, prepare: []error{lost}}}
		}, pgerr.SerializationFailure, []string{"1:decide aborted", "2:resolve aborted"}},
		{"a prepare is unanswered, and somebody recovers", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true, decide: func(Decision) (Outcome, error) {
				return Committed, nil
			}},
				{f: 2, log: l, writes: true, prepare: []error{lost}}}
		}, "", []string{"1:decide aborted", "2:resolve committed", "1:forget"}},
		{"a prepare is unanswered, and so is the abort", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true, decide: func(Decision) (Outcome, error) {
				return Unknown, errors.New("gone")
			}},
				{f: 2, log: l, writes: true, prepare: []error{lost}}}
		}, pgerr.StatementCompletionUnknown, []string{"1:decide aborted"}},
		{"a writer says late that it is not prepared, and the coordinator fragment aborts", func(l *[]string) []*scripted {
			return []*scripted{
				{f: 1, log: l, writes: true}, {f: 2, log: l, writes: true, prepare: []error{&LateNoError{boom}}},
			}
		}, pgerr.SerializationFailure, []string{"1:decide aborted", "2:resolve aborted"}},
		{"a writer says late that it is not prepared, for somebody has recovered", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true, decide: func(Decision) (Outcome, error) {
				return Committed, nil
			}},
				{f: 2, log: l, writes: true, prepare: []error{&LateNoError{boom}}}}
		}, "", []string{"1:decide aborted", "2:resolve committed", "1:forget"}},
		{"a writer says late that it is not prepared, and the coordinator fragment does not answer", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true, decide: func(Decision) (Outcome, error) {
				return Unknown, errors.New("gone")
			}},
				{f: 2, log: l, writes: true, prepare: []error{&LateNoError{boom}}}}
		}, pgerr.StatementCompletionUnknown, []string{"1:decide aborted"}},
		{"a prepare is refused, and the abort unanswered", func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true, decide: func(Decision) (Outcome, error) {
				return Unknown, errors.New("gone")
			}},
				{f: 2, log: l, writes: true, prepare: []error{boom}}}
		}, pgerr.SerializationFailure, []string{"1:decide aborted"}},
		{"a prepare is unanswered, another refused, and the abort unanswered", func(l *[]string) []*scripted {
			return []*scripted{
				{f: 1, log: l, writes: true, prepare: []error{lost}, decide: func(Decision) (Outcome, error) {
					return Unknown, errors.New("gone")
				}},
				{f: 2, log: l, writes: true, prepare: []error{boom}},
			}
		}, pgerr.SerializationFailure, []string{"1:decide aborted"}},
		{"a reader refuses two writers, and the coordinator fragment has committed", func(l *[]string) []*scripted {
			return []*scripted{
				{f: 1, log: l, writes: true, decide: func(Decision) (Outcome, error) { return Committed, nil }},
				{f: 3, log: l, writes: true}, {f: 2, log: l, reads: true, check: boom},
			}
		}, "", []string{"2:check", "1:decide aborted", "3:resolve committed", "1:forget", "2:rollback"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var log []string
			ps := c.parts(&log)
			var parts []Participant
			for _, p := range ps {
				parts = append(parts, p)
			}
			co := &Coordinator{Clock: NewClock(nil, 0), Background: func(f func()) { f() }}
			id := ID{0: 0, 15: 1} // the coordinator fragment is the first writer
			C, err := co.Commit(context.Background(), id, 5, parts)
			if pgerr.Code(err) != c.code {
				t.Fatalf("got %v want %q", err, c.code)
			}
			if !slices.Equal(log, c.want) {
				t.Fatalf("got %q want %q", log, c.want)
			}
			if c.name == "larger C" && (C <= low.LowWater || ps[0].lastC != C || ps[1].lastC != C) {
				t.Fatalf("C is %s, prepared at %s and %s", C, ps[0].lastC, ps[1].lastC)
			}
		})
	}
}

// TestCoordinatorOfJumpedClock: no C is picked by a clock that is not believed, and what has been
// tried before the jump is aborted at its own C.
func TestCoordinatorOfJumpedClock(t *testing.T) {
	low := &LowError{LowWater: 7}
	for _, c := range []struct {
		name  string
		late  bool // the clock jumps while the second writer prepares, and not before
		parts func(l *[]string) []*scripted
		want  []string
	}{
		{"two writers", false, func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true}, {f: 2, log: l, writes: true}}
		}, []string{"1:rollback", "2:rollback"}},
		{"a writer and a checked reader", false, func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true}, {f: 2, log: l, reads: true}}
		}, []string{"1:rollback", "2:rollback"}},
		{"between two attempts", true, func(l *[]string) []*scripted {
			return []*scripted{{f: 1, log: l, writes: true}, {f: 2, log: l, writes: true, prepare: []error{low}}}
		}, []string{"1:decide aborted", "2:resolve aborted"}},
	} {
		var log []string
		var parts []Participant
		ps := c.parts(&log)
		for _, p := range ps {
			parts = append(parts, p)
		}
		ahead := time.Duration(0)
		clock := NewClock(func() time.Time { return time.Now().Add(ahead) }, 0)
		clock.Believe(time.Now(), time.Now().Add(10*time.Second))
		if !c.late {
			ahead = time.Hour
		} else {
			ps[1].onPrepare = func() { ahead = time.Hour }
		}
		co := &Coordinator{Clock: clock, Background: func(f func()) { f() }}
		if _, err := co.Commit(context.Background(), ID{15: 1}, 5, parts); !pgerr.Is(err, pgerr.CannotConnectNow) ||
			!slices.Equal(log, c.want) {
			t.Errorf("%s: %v, %q, want %q", c.name, err, log, c.want)
		}
		for _, p := range ps {
			if p.lastC.Time().After(time.Now().Add(time.Minute)) ||
				p.aborted.Time().After(time.Now().Add(time.Minute)) {
				t.Errorf("%s: fragment %d was given %s, %s", c.name, p.f, p.lastC, p.aborted)
			}
		}
	}
}

// What is picked a little above a clock that was set back is not refused, and nothing else that is
// as far ahead of the wall clock.
func TestClockPick(t *testing.T) {
	now := time.UnixMilli(10_000_000_000)
	c := NewClock(func() time.Time { return now }, 0)
	last := c.Now()
	now = now.Add(-time.Hour)
	C := last.Add(time.Millisecond)
	if c.Check(C) == nil {
		t.Error("nobody has picked it")
	}
	c.Pick(last.Add(time.Minute))
	if c.Check(C) == nil {
		t.Error("what is not near the clock was not picked by it")
	}
	c.Pick(C)
	if err := c.Check(C); err != nil || c.Last() != last {
		t.Errorf("%v, the clock is at %s", err, c.Last())
	}
	if c.Check(C+1) == nil {
		t.Error("it was not picked")
	}
}

// A clock is believed up to a bound, which moves on by itself; a jump beyond it is noticed at once.
func TestClockSane(t *testing.T) {
	var ahead time.Duration
	c := NewClock(func() time.Time { return time.Now().Add(ahead) }, 10*time.Second)
	if err := c.Sane(); err != nil {
		t.Fatal(err)
	}
	c.Believe(time.Now(), time.Now().Add(time.Hour))
	for _, j := range []struct {
		by   time.Duration
		sane bool
	}{{0, true}, {59 * time.Minute, true}, {-time.Hour, true}, {61 * time.Minute, false}} {
		if ahead = j.by; (c.Sane() == nil) != j.sane {
			t.Errorf("jump by %s: %v", j.by, c.Sane())
		}
	}
	before := c.Last()
	if now := c.Now(); c.Last() != before || time.Until(now.Time()) < time.Hour {
		t.Errorf("the clock went along to %s", c.Last())
	}
	ahead = -time.Hour
	if err := c.Check(FromTime(time.Now())); err != nil {
		t.Errorf("a clock that is behind refuses what is right: %v", err)
	}
	ahead = time.Hour * 2
	if c.Believe(time.Time{}, time.Time{}); c.Sane() != nil {
		t.Error("the bound was taken away")
	}
}
