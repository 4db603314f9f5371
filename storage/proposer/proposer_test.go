package proposer

import (
	"errors"
	"testing"
	"time"

	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// log is the queue of a log, and what is applied of it.
type log struct {
	*Proposer
	stamps []txn.Timestamp // enqueued
	until  []txn.Timestamp // to which the lease was extended
}

func newLog(at time.Time) *log {
	l := &log{}
	l.Proposer = New(Config{
		Clock: txn.NewClock(func() time.Time { return at }, 0),
		Enqueue: func(_ uint64, b []byte) raftgroup.Proposal {
			l.stamps = append(l.stamps, logentry.Stamp(b))
			return raftgroup.Proposal{}
		},
		Extend: func(until txn.Timestamp) error {
			l.until = append(l.until, until)
			l.Publish(txn.Timestamp(l.Applied.Load()), until)
			return nil
		},
		Stop: make(chan struct{}),
	})
	return l
}

func (l *log) begin(term uint64) {
	l.Lock()
	defer l.Unlock()
	l.Prepare()
	l.Begin(term)
}

func (l *log) propose(e Entry) (txn.Timestamp, error) {
	l.Lock()
	defer l.Unlock()
	e.Body = (&logentry.ReadLease{}).Encode()
	_, stamp, err := l.Stamp(e)
	return stamp, err
}

// TestStamps: stamps rise, whatever the clock says and entries ask for (T1).
func TestStamps(t *testing.T) {
	l := newLog(time.Now())
	if _, err := l.propose(Entry{}); !errors.Is(err, ErrNotLeader) {
		t.Fatalf("an entry was stamped without a leader: %v", err)
	}
	l.begin(1)
	first, err := l.propose(Entry{})
	if err != nil {
		t.Fatal(err)
	}
	above, err := l.propose(Entry{Above: first + 100})
	if err != nil || above <= first+100 {
		t.Errorf("an entry above %d got %d, %v", first+100, above, err)
	}
	at, err := l.propose(Entry{At: above + 50})
	if err != nil || at != above+50 {
		t.Errorf("an entry at %d got %d, %v", above+50, at, err)
	}
	var low *txn.LowError
	if _, err := l.propose(Entry{At: at}); !errors.As(err, &low) || low.LowWater != at {
		t.Errorf("an entry at a stamp that is taken: %v", err)
	}
	if _, err := l.propose(Entry{Term: 2}); !errors.Is(err, ErrTermOver) {
		t.Errorf("an entry of another term: %v", err)
	}
	var seen txn.Timestamp
	last, err := l.propose(Entry{Stamped: func(s txn.Timestamp) { seen = s }})
	if err != nil || seen != last || len(l.stamps) != 4 {
		t.Errorf("stamped was called with %d for %d, enqueued are %d, %v", seen, last, l.stamps, err)
	}
	for i := 1; i < len(l.stamps); i++ {
		if l.stamps[i] <= l.stamps[i-1] {
			t.Errorf("stamps do not rise: %d", l.stamps)
		}
	}
}

// TestLease: a read above what is applied extends the lease once, and the next term begins above it
// (T2, T4).
func TestLease(t *testing.T) {
	now := time.Now()
	l := newLog(now)
	l.begin(1)
	T := txn.FromTime(now)
	for range 2 {
		if err := l.Admit(t.Context(), T); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.until) != 1 || l.until[0] < T.Add(leaseStep) {
		t.Errorf("the lease was extended to %d for reads at %d", l.until, T)
	}
	if stamp, err := l.propose(Entry{}); err != nil || stamp <= T {
		t.Errorf("after a read at %d an entry got %d, %v", T, stamp, err)
	}
	over := l.Over()
	l.begin(2)
	select {
	case <-over:
	default:
		t.Error("the first term is not over")
	}
	if low := l.LowWater(); low < l.until[0] {
		t.Errorf("the next term begins at %d, below the lease %d", low, l.until[0])
	}
	l.Lock()
	l.End()
	l.Unlock()
	if err := l.Admit(t.Context(), T.Add(time.Second)); !errors.Is(err, ErrNotLeader) {
		t.Errorf("a read without a leader: %v", err)
	}
}

// TestProposedSince: what is on its way is known, and what is not kept is not taken for nothing.
func TestProposedSince(t *testing.T) {
	l := newLog(time.Now())
	l.begin(1)
	stamp, err := l.propose(Entry{})
	if err != nil {
		t.Fatal(err)
	}
	list, last, applied := l.ProposedSince(0)
	if len(list) != 1 || txn.Timestamp(last) != stamp || applied != 0 {
		t.Errorf("%d entries are on their way, the last at %d, applied %d", len(list), last, applied)
	}
	hit := func(Proposed) bool { return true }
	l.Lock()
	if l.NoneSince(stamp-1, hit) || !l.NoneSince(stamp, hit) {
		t.Error("NoneSince does not see the entry, or sees another one")
	}
	l.Unlock()
	l.Publish(stamp, 0)
	for range 2 * keptEntries {
		if stamp, err = l.propose(Entry{}); err != nil {
			t.Fatal(err)
		}
		l.Publish(stamp, 0)
	}
	l.Lock()
	defer l.Unlock()
	if l.NoneSince(0, func(Proposed) bool { return false }) {
		t.Error("entries that were dropped count as none")
	}
}

// TestLearned: a closed timestamp can be read once all that was proposed before it is applied (T9).
func TestLearned(t *testing.T) {
	var l Learned
	if got := l.UpTo(5); got != 5 {
		t.Errorf("what is applied is closed: %d", got)
	}
	l.Learn(Closed{T: 20, Last: 10}, 5)
	if got := l.UpTo(9); got != 9 || !l.Closing(20, 9) || l.Closing(21, 9) {
		t.Errorf("before 10 is applied it can be read up to %d", got)
	}
	if got := l.UpTo(10); got != 20 || l.Closing(20, 10) {
		t.Errorf("after 10 is applied it can be read up to %d", got)
	}
	l.Learn(Closed{T: 15, Last: 10}, 10) // late
	if got := l.UpTo(10); got != 20 {
		t.Errorf("a late report lowers it to %d", got)
	}
}

// TestClose: nothing is stamped at or below a closed timestamp.
func TestClose(t *testing.T) {
	now := time.Now()
	l := newLog(now)
	l.begin(1)
	c, err := l.Close(t.Context(), txn.FromTime(now))
	if err != nil {
		t.Fatal(err)
	}
	if stamp, err := l.propose(Entry{}); err != nil || stamp <= c.T {
		t.Errorf("after %d was closed an entry got %d, %v", c.T, stamp, err)
	}
}
