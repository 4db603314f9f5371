package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/pins"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/stopper"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Mover makes the steps of moves at a fragment's leader, as source and as target.
type Mover struct {
	cfg      *Config
	db       *engine.Engine
	proposer *proposer.Proposer
	log      logWriter
	Owned    *owned.Set
	Globals  *keyspace.Globals
	pins     *pins.Set
	txns     *transactions
	machine  *machine
	rows     *rowReader
	stopper  *stopper.Stopper
	snapshot func(context.Context) (txn.Timestamp, error)
	admit    func(ctx context.Context, T txn.Timestamp) error // makes a timestamp readable here

	ingestMu sync.Mutex // held while ingested rows are counted and put into the log
	undone   undoneCopies
	swept    atomic.Uint64 // the stamp of the last Sweep entry that this process has applied
}

func newMover(r *Replica) *Mover {
	return &Mover{
		cfg: &r.cfg, db: r.db, proposer: r.proposer, log: r.log, Owned: r.Owned, Globals: r.Globals, pins: &r.pins,
		txns: &r.txns, machine: r.machine, rows: r.rows, stopper: r.stopper,
		snapshot: r.Snapshot, admit: r.proposer.Admit,
	}
}

// The steps of a move, as its driver takes them. Each may be repeated, late, or come from two
// drivers at once. A step of an older move, or out of turn, returns ErrMoveVoid and changes
// nothing; a step that was done already succeeds.

// ErrMoveVoid says that a step of a move has no effect: a later move of the ranges has begun, this
// one was undone, or an earlier step is missing.
var ErrMoveVoid = errors.New("the step of the move is void")

// ErrUndecided says that transactions which write to the ranges of a fence are prepared and still
// undecided. The fence stands: the driver has the move declared aborted, or numbered again, and
// lifts the fence.
var ErrUndecided = errors.New("transactions in the ranges are prepared and undecided")

// PreparedError says that a prepared transaction has changed or locked rows of the
// ranges to be moved.
type PreparedError struct{ GID string }

func (e *PreparedError) Error() string {
	return fmt.Sprintf("prepared transaction %q has changed or locked rows of the buckets", e.GID)
}

// Unwrap returns the error that a client would see.
func (e *PreparedError) Unwrap() error {
	return pgerr.New(pgerr.ObjectInUse, "prepared transaction \"%s\" has changed or locked rows of the buckets", e.GID).
		WithHint("Use COMMIT PREPARED or ROLLBACK PREPARED.")
}

// BeginIngest starts a new generation of the ranges at the target and returns its number. since is
// the watermark of the source, or below. What an undone move of the ranges has left is deleted.
func (r *Mover) BeginIngest(
	ctx context.Context, move uint64, ranges []BucketRange, since txn.Timestamp,
) (generation uint32, err error) {
	if err := r.checkEmpty(ctx, ranges); err != nil {
		return 0, err
	}
	globals, err := r.globals(ctx)
	if err != nil {
		return 0, err
	}
	e := logentry.BeginIngest{Step: logentry.Step{Move: move, Ranges: ranges}, Since: since, Globals: globals}
	if r.cfg.knows(clusterversion.ShortLists) { // else the next of all
		e.Generation = r.Owned.Load().OrFirst().Logged().NextGeneration(ranges)
	}
	err = r.step(&e, since)
	if err != nil {
		return 0, err
	}
	o := r.Owned.Load()
	if o == nil {
		return 0, errTermEnded
	}
	p := o.Find(ranges[0].Lo)
	if p.State != Receiving || p.Move != move {
		return 0, ErrMoveVoid // a later one has begun meanwhile
	}
	return p.Generation, nil
}

// checkEmpty makes sure that the fragment has no rows in ranges about which its log says nothing:
// for a fragment that existed from the beginning, the log does not say which buckets it began with.
func (r *Mover) checkEmpty(ctx context.Context, ranges []BucketRange) error {
	if r.proposer.Term() == 0 {
		return proposer.ErrNotLeader
	}
	o := r.Owned.Load().OrFirst()
	for _, asked := range ranges {
		for _, p := range o.Pieces(asked) {
			if p.State != Owned || p.Move != 0 {
				continue
			}
			n, _, err := r.countRows(ctx, []leftRange{{p.BucketRange, 0}}, 1)
			if err != nil {
				return err
			}
			if n > 0 {
				return pgerr.New(pgerr.InternalError, "fragment %d has rows in buckets %s, which it shall receive",
					r.cfg.Fragment, p.BucketRange)
			}
		}
	}
	return nil
}

func errRangeOrder() error {
	return pgerr.New(pgerr.InternalError, "the bucket ranges of a move are not in order")
}

// step puts a step of a move into the log. It returns ErrMoveVoid if the step has no effect.
func (r *Mover) step(e logentry.MoveEntry, above txn.Timestamp) error {
	if !logentry.RangesInOrder(e.OfMove().Ranges) {
		return errRangeOrder()
	}
	return r.runMove(e.Encode(), above)
}

// runMove puts an encoded entry of a move into the log. It returns ErrMoveVoid if it has no effect.
func (r *Mover) runMove(body []byte, above txn.Timestamp) error {
	return r.runEntry(proposer.Entry{Body: body, Above: above})
}

func (r *Mover) runEntry(e proposer.Entry) error {
	res, _, err := r.log.runEntry(e)
	r.cfg.Knobs.Fault("move.step")
	if err == nil && res == resVoid {
		err = ErrMoveVoid
	}
	return err
}

// awaitResolved waits until no prepared or installing transaction writes to ranges or locks rows
// there. It does not wait for prepared transactions.
func (r *Mover) awaitResolved(ctx context.Context, ranges []BucketRange, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		p, h, err := r.inTheWay(ranges, 0)
		switch {
		case err != nil:
			return err
		case h != nil:
			return &PreparedError{GID: h.preparation.Request.GID}
		case p == nil:
			return nil
		}
		select {
		case <-p.resolved:
		case <-timer.C:
			return ErrUndecided
		case <-ctx.Done():
			return ctx.Err()
		case <-r.stopper.Stopped():
			return proposer.ErrNotLeader
		}
	}
}

// inTheWay returns a transaction that has something in ranges: one of PREPARE TRANSACTION, or one
// that has been prepared or is being installed for at least the given time.
func (r *Mover) inTheWay(ranges []BucketRange, least time.Duration) (*preparedTxn, *preparation, error) {
	type open struct {
		p    *preparedTxn
		h    *preparation
		each func(fn func(key []byte, mode txn.LockMode) error) error
	}
	for again := 0; ; again++ {
		var all []open
		r.txns.mu.RLock()
		for _, p := range r.txns.prepared {
			if least == 0 || time.Since(p.since) >= least {
				all = append(all, open{p: p, each: p.each})
			}
		}
		for _, p := range r.txns.installing {
			if least == 0 || time.Since(p.since) >= least {
				all = append(all, open{p: p})
			}
		}
		for _, h := range r.txns.preparations {
			all = append(all, open{h: h, each: h.locked.each})
		}
		r.txns.mu.RUnlock()
		var failed error
		for _, x := range all {
			hit, err := false, error(nil)
			if x.h != nil && keyspace.SpansTouch(x.h.preparation.Reads, ranges) {
				hit = true
			} else if x.each == nil {
				hit = x.p.summary.TouchesRanges(r.Globals, ranges)
			} else {
				err = x.each(func(key []byte, _ txn.LockMode) error {
					if r.Globals.Within(key, ranges) {
						hit = true
						return ErrStop
					}
					return nil
				})
			}
			if hit {
				return x.p, x.h, nil
			}
			if err != nil {
				failed = err // its writes may have gone elsewhere, or to their rows, meanwhile
			}
		}
		if failed == nil || again == 3 {
			return nil, nil, failed
		}
	}
}

// Unfence lifts the fence of a move, and refuses one that is on its way. The catalog must have
// declared the move aborted before.
func (r *Mover) Unfence(_ context.Context, move uint64, ranges []BucketRange) error {
	return r.step(&logentry.Unfence{Step: logentry.Step{Move: move, Ranges: ranges}}, 0)
}

// Own makes the target the owner, after the bucket map has changed. The stamp of its entry is above
// F, and so above every timestamp that the source has promised for the ranges. since is the largest
// watermark that the source's reads have returned: reads below it are refused here too.
func (r *Mover) Own(_ context.Context, move uint64, ranges []BucketRange, F, since txn.Timestamp) error {
	return r.takeOver(move, ranges, F, since, !rule.MoveSeen)
}

// OwnIngested is Own for a driver that has ingested everything up to F at this leader, and has got
// its confirmation: the fragment owns the ranges from the proposal on. A leader that was replaced
// may lack the last batches, and must not serve the ranges.
func (r *Mover) OwnIngested(_ context.Context, move uint64, ranges []BucketRange, F, since txn.Timestamp) error {
	return r.takeOver(move, ranges, F, since, true)
}

func (r *Mover) takeOver(move uint64, ranges []BucketRange, F, since txn.Timestamp, atOnce bool) error {
	if err := r.cfg.Clock.Check(F); err != nil {
		return err
	}
	if !logentry.RangesInOrder(ranges) {
		return errRangeOrder()
	}
	e := logentry.Own{Step: logentry.Step{Move: move, Ranges: ranges}, Since: since}
	o := proposer.Entry{Body: e.Encode(), Above: F}
	if !rule.MoveAbove {
		o.Above = 0
	}
	of := owned.Change{Kind: e.Kind(), Move: move}
	if atOnce {
		o.Stamped = func(stamp txn.Timestamp) {
			r.Owned.AddPending(owned.Pending{Change: of, Ranges: ranges, F: F, Since: since, Edge: stamp})
		}
	}
	p, _, err := r.proposer.Propose(o)
	if err != nil {
		return err
	}
	r.cfg.Knobs.Fault("move.owning")
	res, err := await(p)
	switch {
	case err != nil && atOnce:
		return errors.Join(err, r.forgetPending(of))
	case err == nil && res == resVoid:
		return ErrMoveVoid
	}
	return err
}

// PassBy makes sure that all later entries of the log are above T, so that reads at T need not
// wait.
func (r *Mover) PassBy(T txn.Timestamp) error {
	if txn.Timestamp(r.proposer.Applied.Load()) >= T {
		return nil
	}
	if err := r.cfg.Clock.Check(T); err != nil {
		return err
	}
	_, _, err := r.log.run((&logentry.ReadLease{}).Encode(), T)
	return err
}

// MoveAway tells the source that the buckets have a new owner: write buffers and locks there end.
// Requests that wait for the ranges are sent on at once. It waits until the rows of all
// transactions are installed here, because it counts what goes.
func (r *Mover) MoveAway(ctx context.Context, move uint64, ranges []BucketRange) error {
	if !logentry.RangesInOrder(ranges) {
		return errRangeOrder()
	}
	term := r.proposer.Term()
	if term == 0 {
		return proposer.ErrNotLeader
	}
	e := &logentry.MovedAway{Step: logentry.Step{Move: move, Ranges: ranges}}
	if _, ok := r.Owned.Load().FencedBy(move, ranges); !ok {
		// It is repeated or void. If it came into the log in a later term, it could be neither, and
		// nothing would be counted.
		return r.runEntry(proposer.Entry{Body: e.Encode(), Term: term})
	}
	of := owned.Change{Kind: e.Kind(), Move: move}
	r.Owned.AddPending(owned.Pending{Change: of, Ranges: ranges})
	if err := r.countAndMoveAway(ctx, term, e); err != nil {
		return errors.Join(err, r.forgetPending(of))
	}
	return nil
}

// countAndMoveAway counts what goes, and has it gone.
func (r *Mover) countAndMoveAway(ctx context.Context, term uint64, e *logentry.MovedAway) error {
	var left []leftRange
	for _, p := range r.Owned.Load().Logged().Pieces(e.Ranges...) {
		left = append(left, leftRange{p.BucketRange, p.Generation})
	}
	_, counted, err := r.countRows(ctx, left, 0)
	if err != nil {
		return err
	}
	e.Stats = counted.Minus().Encode()
	return r.runEntry(proposer.Entry{Body: e.Encode(), Term: term})
}

// Clean makes the source delete, in the background, what it has of ranges that are gone. Snapshots
// that were taken before still find it.
func (r *Mover) Clean(ctx context.Context, move uint64, ranges []BucketRange) error {
	globals, err := r.globals(ctx)
	if err != nil {
		return err
	}
	return r.step(&logentry.Clean{Step: logentry.Step{Move: move, Ranges: ranges}, Globals: globals}, 0)
}

// Abandon makes the target drop what it has ingested of a move that the catalog has declared
// aborted, and refuses what is still on its way.
func (r *Mover) Abandon(ctx context.Context, move uint64, ranges []BucketRange) error {
	globals, err := r.globals(ctx)
	if err != nil {
		return err
	}
	return r.step(&logentry.Abandon{Step: logentry.Step{Move: move, Ranges: ranges}, Globals: globals}, 0)
}

// Watermark returns the timestamp below which reads are refused.
func (r *Replica) Watermark() txn.Timestamp { return r.pins.Watermark() }
