package owned

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

var ranges = []ownership.BucketRange{{Lo: 10, Hi: 20}}

func write(o *Buckets) (ownership.Verdict, ownership.Piece) {
	return o.About(ranges, (*ownership.Piece).Write)
}

// leading makes a Set of a fragment that leads in a term, which the caller may change.
func leading() (s *Set, term *uint64) {
	term = new(uint64)
	*term = 1
	return New(Config{Fragment: 7, Term: func() uint64 { return *term }, Stop: make(chan struct{})}), term
}

// TestFenceIsPublished: a proposed fence is seen before the log has it, and by what the log says
// afterwards.
func TestFenceIsPublished(t *testing.T) {
	s, _ := leading()
	if o, err := s.Await(t.Context(), 0, write); o != nil || err != nil {
		t.Fatalf("before anything moved: %v, %v", o, err)
	}
	of := Change{logentry.KindFence, 1}
	s.AddPending(Pending{Change: of, Ranges: ranges, F: 100})
	if got := s.Load().Find(15); got.State != ownership.Fenced || got.F != 100 {
		t.Errorf("with the proposal: %+v", got)
	}
	if _, ok := s.Load().FencedBy(1, ranges); ok {
		t.Error("a fence that is only proposed counts as applied")
	}
	if _, err := s.AwaitRead(t.Context(), 100, ranges); err != nil {
		t.Errorf("a read at F: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Await(ctx, 0, write); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write does not wait: %v", err)
	}
	var m ownership.Machine
	m.Step(s.First(), 1, 100, ranges).Fence()
	s.Publish(&m, txn.MaxTimestamp, []Change{of})
	if F, ok := s.Load().FencedBy(1, ranges); F != 100 || !ok {
		t.Errorf("the applied fence is at %d, %v", F, ok)
	}
	if f := s.Fenced(); len(f) != 1 || f[0].Move != 1 || len(f[0].Ranges) != 1 {
		t.Errorf("fenced are %+v", f)
	}
}

// TestDropPending: a new term knows nothing of proposed changes, and waits end with the change.
func TestDropPending(t *testing.T) {
	s, term := leading()
	s.AddPending(Pending{Change: Change{logentry.KindFence, 1}, Ranges: ranges, F: 100})
	done := make(chan error, 1)
	go func() {
		_, err := s.Await(context.Background(), 0, write)
		done <- err
	}()
	s.DropPending()
	if err := <-done; err != nil {
		t.Errorf("after the fence was dropped: %v", err)
	}
	s.AddPending(Pending{Change: Change{logentry.KindFence, 2}, Ranges: ranges, F: 200})
	began := make(chan struct{})
	go func() {
		_, err := s.Await(context.Background(), 0, func(o *Buckets) (ownership.Verdict, ownership.Piece) {
			select {
			case <-began:
			default:
				*term = 2
				close(began)
			}
			return ownership.Wait, ownership.Piece{}
		})
		done <- err
	}()
	<-began
	s.DropPending()
	if err := <-done; !errors.Is(err, proposer.ErrNotLeader) {
		t.Errorf("in another term: %v", err)
	}
}

// TestVoidChange: a change that the log has refused is not published any more.
func TestVoidChange(t *testing.T) {
	s, _ := leading()
	of := Change{logentry.KindFence, 1}
	s.AddPending(Pending{Change: of, Ranges: ranges, F: 100})
	s.Publish(&ownership.Machine{}, 50, nil)
	if !s.Load().Fences() || s.Keep() != 50 {
		t.Errorf("with another entry: fences %v, keep %d", s.Load().Fences(), s.Keep())
	}
	s.Publish(&ownership.Machine{}, txn.MaxTimestamp, []Change{of})
	if s.Load().Fences() {
		t.Error("the void fence is still there")
	}
}

func TestGate(t *testing.T) {
	s, _ := leading()
	open, ok := s.CloseGate(1, ranges)
	if !ok || s.Gate() == nil {
		t.Fatal("the gate is not closed")
	}
	if _, ok := s.CloseGate(2, ranges); ok {
		t.Error("two moves have closed the gate")
	}
	g := s.Gate()
	open()
	select {
	case <-g.Opened:
	default:
		t.Error("waits for the gate do not end")
	}
	if s.Gate() != nil {
		t.Error("the gate is still closed")
	}
}
