package storage

import (
	"bytes"
	"context"

	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// What a check of the whole fragment needs besides a View.

// Inspector lists what a replica has, and compares it with its statistics and with other replicas.
type Inspector struct{ r *Replica }

// Undecided is a prepared transaction whose outcome has not reached the fragment.
type Undecided struct {
	ID     txn.ID
	C      txn.Timestamp // its commit timestamp if it commits
	Anchor txn.FragmentID
}

// Undecided returns the transactions prepared at or below T that are still undecided, oldest first.
func (r *Outcomes) Undecided(T txn.Timestamp) []Undecided {
	return r.txns.listUndecided(T)
}

// WaitDecided waits until every transaction prepared at or below T is decided here.
func (r *Outcomes) WaitDecided(ctx context.Context, T txn.Timestamp) error {
	return r.rows.waitResolved(ctx, nil, T, txn.ID{}, func(*preparedTxn) bool { return true })
}

// BucketStats returns the counts of table (0: of all tables), in order (counts.Sums.ByTable). They
// belong to the newest entry applied, not to a snapshot.
func (i *Inspector) BucketStats(table uint32) []counts.Range { return i.r.stats.ByTable(table) }

// Dropping returns the spans whose keys are being deleted in the background.
func (i *Inspector) Dropping() ([]txn.Span, error) {
	t := i.r.db.At(txn.MaxTimestamp)
	defer t.Close()
	var out []txn.Span
	err := t.EachRecord(keyspace.Deletion, func(rest, v []byte) error {
		if len(v) == 0 {
			// it ended during the read: its record is deleted at its own version, in place
			return nil
		}
		job, err := decodeDrop(rest, v)
		if err != nil || job.left == nil {
			out = append(out, job.span)
			return err
		}
		spans, err := leftSpans(i.r.db, &job, txn.MaxTimestamp)
		for _, s := range spans {
			if !s.chunk {
				out = append(out, s.Span)
			}
		}
		return err
	})
	return out, err
}

// Census is the statistics as they were at one stamp. A view at that stamp must count the same.
type Census struct {
	At      txn.Timestamp
	r       *Replica
	stats   *counts.Sums
	pending []pendingStats
}

// pendingStats are the statistics of a transaction that was prepared at or below the census's stamp
// and not decided then. If it commits, a view at that stamp has its rows.
type pendingStats struct {
	C     txn.Timestamp
	key   []byte // a key that it writes
	stats []byte
}

// Census takes the statistics between two batches of the log.
func (i *Inspector) Census() *Census {
	m := i.r.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &Census{At: m.s.stamp, r: i.r, stats: i.r.stats.Clone()}
	c.pending = m.pendingStats(c.At)
	return c
}

// pendingStats returns the statistics of the transactions that are prepared at or below T and not
// decided.
func (m *machine) pendingStats(T txn.Timestamp) (out []pendingStats) {
	for _, o := range m.s.open {
		if o.Prepared && o.C <= T && len(o.stats) > 0 {
			out = append(out, pendingStats{o.C, m.firstRow(o), o.stats})
		}
	}
	return out
}

// firstRow returns the key of a row that o writes.
func (m *machine) firstRow(o *openTxn) (row []byte) {
	// The entries were checked when they were first applied, and the first row ends the walk.
	_ = m.pieces.each(o, txn.MaxTimestamp, func(writes []byte) error {
		return logentry.EachOp(writes, func(op logentry.Op, key, _ []byte) error {
			if !op.Writes() || !keyspace.IsRow(key) {
				return nil
			}
			row = bytes.Clone(key)
			return ErrStop
		})
	})
	return row
}

// Stats waits for the transactions that were undecided at the census and returns the counts
// including those that have committed: groups of buckets, and in addition each bucket above
// ExactBytes of a table, in groups that are counted by bucket. The versions at the census must be
// kept.
func (c *Census) Stats(ctx context.Context) ([]counts.Range, error) {
	if err := c.r.Outcomes.WaitDecided(ctx, c.At); err != nil {
		return nil, err
	}
	s := c.stats
	for _, p := range c.pending {
		if !c.r.rows.hasVersion(p.key, p.C) {
			continue
		}
		if err := s.Apply(p.stats); err != nil {
			return nil, err
		}
	}
	c.pending = nil
	return s.ByGroup(), nil
}

// hasVersion reports whether key was written or deleted exactly at that stamp.
func (r *rowReader) hasVersion(key []byte, at txn.Timestamp) bool {
	t := r.db.At(at)
	defer t.Close()
	c := t.Versions(key)
	defer c.Close()
	return c.Valid() && c.Item().At() == at
}
