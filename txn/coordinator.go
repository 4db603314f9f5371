package txn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Participant is one fragment's part of a transaction: storage.Tx here, a stub for a fragment led by another node.
type Participant interface {
	Fragment() FragmentID
	// HasWrites tells whether anything is staged. HasPins tells whether it holds locks that others must respect even after a change of leader:
	// then it is a writer beside other writers.
	HasWrites() bool
	HasPins() bool
	// Promised is a hint: the fragment will refuse a C at or below it.
	Promised() Timestamp
	// Commit commits a transaction that touched this fragment alone, with one log entry. The stage is gone afterwards.
	Commit(context.Context, CommitRequest) (Timestamp, error)
	// Prepare makes the stage survive any crash until the anchor's decision. A C the fragment can no longer promise is
	// refused with *LowError, and may be tried again with a larger one and the next attempt number.
	Prepare(context.Context, PrepareRequest) error
	// Decide is for the anchor alone: its log entry is the commit point.
	Decide(context.Context, Decision) (Outcome, error)
	// Resolve tells a prepared fragment the anchor's decision.
	Resolve(context.Context, Decision) error
	// Forget lets the anchor forget a commit whose writers have all applied their resolution.
	Forget(context.Context, Decision)
	// Rollback drops the stage and its locks; nothing if it is prepared or gone.
	Rollback()
}

// CommitRequest asks for a one-fragment commit above Floor, the largest timestamp the transaction read at and its session
// has seen (T2, T6).
type CommitRequest struct{ Floor Timestamp }

// PrepareRequest names the attempt at which a fragment prepares.
type PrepareRequest struct {
	C       Timestamp
	Anchor  FragmentID
	Attempt int
	Writers []FragmentID // all of them, the anchor included; ascending
}

// Decision is the outcome of transaction ID at C.
type Decision struct {
	ID      ID
	C       Timestamp
	Outcome Outcome
	Writers []FragmentID
}

// LowError refuses a C at or below what a fragment has promised.
type LowError struct{ Promised Timestamp }

func (e *LowError) Error() string { return "C is at or below " + e.Promised.String() }

// Coordinator commits transactions. It holds no state of its own; what matters is in the fragments' logs.
type Coordinator struct {
	Clock *Clock
	// Background runs work that outlives the answer to the client (resolving the writers). Nil starts goroutines.
	Background func(func())
}

const (
	maxAttempts    = 12
	lead           = 200 * time.Microsecond
	resolveTimeout = 30 * time.Second
)

// Commit commits transaction id over its participants and returns its commit timestamp, above floor. Participants without
// writes are let go. An error means that the transaction took no effect and never will, except 40003: then the outcome is
// in the log of a fragment that did not answer.
func (c *Coordinator) Commit(ctx context.Context, id ID, floor Timestamp, parts []Participant) (Timestamp, error) {
	writes := slices.ContainsFunc(parts, Participant.HasWrites)
	var writers, others []Participant
	for _, p := range parts {
		if p.HasWrites() || writes && p.HasPins() {
			writers = append(writers, p)
		} else {
			others = append(others, p)
		}
	}
	defer Rollback(others) // their locks last until the others have committed
	switch len(writers) {
	case 0:
		return floor, nil
	case 1:
		return writers[0].Commit(ctx, CommitRequest{Floor: floor})
	}
	slices.SortFunc(writers, func(a, b Participant) int { return cmp.Compare(a.Fragment(), b.Fragment()) })
	return c.commitMany(ctx, id, floor, writers)
}

// Rollback drops what the participants hold.
func Rollback(parts []Participant) {
	for _, p := range parts {
		p.Rollback()
	}
}

func (c *Coordinator) commitMany(ctx context.Context, id ID, floor Timestamp, writers []Participant) (Timestamp, error) {
	anchor, fragments := writers[id.anchor(len(writers))], writers
	if last := len(writers) - 1; writers[last].Fragment() == CatalogFragment {
		anchor, fragments = writers[last], writers[:last]
	}
	d := Decision{ID: id, Outcome: Committed, Writers: make([]FragmentID, len(fragments))}
	for i, w := range fragments {
		d.Writers[i] = w.Fragment()
	}
	if anchor.Fragment() == CatalogFragment {
		// Before any fragment: so the catalog may answer aborted for a transaction that it does not know.
		if err := anchor.Prepare(ctx, PrepareRequest{Anchor: CatalogFragment, Attempt: 1, Writers: d.Writers}); err != nil {
			return 0, c.abort(d, anchor, writers, err)
		}
	}
	for attempt := 1; ; attempt++ {
		d.C = c.pickC(floor, writers)
		err := prepareAll(ctx, fragments, PrepareRequest{C: d.C, Anchor: anchor.Fragment(), Attempt: attempt, Writers: d.Writers})
		var low *LowError
		if err == nil {
			break
		}
		if errors.As(err, &low) && attempt < maxAttempts && ctx.Err() == nil {
			floor = max(floor, low.Promised)
			continue
		}
		if low != nil {
			err = pgerr.New(pgerr.SerializationFailure, "could not find a commit time that all fragments accept").WithHint("Try again.")
		}
		return 0, c.abort(d, anchor, writers, err)
	}
	return c.decide(ctx, d, anchor, writers)
}

// anchor spreads the anchors over the writers, so that no fragment's log takes all decisions.
func (id ID) anchor(n int) int { return int(id[0]) % n }

// pickC picks a C above all the coordinator has heard of, a little ahead of the wall clock so that commits of the fragments
// themselves seldom overtake it.
func (c *Coordinator) pickC(floor Timestamp, writers []Participant) Timestamp {
	C := max(c.Clock.Now(), floor+1, FromTime(c.Clock.wall().Add(lead)))
	for _, w := range writers {
		C = max(C, w.Promised()+1)
	}
	c.Clock.Observe(C)
	return C
}

// prepareAll prepares every writer in parallel. Of several errors a definite one wins over *LowError.
func prepareAll(ctx context.Context, writers []Participant, req PrepareRequest) error {
	errs := make([]error, len(writers))
	var wg sync.WaitGroup
	for i, w := range writers[1:] {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i+1] = w.Prepare(ctx, req)
		}()
	}
	errs[0] = writers[0].Prepare(ctx, req)
	wg.Wait()
	var low *LowError
	for _, err := range errs {
		var l *LowError
		switch {
		case err == nil:
		case !errors.As(err, &l):
			return err
		case low == nil || l.Promised > low.Promised:
			low = l
		}
	}
	if low != nil {
		return low
	}
	return nil
}

// decide writes the commit point and answers; the others are told afterwards.
func (c *Coordinator) decide(ctx context.Context, d Decision, anchor Participant, writers []Participant) (Timestamp, error) {
	got, err := anchor.Decide(ctx, d)
	switch {
	case err != nil:
		return 0, unknown(err)
	case got == Committed:
		c.background(func() { c.finish(d, anchor, writers) })
		return d.C, nil
	case got == Aborted: // somebody found it undecided too long
		d.Outcome = Aborted
		c.background(func() { c.finish(d, anchor, writers) })
		return 0, pgerr.New(pgerr.SerializationFailure, "transaction was aborted because its commit took too long").WithHint("Try again.")
	}
	return 0, unknown(fmt.Errorf("the deciding fragment no longer knows the transaction"))
}

// abort gives up before the decision. The anchor must say so first: only its log may tell a writer to drop what it prepared.
func (c *Coordinator) abort(d Decision, anchor Participant, writers []Participant, cause error) error {
	d.Outcome = Aborted
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	got, err := anchor.Decide(ctx, d)
	if err != nil || got == Committed {
		return cause // nothing was decided to commit by us; whoever meets the prepared rows asks the anchor (T7)
	}
	c.finish(d, anchor, writers)
	return cause
}

// finish tells every writer, and lets the anchor forget once all have applied it. What fails here is left to recovery.
func (c *Coordinator) finish(d Decision, anchor Participant, writers []Participant) {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	ok := true
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, w := range writers {
		if w.Fragment() == anchor.Fragment() {
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := w.Resolve(ctx, d); err != nil {
				mu.Lock()
				ok = false
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	if ok && d.Outcome == Committed {
		anchor.Forget(ctx, d)
	}
}

func (c *Coordinator) background(f func()) {
	if c.Background != nil {
		c.Background(f)
		return
	}
	go f()
}

// unknown marks the error of an unanswered decision.
func unknown(err error) error {
	if pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w", pgerr.New(pgerr.StatementCompletionUnknown, "the outcome of the transaction is unknown").
		WithHint("Ask sherd.txn_outcome for it, or look at the data."), err)
}
