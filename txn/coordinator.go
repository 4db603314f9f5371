package txn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn/protocol"
)

// Participant is one fragment's part of a transaction: storage.Tx here, a stub for a fragment whose
// leader is on another node.
type Participant interface {
	Fragment() FragmentID
	// HasWrites reports whether it has buffered writes. HasPins reports whether it holds locks that
	// survive a change of leader: then it is a writer too if there are other writers.
	HasWrites() bool
	HasPins() bool
	// HasReads reports whether it has reads that must be valid at C: those of a SERIALIZABLE
	// transaction (T8). Commit and Prepare validate them.
	HasReads() bool
	// LowWater returns the low-water timestamp as a hint: the fragment refuses a C at or below it.
	LowWater() Timestamp
	// Commit commits a transaction that touched this fragment alone, with one log entry. The write
	// buffer is gone afterwards. With CommitRequest.At it may return *LowError, and the caller may
	// try a larger one.
	Commit(context.Context, CommitRequest) (Timestamp, error)
	// Check validates the reads here at C, for a transaction that writes elsewhere: no other
	// transaction has written to them since they were made, and none will at or below C. It leaves
	// nothing in the log, and must hold only until the next decision.
	Check(ctx context.Context, C Timestamp) error
	// Prepare makes the writes survive any crash until the decision. For a C at or below the
	// low-water timestamp it returns *LowError; the caller may then try a larger C with the next
	// attempt number.
	Prepare(context.Context, PrepareRequest) error
	// Decide is for the coordinator fragment only: its log entry is the commit point.
	Decide(context.Context, Decision) (Outcome, error)
	// Resolve applies the decision in a prepared fragment.
	Resolve(context.Context, Decision) error
	// LogOutcome is Decide at the coordinator fragment, and Resolve elsewhere, for an implicit
	// commit. It returns at once and later calls then with the answer; then must not block.
	LogOutcome(d Decision, then func(Outcome, error))
	// Forget lets the coordinator fragment forget a commit whose writers have all applied their
	// resolution.
	Forget(context.Context, Decision)
	// Rollback drops the write buffer and its locks. It does nothing if the participant is prepared
	// or ended.
	Rollback()
}

// CommitRequest asks for a one-fragment commit above Floor, the largest timestamp that the
// transaction read at and its session has seen (T2, T6).
type CommitRequest struct {
	Floor Timestamp
	At    Timestamp // the exact timestamp at which the readers were checked; 0: the next stamp
}

// PrepareRequest names the attempt for which a fragment prepares. Coordinator is the coordinator
// fragment.
type PrepareRequest struct {
	C           Timestamp
	Coordinator FragmentID
	Attempt     int
	Writers     []FragmentID // all writers with the coordinator fragment; ascending
	Implicit    bool         // an implicit commit: the transaction is committed once all have prepared at C
}

// Decision is the outcome of transaction ID at C.
type Decision struct {
	ID      ID
	C       Timestamp
	Outcome Outcome
	Writers []FragmentID
}

// LowError refuses a C at or below a fragment's low-water timestamp.
type LowError struct{ LowWater Timestamp }

func (e *LowError) Error() string { return "C is at or below " + e.LowWater.String() }

// Coordinator commits transactions. It keeps no state of a transaction; that is in the fragments'
// logs.
type Coordinator struct {
	Clock *Clock
	// Background runs work that continues after the answer to the client, such as resolving the
	// writers. Nil starts goroutines.
	Background func(func())

	picked atomic.Uint64 // the last C
}

const (
	maxAttempts    = 20
	lead           = 200 * time.Microsecond
	maxLead        = 9 // doublings: 102 ms
	leadTicks      = 64
	maxTicks       = 14 // likewise
	resolveTimeout = 30 * time.Second
)

// Commit commits transaction id over its participants and returns its commit timestamp, above
// floor. It ends participants without writes. An error means that the transaction took no effect
// and never will, except 40003: then the outcome is in the log of a fragment that did not answer.
func (c *Coordinator) Commit(ctx context.Context, id ID, floor Timestamp, parts []Participant) (Timestamp, error) {
	writes := slices.ContainsFunc(parts, Participant.HasWrites)
	var writers, readers, others []Participant
	for _, p := range parts {
		if p.HasWrites() || writes && p.HasPins() {
			writers = append(writers, p)
			continue
		}
		others = append(others, p)
		if writes && p.HasReads() {
			readers = append(readers, p)
		}
	}
	defer Rollback(others) // their locks last until the others have committed
	switch {
	case len(writers) == 0:
		return floor, nil
	case len(writers) == 1 && len(readers) == 0:
		return writers[0].Commit(ctx, CommitRequest{Floor: floor})
	case len(writers) == 1:
		return c.commitChecked(ctx, floor, writers[0], readers)
	}
	slices.SortFunc(writers, func(a, b Participant) int { return cmp.Compare(a.Fragment(), b.Fragment()) })
	coordinator := writers[id.CoordinatorOf(len(writers))]
	if last := writers[len(writers)-1]; last.Fragment() == CatalogFragment {
		coordinator = last
	}
	return c.commitMany(ctx, many{id: id, floor: floor, coordinator: coordinator, writers: writers, readers: readers,
		implicit: len(readers) == 0 && coordinator.Fragment() != CatalogFragment})
}

// CommitPrepared commits a prepared transaction over all its participants, with its home as the
// coordinator fragment. After an error, except 40003, the transaction is still prepared.
func (c *Coordinator) CommitPrepared(
	ctx context.Context, id ID, home FragmentID, floor Timestamp, parts []Participant,
) (Timestamp, error) {
	at := slices.IndexFunc(parts, func(p Participant) bool { return p.Fragment() == home })
	switch {
	case at < 0:
		return 0, pgerr.New(pgerr.InternalError, "transaction %s is not prepared at its home fragment", id)
	case len(parts) == 1:
		return parts[0].Commit(ctx, CommitRequest{Floor: floor})
	}
	return c.commitMany(ctx, many{id: id, floor: floor, coordinator: parts[at], writers: parts})
}

// commitChecked commits a transaction that writes to one fragment and has read in others. The
// readers are checked at C first, which stays true, and the one entry at that C is the commit
// point. Nothing has to be decided, because nothing is prepared.
func (c *Coordinator) commitChecked(
	ctx context.Context, floor Timestamp, w Participant, readers []Participant,
) (Timestamp, error) {
	parts := append([]Participant{w}, readers...)
	for attempt := 1; ; attempt++ {
		C := c.pickC(floor, attempt, parts)
		if err := c.Clock.Sane(); err != nil { // checked after C was picked
			w.Rollback()
			return 0, err
		}
		c.Clock.Pick(C)
		if err := checkAll(ctx, readers, C); err != nil {
			w.Rollback()
			return 0, err
		}
		_, err := w.Commit(ctx, CommitRequest{Floor: floor, At: C})
		var low *LowError
		switch {
		case err == nil:
			c.Clock.Observe(C)
			return C, nil
		case !errors.As(err, &low):
			return 0, err
		case attempt == maxAttempts || ctx.Err() != nil:
			w.Rollback()
			return 0, errNoTime()
		}
		floor = max(floor, low.LowWater)
	}
}

func checkAll(ctx context.Context, readers []Participant, C Timestamp) error {
	_, err := inParallel(readers, func(p Participant) error { return p.Check(ctx, C) })
	return err
}

func errNoTime() error {
	return pgerr.New(
		pgerr.SerializationFailure, "could not find a commit time that all fragments accept",
	).WithHint("Try again.")
}

// Rollback rolls back all participants.
func Rollback(parts []Participant) {
	for _, p := range parts {
		p.Rollback()
	}
}

// many is a commit over several writers.
type many struct {
	id               ID
	floor            Timestamp
	coordinator      Participant
	writers, readers []Participant
	// An implicit commit: once all have prepared at one C the transaction is committed, and the
	// client is answered. Recovery can ask the writers again, but not a checked reader.
	implicit bool
	next     protocol.Coordinator // what to do after an answer
}

func (c *Coordinator) commitMany(ctx context.Context, m many) (Timestamp, error) {
	m.next = protocol.Coordinator{Rules: protocol.Build, Implicit: m.implicit, Attempts: maxAttempts}
	fragments := slices.DeleteFunc(slices.Clone(m.writers), func(p Participant) bool {
		return p.Fragment() == CatalogFragment
	})
	d := Decision{ID: m.id, Outcome: Committed, Writers: make([]FragmentID, len(fragments))}
	for i, w := range fragments {
		d.Writers[i] = w.Fragment()
	}
	if len(fragments) < len(m.writers) && m.coordinator.Fragment() != CatalogFragment {
		d.Writers = append(d.Writers, CatalogFragment) // the catalog has prepared already, and needs the resolution
	}
	if m.coordinator.Fragment() == CatalogFragment {
		// The catalog prepares before any fragment: then it may answer aborted for a transaction
		// that it does not know.
		req := PrepareRequest{Coordinator: CatalogFragment, Attempt: 1, Writers: d.Writers}
		if err := m.coordinator.Prepare(ctx, req); err != nil {
			m.next.Answered(answerOf(err))
			return c.abort(d, m, err)
		}
	}
	for attempt := 1; ; attempt++ {
		C := c.pickC(m.floor, attempt, fragments)
		if err := c.Clock.Sane(); err != nil { // checked after C was picked
			return c.giveUp(d, m, attempt, err)
		}
		c.Clock.Pick(C)
		d.C = C
		answers, err := c.prepareAll(ctx, m, fragments, PrepareRequest{
			C: C, Coordinator: m.coordinator.Fragment(), Attempt: attempt, Writers: d.Writers, Implicit: m.implicit,
		})
		if err == nil {
			c.Clock.Observe(C)
		}
		if ctx.Err() != nil {
			m.next.Attempts = 1
		}
		var low *LowError
		errors.As(err, &low)
		switch m.next.Answered(answers) {
		case protocol.Prepare:
			m.floor = max(m.floor, low.LowWater)
		case protocol.TellCommitted:
			c.logLater(d, m)
			return d.C, nil
		case protocol.ProposeCommit:
			return c.decide(ctx, d, m)
		default:
			if low != nil {
				err = errNoTime()
			}
			return c.abort(d, m, err)
		}
	}
}

// prepareAll prepares the writers, but for the catalog, and checks the readers. It returns the set
// of answers and the error that counts.
func (c *Coordinator) prepareAll(
	ctx context.Context, m many, fragments []Participant, req PrepareRequest,
) (protocol.Answers, error) {
	return inParallel(slices.Concat(fragments, m.readers), func(p Participant) error {
		if slices.Contains(m.readers, p) {
			return p.Check(ctx, req.C)
		}
		return p.Prepare(ctx, req)
	})
}

// answerOf says what the error of a prepare or a check means.
func answerOf(err error) protocol.Answers {
	var low *LowError
	var late *LateNoError
	switch {
	case err == nil:
		return protocol.OK
	case errors.As(err, &low):
		return protocol.Low
	case errors.As(err, &late):
		return protocol.LateNo
	case pgerr.Is(err, pgerr.StatementCompletionUnknown):
		return protocol.Lost
	}
	return protocol.Refused
}

// logLater records an implicit commit after the answer to the client.
func (c *Coordinator) logLater(d Decision, m many) {
	if c.Background != nil {
		c.Background(func() { c.conclude(d, m.coordinator, m.writers) })
		return
	}
	c.conclude(d, m.coordinator, m.writers)
}

// giveUp ends a commit for which no C can be picked. Before the first attempt there is nothing to
// decide.
func (c *Coordinator) giveUp(d Decision, m many, attempt int, cause error) (Timestamp, error) {
	if attempt == 1 && m.coordinator.Fragment() != CatalogFragment {
		Rollback(m.writers)
		return 0, cause
	}
	return c.abort(d, m, cause)
}

// CoordinatorOf picks one of n writers, in the order of their fragments, so that decisions are
// spread over the fragments' logs.
func (id ID) CoordinatorOf(n int) int { return int(id[0]) % n }

// pickC picks a C above all timestamps that the coordinator knows, with a lead, so that commits of
// the fragments themselves seldom overtake it. The lead grows with each attempt. If timestamps have
// run ahead of the wall clock, as for some seconds after a change of leader, they advance by ticks
// and not by time, so the lead is counted in both. The clock is not raised to C before all have
// prepared at it: that would use up the lead, because every fragment learns the clock's value.
func (c *Coordinator) pickC(floor Timestamp, attempt int, parts []Participant) Timestamp {
	C := max(c.Clock.Now(), floor+1)
	for _, p := range parts {
		C = max(C, p.LowWater()+1)
	}
	C = max(C+leadTicks<<min(attempt-1, maxTicks), FromTime(c.Clock.wall().Add(lead<<min(attempt-1, maxLead))))
	// Commits that begin in the same millisecond would be refused at fragments that they share.
	for {
		last := c.picked.Load()
		next := max(uint64(C), last+1)
		if last >= uint64(C)+tooFar {
			return C // the others do not follow a C with a long lead, from a late attempt
		}
		if c.picked.CompareAndSwap(last, next) {
			return Timestamp(next)
		}
	}
}

// tooFar is two milliseconds.
const tooFar = 2 << counterBits

// inParallel calls do with every participant, and returns the set of their answers. Of several
// errors a refusal wins over an answer that was lost, and both win over *LowError.
func inParallel(parts []Participant, do func(Participant) error) (protocol.Answers, error) {
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, p := range parts[1:] {
		wg.Go(func() { errs[i+1] = do(p) })
	}
	errs[0] = do(parts[0])
	wg.Wait()
	var all protocol.Answers
	var cause error
	for _, err := range errs {
		a := answerOf(err)
		all |= a
		if err != nil && (cause == nil || weight(a) > weight(answerOf(cause)) || lower(cause, err)) {
			cause = err
		}
	}
	return all, cause
}

func weight(a protocol.Answers) int {
	switch a {
	case protocol.Refused:
		return 2
	case protocol.Lost, protocol.LateNo:
		return 1
	}
	return 0
}

// lower reports whether both errors are *LowError, and the second asks for a larger C.
func lower(a, b error) bool {
	var x, y *LowError
	return errors.As(a, &x) && errors.As(b, &y) && x.LowWater < y.LowWater
}

// decide writes the commit point and answers; the other writers are resolved afterwards.
func (c *Coordinator) decide(ctx context.Context, d Decision, m many) (Timestamp, error) {
	got, err := m.coordinator.Decide(ctx, d)
	switch m.next.Committed(outcomeOf(got, err)) {
	case protocol.TellCommitted:
		c.background(func() { c.finish(d, m.coordinator, m.writers) })
		return d.C, nil
	case protocol.TellAborted:
		d.Outcome = Aborted
		c.background(func() { c.finish(d, m.coordinator, m.writers) })
		return 0, pgerr.New(
			pgerr.SerializationFailure, "transaction was aborted because its commit took too long",
		).WithHint("Try again.")
	}
	if err == nil {
		err = errors.New("the deciding fragment no longer knows the transaction")
	}
	return 0, Unanswered(d.ID, err)
}

// outcomeOf returns what a coordinator may conclude from the answer to a decision.
func outcomeOf(got Outcome, err error) protocol.Outcome {
	switch {
	case err != nil:
		return protocol.Unknown
	case got == Committed:
		return protocol.Committed
	case got == Aborted:
		return protocol.Aborted
	}
	return protocol.Unknown
}

// conclude records an implicit commit, which the client already knows, at the coordinator fragment,
// and then resolves the other writers. A writer that resolved earlier would look, to a recovery, as
// if it had never prepared. What fails here is left to recovery.
func (c *Coordinator) conclude(d Decision, coordinator Participant, writers []Participant) {
	if protocol.Build.MayResolve(false) {
		c.resolveOthers(d, coordinator, writers)
	}
	coordinator.LogOutcome(d, func(got Outcome, err error) {
		if err == nil && got == Committed {
			c.resolveOthers(d, coordinator, writers)
		}
	})
}

// resolveOthers resolves every writer but the coordinator fragment, and lets the coordinator
// fragment forget once all have applied it.
func (c *Coordinator) resolveOthers(d Decision, coordinator Participant, writers []Participant) {
	var left, failed atomic.Int32
	left.Store(int32(len(writers) - 1))
	for _, w := range writers {
		if w.Fragment() == coordinator.Fragment() {
			continue
		}
		w.LogOutcome(d, func(_ Outcome, err error) {
			if err != nil {
				failed.Add(1)
			}
			if left.Add(-1) == 0 && protocol.Build.MayForget(failed.Load() == 0) {
				coordinator.Forget(context.Background(), d)
			}
		})
	}
}

// abort ends a commit before the decision. The coordinator fragment must log it first: only its log may
// let a writer drop its prepare, and it may have recovered the transaction meanwhile, if all had
// prepared but did not answer.
func (c *Coordinator) abort(d Decision, m many, cause error) (Timestamp, error) {
	d.Outcome = Aborted
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	got, err := m.coordinator.Decide(ctx, d)
	decision := outcomeOf(got, err)
	switch m.next.Aborted(decision) {
	case protocol.TellCommitted:
		d.Outcome = Committed
		c.background(func() { c.finish(d, m.coordinator, m.writers) })
		return d.C, nil
	case protocol.TellUnknown:
		return 0, Unanswered(d.ID, cause)
	}
	if decision != protocol.Aborted {
		// this coordinator has not decided to commit; a reader that meets the prepared rows asks the
		// coordinator fragment (T7)
		return 0, cause
	}
	if c.finish(d, m.coordinator, m.writers); pgerr.Is(cause, pgerr.StatementCompletionUnknown) {
		cause = fmt.Errorf("%w: %w", errLeaderChanged, cause)
	}
	return 0, cause
}

var errLeaderChanged = pgerr.New(
	pgerr.SerializationFailure, "transaction was aborted because a fragment's leader changed during its commit",
).
	WithHint("Try the transaction again.")

// finish resolves every writer, and lets the coordinator fragment forget once all have applied it.
// What fails here is left to recovery.
func (c *Coordinator) finish(d Decision, coordinator Participant, writers []Participant) {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	ok := true
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, w := range writers {
		if w.Fragment() == coordinator.Fragment() {
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
	if protocol.Build.MayForget(ok) && d.Outcome == Committed {
		coordinator.Forget(ctx, d)
	}
}

func (c *Coordinator) background(f func()) {
	if c.Background != nil {
		c.Background(f)
		return
	}
	go f()
}

// Unanswered returns the error of a transaction whose commit point did not answer: 40003 with its
// id, by which the client can ask for the outcome.
func Unanswered(id ID, err error) error {
	return fmt.Errorf("%w: %w", pgerr.New(
		pgerr.StatementCompletionUnknown, "the outcome of the transaction is unknown",
	).
		WithDetail("The transaction is %s.", id).
		WithHint("SELECT sherd.txn_outcome('%s') returns it.", id), err)
}
