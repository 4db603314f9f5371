package storage

import (
	"context"
	"fmt"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/pins"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/readset"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Validation (T8): a SERIALIZABLE transaction that writes is serializable at its C if nothing that
// it read has changed in (T, C]. So in every fragment that it read, no other transaction may have a
// version there, have one proposed or prepared at or below C, or get one later. The last holds
// because the low-water timestamp ≥ C, and because C ≤ the read lease in a fragment that only
// checks; a fragment that also writes has the entry itself in its log.
//
// A transaction that only read needs no validation. It saw exactly what was committed at or below
// its T (T2, T3). Every SERIALIZABLE writer takes effect at its own C, where it saw what was true,
// and T is between two of these, so the reader takes effect there. The read-only anomaly of plain
// snapshots (a reader between two writers, the second one overlooking the first) needs a writer
// whose reads are no longer true at its C, and such a writer is refused.
type validation struct {
	r     *Replica
	own   txn.ID
	spans []txn.Span // in order and apart
	from  txn.Timestamp
	check bool          // of a fragment that is not written to
	done  txn.Timestamp // nothing was written in (from, done], and nothing will be
}

// validation returns what is to be validated of t's reads here, or nil if there is nothing.
func (c *Committer) validation() *validation {
	if c.t.reads == nil || !rule.T8Validate || c.t.isByName() {
		// the reads of a prepared transaction have been validated, and nothing has changed there
		return nil
	}
	spans, T := c.t.reads.All()
	if len(spans) == 0 {
		return nil
	}
	return &validation{r: c.t.r, own: c.t.id, spans: spans, from: T, done: T}
}

// hit reports whether an entry may write to what was read. It looks at the writes in the entry
// itself; for writes that are elsewhere it assumes that they do.
func (v *validation) hit(f proposer.Proposed) bool {
	if !rule.T8Proposed {
		return false
	}
	if f.Body == nil {
		return true
	}
	e, err := logentry.Decode(f.Body)
	if err != nil {
		return true
	}
	switch e := e.(type) {
	case *logentry.Commit:
		return e.ID != v.own && (e.Parts > 0 || v.touchedByWrites(e.Writes))
	case *logentry.Prepare:
		return e.ID != v.own && (e.Parts > 0 || e.Again || v.touchedByWrites(e.Writes))
	case *logentry.ReadLease, *logentry.Watermark, *logentry.Forget, *logentry.Part:
		return false
	case *logentry.Decide, *logentry.Resolve, *logentry.BarPrepare, *logentry.Outcomes:
		return false // what decisions make visible was prepared, and is looked at by itself
	case *logentry.PrepareTransaction, *logentry.CompletePreparation, *logentry.DropPrepared:
		return false
	case *logentry.Ingest, logentry.MoveEntry:
		return false // what is ingested is not read yet
	}
	return true
}

// touchedByWrites reports whether operations write to what was read, or are malformed.
func (v *validation) touchedByWrites(writes []byte) bool {
	found := false
	err := logentry.EachOp(writes, func(op logentry.Op, key, _ []byte) error {
		found = found || writesKey(op) && readset.Contains(v.spans, key)
		return nil
	})
	return found || err != nil
}

// writesKey reports whether an operation changes its key.
func writesKey(op logentry.Op) bool { return op.Writes() }

// advance validates (done, to]. The low-water timestamp is already at or above to, so no new
// version can come there. It waits for entries on their way there that touch the spans. Such waits
// go from higher to lower timestamps, so they cannot deadlock (T3).
func (v *validation) advance(ctx context.Context, to txn.Timestamp) error {
	if to <= v.done {
		return nil
	}
	r := v.r
	over := r.proposer.Over()
	fresh, last, applied := r.proposer.ProposedSince(v.done)
	if last <= uint64(v.done) && applied <= uint64(v.done) {
		v.done = to // nothing at all was written since
		return nil
	}
	wait := uint64(0)
	for _, f := range fresh {
		if f.Stamp <= uint64(to) && v.hit(f) {
			wait = f.Stamp
		}
	}
	if err := r.proposer.Applied.Wait(ctx, over, wait); err != nil {
		return err
	}
	if rule.T8Prepared {
		if err := v.tied(to); err != nil {
			return err
		}
		if err := r.rows.waitAt(waitContext{ctx, over}, to, v.own, v); err != nil {
			return err
		}
	}
	if err := v.scan(to); err != nil {
		return err
	}
	if v.from < r.pins.Watermark() {
		return pins.TooOld(v.from) // what was deleted since may have left no trace
	}
	v.done = to
	return nil
}

// tied refuses if another transaction is prepared at exactly the time up to which a check
// validates, which is the check's C. If two transactions checked what the other writes, each would
// wait for the other (T3: such waits go from higher to lower timestamps, and a check may refuse
// instead).
func (v *validation) tied(to txn.Timestamp) error {
	r := v.r
	if !v.check || r.txns.undecided.Load() == 0 {
		return nil
	}
	p := r.txns.find(to, v.own, func(p *preparedTxn) bool { return p.C == to && !p.installing && v.touchedBy(p) })
	if p == nil {
		return nil
	}
	return pgerr.New(pgerr.SerializationFailure, readConflict).
		WithDetail("Transaction %s, which commits at the same time, writes what this one has read.", p.id).
		WithHint("The transaction might succeed if retried.")
}

// of implements place. The reads have seen, or waited for, the rows of large commits at or below
// done.
func (v *validation) of(p *preparedTxn) bool {
	return v.touchedBy(p) && (!p.installing || p.C > v.done)
}

// eachSpan implements place.
func (v *validation) eachSpan(fn func(s txn.Span) bool) {
	for _, s := range v.spans {
		if !fn(s) {
			return
		}
	}
}

func (v *validation) touchedBy(p *preparedTxn) bool {
	if p.summary != nil {
		return slices.ContainsFunc(v.spans, p.touches)
	}
	keys := p.keys()
	if len(keys) < len(v.spans) {
		return slices.ContainsFunc(keys, func(k []byte) bool { return readset.Contains(v.spans, k) })
	}
	return slices.ContainsFunc(v.spans, p.touches)
}

// scan looks for a version in (done, to] on the spans.
func (v *validation) scan(to txn.Timestamp) error {
	if !v.r.stopper.Begin() {
		return proposer.ErrNotLeader
	}
	defer v.r.stopper.End()
	t := v.r.db.At(to)
	defer t.Close()
	for _, s := range v.spans {
		if err := v.scanSpan(t, s); err != nil {
			return err
		}
	}
	return nil
}

// scanSpan has an iterator of its own, which ends with the span: Badger looks for the next version
// above done however far away it is. With one iterator over all spans, each key that was read cost
// a walk over the table.
func (v *validation) scanSpan(t engine.Snapshot, s txn.Span) error {
	if len(s.End) == 0 {
		s.End = keyspace.End
	}
	c := t.AllVersions(s, v.done)
	defer c.Close()
	if c.Valid() {
		item := c.Item()
		return v.conflict(item.KeyCopy(), item.At(), item.Deleted())
	}
	return nil
}

const readConflict = "could not serialize access due to read/write dependencies among transactions"

// conflict is the error of a version that another transaction wrote where this one has read.
func (v *validation) conflict(key []byte, version txn.Timestamp, deleted bool) error {
	c := &txn.ConflictError{Key: v.r.given(key), Version: version, T: v.from, Other: v.r.writerAt(version),
		Deleted: deleted, Read: true}
	c.Err = pgerr.New(pgerr.SerializationFailure, readConflict).WithHint("The transaction might succeed if retried.")
	what := fmt.Sprintf("An entry of index %d of table %d", keyspace.IndexOf(key), keyspace.TableOf(key))
	if keyspace.IsRow(key) {
		what = fmt.Sprintf("Row \\x%x of table %d", keyspace.PrimaryKeyOf(key), keyspace.TableOf(key))
	}
	c.Err = c.Err.WithDetail("%s", c.Detail("%s", what))
	return c
}

// offerValidated validates up to the low-water timestamp without the lock, and the few entries that
// came meanwhile under it, so that nothing slips between the validation and the stamp.
func (r *Replica) offerValidated(ctx context.Context, o offer) (p raftgroup.Proposal, stamp txn.Timestamp, err error) {
	for range maxValidations {
		lowWater := r.proposer.LowWater()
		if o.At != 0 && o.At <= lowWater {
			// to validate so far would be to wait for what is prepared above, which may wait for
			// this transaction
			return p, 0, &txn.LowError{LowWater: lowWater}
		}
		if err := o.reads.advance(ctx, lowWater); err != nil {
			return p, 0, err
		}
		own, err := o.tx.awaitIntact(ctx)
		if err != nil {
			return p, 0, err
		}
		r.proposer.Lock()
		if o.reads.current() && r.Owned.Load() == own {
			p, stamp, err = r.proposer.Stamp(o.Entry)
			r.proposer.Unlock()
			return p, stamp, err
		}
		r.proposer.Unlock()
	}
	return p, 0, pgerr.New(pgerr.SerializationFailure, readConflict).
		WithDetail("What this transaction has read is written to without pause.").
		WithHint("The transaction might succeed if retried.")
}

// current reports whether nothing was proposed above done that may touch the spans. Called with the
// proposer lock held.
func (v *validation) current() bool {
	return v.r.proposer.NoneSince(v.done, v.hit)
}

// maxValidations bounds how often a validation follows other transactions' writes to what was read.
// Each round meets a new one; the first that commits ends it.
const maxValidations = 64
