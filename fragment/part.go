package fragment

import (
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/rebalance/heat"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// Part is a transaction's part in a fragment that is led here: its write buffer, its locks and its
// reads. The gateway may be another node.
type Part struct {
	*storage.Tx
	replica *storage.Replica
	places  places
	meter   *heat.Meter
	busy    *busy
}

var _ kv.Part = (*Part)(nil)

// NewPart makes the part of a transaction over its handle.
func (s *Server) NewPart(r *storage.Replica, tx *storage.Tx) *Part {
	p := &Part{}
	s.initPart(p, r, tx)
	return p
}

// initPart is NewPart in the caller's memory.
func (s *Server) initPart(p *Part, r *storage.Replica, tx *storage.Tx) {
	p.Tx, p.replica, p.meter, p.busy = tx, r, s.cfg.Replicas.Meter(tx.Fragment()), &s.busy
}

// Part implements kv.Sender for this node: the part of a transaction whose gateway is this node.
func (s *Server) Part(f txn.FragmentID, id txn.ID, o txn.Options) (kv.Part, error) {
	r := s.cfg.Replicas.Get(f)
	if r == nil {
		return nil, NotAvailable(f)
	}
	p := s.NewPart(r, r.Tx(id))
	p.SetSession(o.Session)
	p.SetLockTimeout(o.LockTimeout)
	if o.Isolation == txn.Serializable {
		p.TrackReads()
	}
	return p, nil
}

// Replica returns the replica that the part is in.
func (p *Part) Replica() *storage.Replica { return p.replica }

// Commit commits a transaction that writes in this fragment only.
func (p *Part) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	defer p.busy.since(time.Now())
	C, err := p.Tx.Commit(ctx, req)
	return C, p.away(err)
}

// Prepare prepares here.
func (p *Part) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	defer p.busy.since(time.Now())
	return p.away(p.Tx.Prepare(ctx, req))
}

// Check implements txn.Participant.
func (p *Part) Check(ctx context.Context, C txn.Timestamp) error { return p.away(p.Tx.Check(ctx, C)) }

// PrepareTransaction is the first step of PREPARE TRANSACTION.
func (p *Part) PrepareTransaction(ctx context.Context, req storage.PreparationRequest) error {
	return p.away(p.Tx.PrepareTransaction(ctx, req))
}

// CompletePrepared is the last step of PREPARE TRANSACTION, in the coordinator fragment.
func (p *Part) CompletePrepared(context.Context) error { return p.CompletePreparation() }

// DropPrepared undoes PrepareTransaction.
func (p *Part) DropPrepared(context.Context) error { return p.replica.Outcomes.DropPrepared(p.ID()) }

// DetachPrepared leaves the prepared part to the log.
func (p *Part) DetachPrepared() { p.Detach() }

// Volatile reports whether there is something that would be lost with the leader's term.
func (p *Part) Volatile() bool { return p.Term() != 0 || p.HasReads() }

// Owned checks that the fragment still owns what the transaction has buffered, locked and read
// here; if not, it returns *txn.LostError.
func (p *Part) Owned(context.Context) error { return p.away(p.Tx.Owned()) }

// away converts a report of storage that something of a transaction has moved away from the
// fragment into the transaction's error.
func (p *Part) away(err error) error {
	if storage.RowsMoved(err) {
		return txn.NewAway(p.Fragment())
	}
	return err
}

// TaskError converts the error of a task. If buckets moved while a task was changing the write
// buffer, its part of the buffer cannot be told from the rest, so the statement starts again.
func (p *Part) TaskError(err error, changes bool) error {
	if moved := (*txn.MovedError)(nil); errors.As(err, &moved) && changes {
		return txn.NewUnder(p.Fragment())
	}
	return p.away(err)
}

// RollbackTo drops the writes and locks since m.
func (p *Part) RollbackTo(m txn.Mark) {
	p.Tx.RollbackTo(m)
	p.places.rollbackTo(m)
}

// Restart drops the writes since m and keeps the locks.
func (p *Part) Restart(m txn.Mark, forgetReads bool) {
	p.places.rollbackTo(m)
	p.Tx.Restart(m)
	if forgetReads {
		p.ForgetReads()
	}
}

// Record records and counts a write before it is buffered. It reports whether that makes the
// transaction wider: it writes here for the first time, or to another bucket.
func (p *Part) Record(key []byte) (wider bool) {
	wider = p.places.add(key, p.Tx)
	if !keyspace.IsRow(key) {
		return wider
	}
	if b := keyspace.BucketOf(key); b >= shardmap.BucketCount {
		p.meter.WriteInOrder(b, key)
	} else {
		p.meter.Write(b, key)
	}
	return wider
}

// Written reports whether the transaction writes here, and into which buckets: the first two,
// because callers only need to distinguish one from more than one.
func (p *Part) Written() (buckets []uint32, written bool) {
	x := &p.places
	x.mu.Lock()
	defer x.mu.Unlock()
	return append(buckets, x.buckets[:x.n]...), x.written
}

// Width returns how many buckets are written, at least.
func (p *Part) Width() int { return p.places.count() }

// CountRead counts a read of a row; entries of indexes do not count.
func (p *Part) CountRead(key []byte) {
	if keyspace.IsRow(key) {
		p.meter.Read(keyspace.BucketOf(key), key)
	}
}

// scannedBuckets is the largest number of buckets for which a scan is counted: a wider scan makes
// no bucket hot.
const scannedBuckets = 16

// CountScan counts the rows that a task has scanned in a few buckets, evenly for each of them.
// Reads by key were counted already.
func (p *Part) CountScan(buckets shardmap.BucketSet, rows int64) {
	n := int64(buckets.Len())
	if n == 0 || n > scannedBuckets || rows < 2*n {
		return
	}
	for _, v := range buckets.Intervals() {
		for b := v.Lo; b < v.Hi; b++ {
			p.meter.Scan(b, rows/n)
		}
	}
}
