package fragment

import (
	"context"
	"errors"
	"time"

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
	places places
	meter  *heat.Meter
	busy   *busy
}

// NewPart makes the part of a transaction over its handle.
func (s *Server) NewPart(tx *storage.Tx) *Part {
	p := &Part{}
	s.InitPart(p, tx)
	return p
}

// InitPart is NewPart in the caller's memory.
func (s *Server) InitPart(p *Part, tx *storage.Tx) {
	p.Tx, p.meter, p.busy = tx, s.Meter(tx.Fragment()), &s.busy
}

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

// Hold is the first step of PREPARE TRANSACTION.
func (p *Part) Hold(ctx context.Context, req storage.HoldRequest) error {
	return p.away(p.Tx.Hold(ctx, req))
}

// Owned checks that the fragment still owns what the transaction has buffered, locked and read
// here; if not, it returns *txn.LostError.
func (p *Part) Owned() error { return p.away(p.Tx.Owned()) }

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
func (p *Part) Restart(m txn.Mark) {
	p.places.rollbackTo(m)
	p.Tx.Restart(m)
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
