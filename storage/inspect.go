package storage

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// What a check of the whole fragment needs besides a View.

// Inspector lists what a replica has, and compares it with its statistics and with other replicas.
type Inspector struct{ r *Replica }

// Undecided is a prepared transaction whose outcome has not reached the fragment.
type Undecided struct {
	ID          txn.ID
	C           txn.Timestamp // its commit timestamp if it commits
	Coordinator txn.FragmentID
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

// TableTotal returns the documents of a table and their bytes, as the sum of BucketStats.
func (i *Inspector) TableTotal(table uint32) (docs, bytes int64) { return i.r.stats.Total(table) }

// Totals returns TableTotal of a table (0: of all tables), and how many of their rows transactions have
// written since this replica leads, in a term.
func (i *Inspector) Totals(table uint32) (totals []counts.Range, term uint64, written map[uint32]int64) {
	term = i.r.proposer.Term()
	return i.r.stats.Totals(table), term, i.r.live.written.In(term, table)
}

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

// StoredIndex names an index, or the rows (0), of a table, by storage ids.
type StoredIndex struct{ Table, Index uint32 }

// Indexes returns, in order, the indexes that have keys here, including deleted ones.
func (i *Inspector) Indexes() (out []StoredIndex, err error) {
	if !i.r.stopper.Begin() {
		return nil, proposer.ErrNotLeader
	}
	defer i.r.stopper.End()
	t := i.r.db.At(txn.MaxTimestamp)
	defer t.Close()
	err = t.EachIndex(func(x logentry.Index) error {
		out = append(out, StoredIndex{x.Table, x.Index})
		return nil
	})
	return out, err
}

// Stores reports whether the span has a key that is not deleted, even if its bucket is elsewhere.
func (i *Inspector) Stores(span txn.Span) (bool, error) {
	if !i.r.stopper.Begin() {
		return false, proposer.ErrNotLeader
	}
	defer i.r.stopper.End()
	t := i.r.db.At(txn.MaxTimestamp)
	defer t.Close()
	c := t.Scan(span, false)
	defer c.Close()
	return c.Valid(), nil
}

// LockInfo is a row lock that is held or waited for.
type LockInfo = locktable.Info

// TxInfo is a transaction as it stands in one fragment.
type TxInfo struct {
	Fragment    FragmentID
	Owner       txn.LockOwner
	Phase       string // "open", "committing" or "prepared"
	Writes      int    // buffered operations: rows and index entries
	Bytes       int64  // of the write buffer
	Locks       int
	Since       time.Time     // it was here first; after a restart, since when this process knows it
	C           txn.Timestamp // prepared: at which it commits, if it does
	Coordinator FragmentID    // prepared: where that is decided
	Adopted     bool          // prepared in an earlier term: known from the log alone
}

// Locks returns the row locks, including waits, up to a limit, and their total number. Locks in the
// compact set of a large transaction are counted but not listed, because their keys are not known.
// The result is no snapshot: the table may change during the walk.
func (i *Inspector) Locks(limit int) (out []LockInfo, total int) {
	out, total = i.r.locks.List(limit)
	waits := i.r.guards.Waits()
	out, total = append(out, waits...), total+len(waits)
	out = out[:min(limit, len(out))]
	slices.SortStableFunc(out, func(a, b LockInfo) int { return slices.Compare(a.Key, b.Key) })
	return out, total
}

// Transactions returns the transactions that hold locks or have buffered something here, up to a
// limit, oldest first, and their total number.
func (i *Inspector) Transactions(limit int) (out []TxInfo, total int) {
	i.r.live.mu.Lock()
	total = len(i.r.live.txs)
	txs := make([]*Tx, 0, min(limit, total))
	for _, t := range i.r.live.txs {
		if len(txs) == limit {
			break
		}
		txs = append(txs, t)
	}
	i.r.live.mu.Unlock()
	for _, t := range txs {
		if x, ok := t.info(); ok {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b TxInfo) int {
		return cmp.Or(a.Since.Compare(b.Since), slices.Compare(a.Owner.ID[:], b.Owner.ID[:]))
	})
	return out, total
}

func (t *Tx) info() (TxInfo, bool) {
	t.mu.Lock()
	x := TxInfo{
		Fragment: t.r.cfg.Fragment, Owner: t.locks.LockOwner(), Writes: t.buffer.Count(), Bytes: int64(t.buffer.Mark()),
		Locks: t.locks.Count(), Since: t.since,
		Adopted: t.adopted.Load(),
	}
	phase := t.phase
	t.mu.Unlock()
	x.Phase = [...]string{phaseOpen: "open", phaseBusy: "committing", phasePrepared: "prepared", phaseDone: ""}[phase]
	t.r.txns.mu.RLock()
	if p := t.r.txns.prepared[t.id]; p != nil {
		x.Phase, x.C, x.Coordinator = "prepared", p.C, p.coordinator
	}
	t.r.txns.mu.RUnlock()
	return x, phase != phaseDone
}
