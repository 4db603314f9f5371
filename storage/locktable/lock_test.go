package locktable

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// lockScript runs requests for one row by transactions A, B, C … one after the other.
type lockScript struct {
	t    *testing.T
	lt   *Table
	key  []byte
	txs  map[string]*Owner
	have map[string]*Lock
	from map[string]txn.LockMode // before it was made stronger last
	runs map[string]chan lockAnswer
	quit map[string]context.CancelFunc
}

type lockAnswer struct {
	l    *Lock
	from txn.LockMode
	err  error
}

func newLockScript(t *testing.T) *lockScript {
	s := &lockScript{
		t: t, key: rowKey(1), txs: map[string]*Owner{}, have: map[string]*Lock{}, from: map[string]txn.LockMode{},
		runs: map[string]chan lockAnswer{}, quit: map[string]context.CancelFunc{},
	}
	s.lt = New(Config{Fragment: 1, Detector: txn.NewDetector(), EndingWait: time.Second})
	return s
}

func (s *lockScript) tx(name string) *Owner {
	if s.txs[name] == nil {
		s.txs[name] = newOwner(s.lt, txn.ID{15: name[0]})
		s.txs[name].SetSession(uint32(name[0]-'A') + 1)
	}
	return s.txs[name]
}

// lock asks for the lock, and returns the result: "", "waits" or the error.
func (s *lockScript) lock(name string, mode txn.LockMode, noWait bool) string {
	ctx, cancel := context.WithCancel(testContext(s.t))
	before, done := s.queued(), make(chan lockAnswer, 1)
	go func() {
		l, from, err := s.lt.acquire(ctx, s.tx(name), s.key, &txn.LockRequest{Mode: mode, NoWait: noWait})
		done <- lockAnswer{l, from, err}
	}()
	for {
		select {
		case a := <-done:
			cancel()
			return s.answered(name, a)
		default:
		}
		if s.queued() > before {
			s.runs[name], s.quit[name] = done, cancel
			return "waits"
		}
		runtime.Gosched()
	}
}

func (s *lockScript) queued() int {
	st, _ := s.lt.stripe(s.key)
	st.mu.Lock()
	defer st.mu.Unlock()
	if l := st.locks[string(s.key)]; l != nil {
		return l.waiting()
	}
	return 0
}

func (s *lockScript) answered(name string, a lockAnswer) string {
	switch {
	case errors.Is(a.err, txn.ErrLocked):
		return "locked"
	case pgerr.Is(a.err, pgerr.DeadlockDetected):
		return "deadlock"
	case a.err != nil:
		return a.err.Error()
	}
	s.have[name], s.from[name] = a.l, a.from
	return ""
}

// granted returns the names of transactions whose waits have ended since the last call, and how.
func (s *lockScript) granted(want string) string {
	var got []string
	for _, field := range strings.Fields(want) {
		name, _, _ := strings.Cut(field, ":")
		run := s.runs[name]
		if run == nil {
			continue
		}
		a := <-run
		delete(s.runs, name)
		if how := s.answered(name, a); how != "" {
			name += ":" + how
		}
		got = append(got, name)
	}
	for name, run := range s.runs {
		select {
		case a := <-run:
			got = append(got, name+s.answered(name, a)+" besides")
		default:
		}
	}
	return strings.Join(got, " ")
}

// step runs a line: "A SHARE", "A SHARE NOWAIT", "release A", "weaken A", "cancel A", "reset"; and
// what is expected after " -> ".
func (s *lockScript) step(line string) {
	s.t.Helper()
	what, want, _ := strings.Cut(line, " -> ")
	got := ""
	switch verb, name, _ := strings.Cut(what, " "); verb {
	case "release":
		s.lt.release(s.have[name])
		got = s.granted(want)
	case "weaken":
		s.lt.weaken(s.have[name], s.from[name])
		got = s.granted(want)
	case "cancel":
		s.quit[name]()
		if a := <-s.runs[name]; !errors.Is(a.err, context.Canceled) {
			s.t.Fatalf("%s: %v", line, a.err)
		}
		delete(s.runs, name)
		got = s.granted(want)
	case "reset":
		s.lt.Reset(errTermOver)
		got = s.granted(want)
	default:
		mode, noWait := strings.CutSuffix(name, " NOWAIT")
		for m := txn.KeyShare; m <= txn.Update; m++ {
			if m.String() == mode {
				got = s.lock(verb, m, noWait)
			}
		}
		if more := s.granted(strings.TrimPrefix(want, "waits, ")); more != "" {
			got += ", " + more
		}
	}
	if got != want {
		s.t.Fatalf("%s: got %q\n%s", line, got, s.show())
	}
}

func (s *lockScript) show() string {
	var b strings.Builder
	st, _ := s.lt.stripe(s.key)
	st.mu.Lock()
	defer st.mu.Unlock()
	if l := st.locks[string(s.key)]; l != nil {
		for _, x := range s.lt.appendInfo(nil, l) {
			fmt.Fprintf(&b, "%c %s %v; ", x.Holder.ID[15], x.Mode, x.Granted)
		}
	}
	return b.String()
}

func TestLockConflicts(t *testing.T) {
	// The manual, table 13.3, from the weakest mode to the strongest.
	table := []string{
		"...x",
		"..xx",
		".xxx",
		"xxxx",
	}
	for i, row := range table {
		for j, c := range row {
			held, asked := txn.LockMode(i+1), txn.LockMode(j+1)
			s := newLockScript(t)
			s.step("A " + held.String())
			want := ""
			if c == 'x' {
				want = " -> locked"
			}
			s.step("B " + asked.String() + " NOWAIT" + want)
			if c == 'x' {
				s.step("A " + asked.String()) // one's own lock is never in the way
			}
		}
	}
}

func TestLockQueue(t *testing.T) {
	scripts := map[string]string{
		"in the order of arrival": `
			A UPDATE
			B UPDATE -> waits
			C UPDATE -> waits
			release A -> B
			release B -> C`,
		"a compatible request does not overtake": `
			A SHARE
			B NO KEY UPDATE -> waits
			C SHARE -> waits
			D KEY SHARE
			D SHARE
			release A
			release D -> B
			release B -> C`,
		"many are granted at once": `
			A UPDATE
			B SHARE -> waits
			C KEY SHARE -> waits
			D SHARE -> waits
			E NO KEY UPDATE -> waits
			F KEY SHARE -> waits
			release A -> B C D F
			release B
			release D -> E`,
		"a holder who wants more comes first": `
			A SHARE
			B SHARE
			C UPDATE -> waits
			A NO KEY UPDATE -> waits
			release B -> A
			release A -> C`,
		"two holders want more": `
			A SHARE
			B SHARE
			A UPDATE -> waits
			B UPDATE -> deadlock
			release B -> A`,
		"a stronger lock at once, which is in the way of one who waits": `
			A KEY SHARE
			B SHARE
			C NO KEY UPDATE -> waits
			A SHARE
			release B
			release A -> C`,
		"a weaker request changes nothing": `
			A UPDATE
			A KEY SHARE
			B KEY SHARE NOWAIT -> locked`,
		"one who gives up lets others pass": `
			A SHARE
			B UPDATE -> waits
			C SHARE -> waits
			cancel B -> C`,
		"weaker again": `
			A KEY SHARE
			A UPDATE
			B NO KEY UPDATE -> waits
			C UPDATE -> waits
			weaken A -> B
			release B
			release A -> C`,
		"no waiting": `
			A KEY SHARE
			B UPDATE -> waits
			C KEY SHARE NOWAIT -> locked
			A NO KEY UPDATE NOWAIT
			release A -> B`,
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			s := newLockScript(t)
			for _, line := range strings.Split(strings.TrimSpace(script), "\n") {
				s.step(strings.TrimSpace(line))
			}
			if len(s.runs) != 0 {
				t.Fatalf("still waiting: %s", s.show())
			}
		})
	}
}

func TestLocksEndWithTheTerm(t *testing.T) {
	s := newLockScript(t)
	s.step("A UPDATE")
	s.step("B SHARE -> waits")
	s.lt.Reset(errTermOver)
	if a := <-s.runs["B"]; !errors.Is(a.err, errTermOver) {
		t.Fatal(a.err)
	}
	s.lt.release(s.have["A"]) // nothing
	if got := s.show(); got != "" {
		t.Fatal(got)
	}
	s.step("C UPDATE")
	s.lt.release(s.have["A"])
	if got := s.show(); got != "C UPDATE true; " {
		t.Fatal(got)
	}
}

// TestDeadlockNamesAll is a cycle of three in two fragments, in which one waits for two.
func TestDeadlockNamesAll(t *testing.T) {
	detector := txn.NewDetector()
	tables := []*Table{New(Config{Fragment: 1, Detector: detector}), New(Config{Fragment: 2, Detector: detector})}
	ctx := testContext(t)
	owner := func(lt *Table, n byte) *Owner {
		o := newOwner(lt, txn.ID{15: n})
		o.SetSession(uint32(n) + 60)
		return o
	}
	lock := func(o *Owner, row int, mode txn.LockMode) error {
		_, err := o.Lock(ctx, rowKey(row), &txn.LockRequest{Mode: mode}, NotWritten)
		return err
	}
	a, b, c, d := owner(tables[0], 11), owner(tables[0], 12), owner(tables[1], 13), owner(tables[0], 14)
	if err := errors.Join(lock(a, 1, txn.Share), lock(d, 1, txn.Share), lock(b, 2, txn.Update),
		lock(c, 3, txn.Update)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	waits := func(f func() error) {
		before := totalWaits(tables...)
		go func() { done <- f() }()
		for totalWaits(tables...) == before {
			runtime.Gosched()
		}
	}
	waits(func() error { return lock(b, 1, txn.NoKeyUpdate) })              // for a and d
	waits(func() error { return lock(owner(tables[0], 13), 2, txn.Share) }) // for b
	err := lock(owner(tables[1], 14), 3, txn.Update)                        // d waits for c
	var dead *txn.DeadlockError
	if !errors.As(err, &dead) || len(dead.Waits) != 3 || dead.Waits[0].Fragment != 2 ||
		string(dead.Waits[0].Key) != string(rowKey(3)) {
		t.Fatal(err)
	}
	want := "Process 74 waits for ShareLock on transaction 13; blocked by process 73.\n" +
		"Process 73 waits for ShareLock on transaction 12; blocked by process 72.\n" +
		"Process 72 waits for ShareLock on transaction 14; blocked by process 74."
	if got := pgerr.From(err).Detail; got != want {
		t.Fatal(got)
	}
	d.End()
	a.End()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	b.End()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func totalWaits(tables ...*Table) (n int) {
	for _, lt := range tables {
		locks, _ := lt.List(1000)
		for _, l := range locks {
			if !l.Granted {
				n++
			}
		}
	}
	return n
}

// TestLockTimeoutLetsOthersPass: time passes when B and C wait, and not before.
func TestLockTimeoutLetsOthersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLockScript(t)
		s.step("A SHARE")
		s.tx("B").SetTimeout(20 * time.Millisecond)
		s.step("B UPDATE -> waits")
		s.step("C SHARE -> waits")
		if a := <-s.runs["B"]; !pgerr.Is(a.err, pgerr.LockNotAvailable) {
			t.Fatal(a.err)
		}
		delete(s.runs, "B")
		if got := s.granted("C"); got != "C" {
			t.Fatal(got)
		}
	})
}
