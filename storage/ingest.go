package storage

import (
	"bytes"
	"context"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/writebuf"
	"github.com/sherddb/sherd/txn"
)

// Ingest writes versions into ranges that are being received: rows, entries of global indexes, and
// the entries of local indexes that the caller has derived. Any order will do, and each version may
// come several times.
func (r *Mover) Ingest(ctx context.Context, move uint64, batch []Version) error {
	r.ingestMu.Lock()
	defer r.ingestMu.Unlock()
	for len(batch) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.db.Room(false); err != nil {
			return err
		}
		n, err := r.ingestSome(move, batch)
		if err != nil {
			return err
		}
		batch = batch[n:]
	}
	return nil
}

// receiptOf returns a copy of the receipt of a move.
func (m *machine) receiptOf(move uint64) (receipt, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.s.own.receipt(move)
	if x == nil {
		return receipt{}, false
	}
	return *x, true
}

// ingestSome puts the first versions of a batch into the log, as many as fit into one entry, and
// returns their number. Chunks of a large row go with the row.
func (r *Mover) ingestSome(move uint64, batch []Version) (int, error) {
	for range maxIngestTries {
		if r.proposer.Term() == 0 {
			return 0, proposer.ErrNotLeader
		}
		got, ok := r.machine.receiptOf(move)
		if !ok {
			return 0, ErrMoveVoid
		}
		c := ingestion{r: r, move: move, got: got, own: r.Owned.Load().OrFirst()}
		n, err := c.pack(batch)
		if err != nil {
			return 0, err
		}
		if err := r.cfg.Clock.Check(c.newest); err != nil {
			return 0, err
		}
		if err := c.send(); err != ErrMoveVoid {
			return n, err
		}
		// Another driver's came between: what was counted is looked at again.
	}
	return 0, ErrMoveVoid
}

const maxIngestTries = 64

// ingestion makes the entry of some versions.
type ingestion struct {
	r       *Mover
	move    uint64
	got     receipt
	own     *owned.Buckets
	pieces  [][]byte
	bytes   int
	counted counts.Deltas
	deletes bool
	newest  txn.Timestamp
	row     []byte // the last that was counted
}

// send puts what was packed into the log.
func (c *ingestion) send() error {
	for _, e := range c.entries() {
		if err := c.r.runMove(e.Encode(), c.newest); err != nil {
			return err
		}
	}
	return nil
}

// entries returns what was packed. Only a version that is large by itself takes several entries;
// the last one has the statistics.
func (c *ingestion) entries() (out []*logentry.Ingest) {
	for i, piece := range c.pieces {
		e := &logentry.Ingest{Move: c.move, Before: c.got.entries + uint64(i), Deletes: c.deletes, Writes: piece}
		if i == len(c.pieces)-1 {
			e.Stats = c.counted.Encode()
		}
		out = append(out, e)
	}
	return out
}

func (c *ingestion) pack(batch []Version) (n int, err error) {
	for n < len(batch) && (n == 0 || c.bytes+len(batch[n].Value) < partBody) {
		x := &batch[n]
		if n == 0 || string(x.Key) != string(batch[n-1].Key) {
			if keyspace.IsRow(x.Key) {
				if n > 0 && bytes.Compare(x.Key, c.row) <= 0 {
					break // it may be here already, and is counted when that is in view
				}
				c.row = x.Key
			}
			if err := keyspace.Check(x.Key); err != nil {
				return 0, err
			}
		}
		key, err := c.place(x.Key)
		if err != nil {
			return 0, err
		}
		c.add(key, x)
		n++
		if last := n == len(batch) || string(batch[n].Key) != string(x.Key); keyspace.IsRow(x.Key) &&
			(last || c.bytes+len(batch[n].Value) >= partBody) {
			if err := c.count(key, x); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// place returns the stored form of a key, which must belong to what is being received.
func (c *ingestion) place(key []byte) ([]byte, error) {
	b, ok := c.r.Globals.Bucket(key)
	if !ok {
		return key, nil
	}
	p := c.own.Find(b)
	if p.State != Receiving || p.Move != c.move {
		if p.Move >= c.move { // or it is owned already
			return nil, ErrMoveVoid
		}
		return nil, pgerr.New(pgerr.InternalError, "bucket %d is not one that move %d brings here", b, c.move)
	}
	return keyspace.Stored(key, p.Generation), nil
}

func (c *ingestion) add(key []byte, x *Version) {
	c.newest = max(c.newest, x.At)
	c.deletes = c.deletes || x.Deleted
	old := -1
	if keyspace.IsRow(key) && x.Before != nil {
		old = len(x.Before)
	}
	op := writebuf.Op{Key: key, Value: x.Value, Delete: x.Deleted, Kept: x.Kept}
	encodeOp(&op, old, func(op logentry.Op, key, value []byte) {
		last := len(c.pieces) - 1
		if last < 0 || len(c.pieces[last]) > 0 && len(c.pieces[last])+len(value) > logentry.MaxBody {
			c.pieces = append(c.pieces, nil)
			last++
		}
		before := len(c.pieces[last])
		c.pieces[last] = logentry.AppendIngested(c.pieces[last], x.At, op, key, value)
		c.bytes += len(c.pieces[last]) - before
	})
}

// count counts a row by its newest version, x if there is none here that is newer.
func (c *ingestion) count(key []byte, x *Version) error {
	value, version, err := c.r.db.Latest().Get(key)
	if err == nil && value == nil && c.got.deletes {
		version, err = c.r.rows.lastDelete(waitContext{ctx: context.Background()}, key)
	}
	if err != nil || version >= x.At {
		return err
	}
	docs, size := 0, 0
	if value != nil {
		docs, size = -1, -len(key)-len(value)
	}
	if !x.Deleted {
		docs, size = docs+1, size+len(key)+len(x.Value)
	}
	if docs != 0 || size != 0 {
		c.counted.Add(key, docs, size)
	}
	return nil
}

// Ingesting reports whether a move is copying ranges to this leader, which then has everything that
// was copied so far.
func (r *Mover) Ingesting(move uint64, ranges []BucketRange) bool {
	o := r.Owned.Load()
	if o == nil || r.proposer.Term() == 0 {
		return false
	}
	return !slices.ContainsFunc(o.Logged().Pieces(ranges...), func(p ownership.Piece) bool {
		return p.State != Receiving || p.Move != move
	})
}
