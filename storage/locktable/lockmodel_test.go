package locktable

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// lockModel is a lock table of a few lines.
type lockModel struct {
	holders map[int]map[int]txn.LockMode // row → transaction → mode
	queue   map[int][]lockAsk
}

type lockAsk struct {
	tx   int
	mode txn.LockMode
}

// blockers returns the transactions for which a.tx waits before it gets a.mode, with the first n
// waiters of the row ahead of it.
func (m *lockModel) blockers(row, n int, a lockAsk) (out []int) {
	for tx, mode := range m.holders[row] {
		if tx != a.tx && mode.Conflicts(a.mode) {
			out = append(out, tx)
		}
	}
	if m.holders[row][a.tx] == 0 {
		for _, w := range m.queue[row][:n] {
			if w.mode.Conflicts(a.mode) {
				out = append(out, w.tx)
			}
		}
	}
	return out
}

// reaches reports whether tx from waits, directly or not, for tx to.
func (m *lockModel) reaches(from, to int, seen map[int]bool) bool {
	if seen[from] {
		return false
	}
	seen[from] = true
	for row, q := range m.queue {
		for i, w := range q {
			if w.tx != from {
				continue
			}
			for _, b := range m.blockers(row, i, w) {
				if b == to || m.reaches(b, to, seen) {
					return true
				}
			}
		}
	}
	return false
}

func (m *lockModel) give(row int, a lockAsk) {
	if m.holders[row] == nil {
		m.holders[row] = map[int]txn.LockMode{}
	}
	m.holders[row][a.tx] = max(m.holders[row][a.tx], a.mode)
}

// ask returns "granted", "waits", "locked" or "deadlock".
func (m *lockModel) ask(row int, a lockAsk, noWait bool) string {
	if m.holders[row][a.tx] >= a.mode || len(m.blockers(row, len(m.queue[row]), a)) == 0 {
		m.give(row, a)
		return "granted"
	}
	if noWait {
		return "locked"
	}
	q, at := m.queue[row], len(m.queue[row])
	if m.holders[row][a.tx] != 0 {
		for at = 0; at < len(q) && m.holders[row][q[at].tx] != 0; at++ {
		}
	}
	m.queue[row] = slices.Insert(slices.Clone(q), at, a)
	if m.reaches(a.tx, a.tx, map[int]bool{}) {
		m.queue[row] = q
		return "deadlock"
	}
	return "waits"
}

// grant grants what can be granted.
func (m *lockModel) grant() {
	for row := range m.queue {
		for i := 0; i < len(m.queue[row]); i++ {
			if a := m.queue[row][i]; len(m.blockers(row, i, a)) == 0 {
				m.queue[row] = slices.Delete(m.queue[row], i, i+1)
				m.give(row, a)
				i = -1
			}
		}
	}
}

func (m *lockModel) waits(tx int) bool {
	for _, q := range m.queue {
		if slices.ContainsFunc(q, func(a lockAsk) bool { return a.tx == tx }) {
			return true
		}
	}
	return false
}

// end drops tx's locks.
func (m *lockModel) end(tx int) {
	for row := range m.holders {
		delete(m.holders[row], tx)
	}
	m.grant()
}

func (m *lockModel) show() string {
	var out []string
	for row, hs := range m.holders {
		for tx, mode := range hs {
			out = append(out, fmt.Sprintf("%d: %d %s", row, tx, mode))
		}
	}
	slices.Sort(out)
	for row := range modelRows {
		for i, a := range m.queue[row] {
			out = append(out, fmt.Sprintf("%d: waiter %d is %d %s", row, i, a.tx, a.mode))
		}
	}
	return strings.Join(out, "\n")
}

const modelRows, modelTxs = 3, 6

// lockRun is the real thing beside the model.
type lockRun struct {
	t       *testing.T
	lt      *Table
	m       lockModel
	txs     [modelTxs]*Owner
	ids     map[txn.ID]int
	marks   [modelTxs]int
	saved   [modelTxs]map[int]txn.LockMode
	answers [modelTxs]chan error
	cancel  [modelTxs]context.CancelFunc
}

func (x *lockRun) begin(i int) {
	x.txs[i] = newOwner(x.lt, txn.NewID())
	x.ids[x.txs[i].LockOwner().ID] = i
	x.saved[i] = nil
}

// showSets puts into the table what is in sets.
func (x *lockRun) showSets() {
	for row := range modelRows {
		key := rowKey(row)
		s, hash := x.lt.stripe(key)
		s.mu.Lock()
		x.lt.entry(s, hash, key)
		s.mu.Unlock()
	}
}

func (x *lockRun) show() string {
	x.showSets()
	var out, queue []string
	locks, _ := x.lt.List(1000)
	slices.SortStableFunc(locks, func(a, b Info) int { return slices.Compare(a.Key, b.Key) })
	n := map[int]int{}
	for _, l := range locks {
		var row int
		fmt.Sscanf(string(l.Key), "row-%d", &row)
		if l.Granted {
			out = append(out, fmt.Sprintf("%d: %d %s", row, x.ids[l.Holder.ID], l.Mode))
			continue
		}
		queue = append(queue, fmt.Sprintf("%d: waiter %d is %d %s", row, n[row], x.ids[l.Holder.ID], l.Mode))
		n[row]++
	}
	slices.Sort(out)
	return strings.Join(append(out, queue...), "\n")
}

// await takes the answers of transactions that no longer wait.
func (x *lockRun) await() {
	for i, done := range x.answers {
		if done == nil || x.m.waits(i) {
			continue
		}
		if err := <-done; err != nil {
			x.t.Fatal(err)
		}
		x.answers[i] = nil
	}
}

// ask asks for a lock, and waits until it is granted, refused, or in the queue.
func (x *lockRun) ask(i, row int, mode txn.LockMode, noWait bool) string {
	ctx, cancel := context.WithCancel(testContext(x.t))
	x.answers[i], x.cancel[i] = make(chan error, 1), cancel
	before := totalWaits(x.lt)
	go func(o *Owner, done chan error) {
		_, err := o.Lock(ctx, rowKey(row), &txn.LockRequest{Mode: mode, NoWait: noWait}, NotWritten)
		if err == nil && o.Full() {
			o.Compact(tempFile(x.t))
		}
		done <- err
	}(x.txs[i], x.answers[i])
	for {
		select {
		case err := <-x.answers[i]:
			x.answers[i] = nil
			switch {
			case err == nil:
				return "granted"
			case errors.Is(err, txn.ErrLocked):
				return "locked"
			case pgerr.Is(err, pgerr.DeadlockDetected):
				return "deadlock"
			}
			x.t.Fatal(err)
		default:
		}
		if totalWaits(x.lt) > before {
			return "waits"
		}
		runtime.Gosched()
	}
}

// TestLockModel runs random requests, against the model; in the second round most locks are in
// sets.
func TestLockModel(t *testing.T) {
	for _, whole := range []int{8192, 2} {
		lt := New(Config{Fragment: 1, Detector: txn.NewDetector(), Whole: whole})
		t.Run(fmt.Sprint("whole", whole), func(t *testing.T) { runLockModel(t, lt) })
	}
}

func runLockModel(t *testing.T, lt *Table) {
	for seed := range int64(20) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			x := &lockRun{t: t, lt: lt, ids: map[txn.ID]int{},
				m: lockModel{map[int]map[int]txn.LockMode{}, map[int][]lockAsk{}}}
			for i := range x.txs {
				x.begin(i)
			}
			rnd := rand.New(rand.NewSource(seed))
			for step := range 300 {
				what := x.step(rnd)
				x.await()
				if got, want := x.show(), x.m.show(); got != want {
					t.Fatalf("step %d, %s:\n%s\nwant\n%s", step, what, got, want)
				}
			}
			for i := range x.txs { // transactions that wait are canceled first
				if x.m.waits(i) {
					x.cancel[i]()
					<-x.answers[i]
				}
			}
			for _, tx := range x.txs {
				tx.End()
			}
			if got := x.show(); got != "" {
				t.Fatal(got)
			}
		})
	}
}

func (x *lockRun) step(rnd *rand.Rand) string {
	i := rnd.Intn(modelTxs)
	waits := x.m.waits(i)
	n := rnd.Intn(20)
	switch {
	case waits && n < 3:
		x.cancel[i]()
		if err := <-x.answers[i]; !errors.Is(err, context.Canceled) {
			x.t.Fatal(err)
		}
		x.answers[i] = nil
		for row, q := range x.m.queue {
			x.m.queue[row] = slices.DeleteFunc(q, func(a lockAsk) bool { return a.tx == i })
		}
		x.m.grant()
	case waits:
		return "nothing"
	case n < 3:
		x.txs[i].End()
		x.begin(i)
		x.m.end(i)
	case n == 4:
		x.marks[i], x.saved[i] = x.txs[i].Count(), map[int]txn.LockMode{}
		for row, hs := range x.m.holders {
			if hs[i] != 0 {
				x.saved[i][row] = hs[i]
			}
		}
	case n == 5 && x.saved[i] != nil:
		undone := x.txs[i].Undo(x.marks[i])
		undone.Release()
		for row, hs := range x.m.holders {
			if delete(hs, i); x.saved[i][row] != 0 {
				hs[i] = x.saved[i][row]
			}
		}
		x.m.grant()
	default:
		row, mode, noWait := rnd.Intn(modelRows), txn.LockMode(1+rnd.Intn(4)), rnd.Intn(8) == 0
		want := x.m.ask(row, lockAsk{i, mode}, noWait)
		got := x.ask(i, row, mode, noWait)
		x.m.grant()
		if got != want {
			x.t.Fatalf("%d asks for %s of %d: %s, want %s\n%s", i, mode, row, got, want, x.show())
		}
		return fmt.Sprintf("%d asks for %s of %d: %s", i, mode, row, got)
	}
	return fmt.Sprintf("%d does %d", i, n)
}
