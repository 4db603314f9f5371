package rebalance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/fragment/sweep"
	"github.com/sherddb/sherd/rebalance/rows"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// Entries of local indexes have no bucket in their keys, so the entries that a move has left are
// not deleted with the rows. They mislead no reader, because a reader checks an entry of an earlier
// bucket generation against the row. They are removed here, a few at a time:
//
//   - entries of buckets that have come back, if the row says something else now: by a transaction
//     that locks the row and the entry, so that the deletion is newer than everything that was ever
//     true of the entry.
//   - entries of buckets that are in other fragments, whatever their rows say, once nothing reads
//     them here any more: below the watermark, so that the deletion hides nothing that a later move
//     brings (storage/sweep.go).
//   - entries that have the name of an earlier segment of a range table stay. Every fragment
//     believes that it owns an assigned bucket about which its log says nothing, so ownership does
//     not prove that the row is here; and that a segment has gone does not prove that the entry is
//     not the next one's.
//   - everything of indexes, global ones too, and of tables that no definition names any more: a
//     move may have brought it after they were dropped. Their numbers are never reused.
const (
	leftoversEvery = 5 * time.Second
	leftoversKeys  = 2048 // examined in a round
	leftoverLock   = 100 * time.Millisecond
	leftoversWait  = 2 * time.Second // for the catalog's leader to report new definitions
)

// leftovers removes them from the replicas that lead. At the end of a pass it starts again if a
// move has brought something since the pass began, or if something else has been moved away for
// long.
type leftovers struct {
	cfg *Config
	of  map[txn.FragmentID]*leftoverPass
}

func (r *Rebalancer) leftovers() *leftovers {
	return &leftovers{cfg: &r.cfg, of: map[txn.FragmentID]*leftoverPass{}}
}

// leftoverPass is the progress in one fragment.
type leftoverPass struct {
	move  uint64 // the last move that had brought something when the pass began
	gone  uint64 // the last move away whose entries were to be removed then
	at    []byte // the next key
	ended bool
}

// run examines a part of each fragment now and then, until ctx ends.
func (l *leftovers) run(ctx context.Context) {
	t := time.NewTicker(leftoversEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		for _, r := range l.cfg.Fragments.Replicas().All() {
			if _, err := l.round(ctx, r); err != nil && ctx.Err() == nil {
				l.cfg.Logger.Debug("what moves have left of indexes is not removed; trying again",
					"fragment", r.ID(), "error", err)
			}
		}
	}
}

// RemoveLeftovers removes everything that moves have left of indexes in the fragments that are led
// here.
func (r *Rebalancer) RemoveLeftovers(ctx context.Context) error {
	l := r.leftovers()
	for _, x := range r.cfg.Fragments.Replicas().All() {
		for more := true; more; {
			var err error
			if more, err = l.round(ctx, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// round examines some entries of a fragment, and reports whether there are more.
func (l *leftovers) round(ctx context.Context, r *storage.Replica) (more bool, err error) {
	move, quiet := r.Owned.LastImport()
	gone := r.Moves.LongGone()
	if r.Group.Term() == 0 || move == 0 && gone == 0 || !quiet {
		if r.Group.Term() == 0 {
			delete(l.of, r.ID())
		}
		return false, nil
	}
	p := l.of[r.ID()]
	if p == nil || p.ended && (p.move != move || p.gone != gone) {
		p = &leftoverPass{move: move, gone: gone}
		l.of[r.ID()] = p
	}
	if p.ended {
		return false, nil
	}
	list, err := r.Inspect.Indexes()
	if err != nil {
		return false, err
	}
	// The definition of anything that was stored by then was in the catalog before, or is gone from
	// it.
	if err := l.cfg.Catalog.CatchUp(ctx, leftoversWait); err != nil {
		return false, err
	}
	view := l.cfg.Catalog.View()
	budget := leftoversKeys
	for _, x := range list {
		end := txn.PrefixEnd(keyspace.IndexPrefix(x.Table, x.Index))
		if x.Index == 0 && view.TableByStorage(x.Table) != nil || p.at != nil && bytes.Compare(end, p.at) <= 0 {
			continue
		}
		if p.at, err = l.index(ctx, r, view, x, p.at, &budget); err != nil || p.at != nil {
			return err == nil, err
		}
		p.at = end
	}
	p.ended, p.at = true, nil
	return false, nil
}

// index examines an index from a key on. It returns the key to continue at, nil if the index is
// done.
func (l *leftovers) index(
	ctx context.Context, r *storage.Replica, view *catalog.View, x storage.StoredIndex, from []byte, budget *int,
) ([]byte, error) {
	def := view.TableByStorage(x.Table)
	if def == nil {
		return nil, l.deleteTable(ctx, r, view, x.Table)
	}
	rules, err := l.cfg.Schema.Index(view, def, x.Index)
	if err != nil {
		return nil, err
	}
	if rules == nil {
		return nil, l.deleteIndex(ctx, r, view, x) // or it is global, or being built
	}
	span := txn.Prefix(keyspace.IndexPrefix(x.Table, x.Index))
	if bytes.Compare(from, span.Start) > 0 {
		span.Start = from
	}
	var found [][]byte
	next, err := l.earlier(ctx, r, span, rules, budget, &found)
	if err != nil {
		return nil, err
	}
	for _, key := range found {
		if err := removeEntry(ctx, r, rules, key); err != nil {
			return nil, err
		}
	}
	if next != nil {
		span.End = next
	}
	return next, r.Moves.Sweep(ctx, span, func(value []byte) (uint32, bool) {
		bucket, _, ok := rules.Place(value)
		return bucket, ok
	})
}

// earlier collects the keys of entries of earlier generations of buckets that are owned.
func (l *leftovers) earlier(
	ctx context.Context, r *storage.Replica, span txn.Span, index rows.Index, budget *int, found *[][]byte,
) (next []byte, err error) {
	err = l.scan(ctx, r, span, func(key, value []byte) error {
		if *budget--; *budget < 0 {
			next = bytes.Clone(key)
			return storage.ErrStop
		}
		bucket, generation, ok := index.Place(value)
		if now, owned := r.Owned.Generation(bucket); ok && owned && generation < now {
			*found = append(*found, bytes.Clone(key))
		}
		return nil
	})
	return next, err
}

func (l *leftovers) scan(
	ctx context.Context, r *storage.Replica, span txn.Span, f func(key, value []byte) error,
) error {
	T, err := r.Snapshot(ctx)
	if err != nil {
		return err
	}
	v, err := r.Tx(txn.ID{}).View(ctx, T)
	if err != nil {
		return err
	}
	defer v.Close()
	if err := v.Scan(ctx, span, false, f); err != nil && !errors.Is(err, storage.ErrStop) {
		return err
	}
	return nil
}

// deleteIndex has everything deleted that is stored of an index that no definition names.
func (l *leftovers) deleteIndex(
	ctx context.Context, r *storage.Replica, view *catalog.View, x storage.StoredIndex,
) error {
	if view.KnowsIndex(x.Table, x.Index) {
		return nil
	}
	return l.delete(ctx, r, txn.Prefix(keyspace.IndexPrefix(x.Table, x.Index)),
		func(id uint64, database catalog.OID) *catalog.Job {
			return catalog.NewDropIndexJob(id, database, x.Table, x.Index, time.Now().UnixMicro())
		})
}

// deleteTable has everything deleted that is stored of a table that no definition names.
func (l *leftovers) deleteTable(ctx context.Context, r *storage.Replica, view *catalog.View, table uint32) error {
	if catalog.OID(table) < catalog.FirstOID || view.KnowsStorage(table) {
		return nil
	}
	return l.delete(ctx, r, keyspace.TableSpan(table), func(id uint64, database catalog.OID) *catalog.Job {
		return catalog.NewDropStorageJob(id, database, table, time.Now().UnixMicro())
	})
}

// delete starts a job that deletes a span, unless a job for it is running, or the span is empty.
func (l *leftovers) delete(
	ctx context.Context, r *storage.Replica, span txn.Span, job func(id uint64, database catalog.OID) *catalog.Job,
) error {
	cat := l.cfg.Catalog
	view := cat.View()
	for j := range view.Jobs() {
		if s, ok := sweep.Span(j); ok && s.Contains(span.Start) {
			return nil
		}
	}
	dropping, err := r.Inspect.Dropping()
	if err != nil || slices.ContainsFunc(dropping, func(s txn.Span) bool { return s.Contains(span.Start) }) {
		return err
	}
	database, _ := view.Fragment(uint32(r.ID()))
	if there, err := r.Inspect.Stores(span); err != nil || !there || database == nil {
		return err
	}
	id, err := cat.NewJobID(ctx)
	if err != nil {
		return err
	}
	_, err = cat.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
		return ch.PutJob(job(id, database.OID))
	})
	return err
}

// removeEntry removes an entry of an earlier generation, unless its row implies the same entry now. It
// skips a row that a transaction is working on.
func removeEntry(ctx context.Context, r *storage.Replica, index rows.Index, key []byte) error {
	ctx, cancel := context.WithTimeout(ctx, leftoverLock)
	defer cancel()
	tx := r.Tx(txn.NewID())
	defer tx.Rollback()
	err := removeIn(ctx, r, tx, index, key)
	if ctx.Err() != nil || storage.RowsMoved(err) {
		return nil // the next pass
	}
	return err
}

func removeIn(
	ctx context.Context, r *storage.Replica, tx *storage.Tx, index rows.Index, key []byte,
) error {
	value, err := tx.Newest(ctx, key)
	if err != nil || value == nil {
		return err
	}
	row, err := index.Row(key, value)
	if err != nil {
		return err
	}
	if err := cmp.Or(tx.LockNewest(ctx, row), tx.LockNewest(ctx, key)); err != nil {
		return err
	}
	again, err := tx.Newest(ctx, key)
	if err != nil || !bytes.Equal(again, value) {
		return err
	}
	bucket, generation, ok := index.Place(value)
	if now, owned := r.Owned.Generation(bucket); !ok || !owned || generation >= now {
		return nil
	}
	stored, err := tx.Newest(ctx, row)
	if err != nil {
		return err
	}
	if follows, err := index.Follows(key, row, stored); err != nil || follows {
		return err
	}
	if err := tx.Delete(key); err != nil {
		return err
	}
	_, err = tx.Commit(ctx, txn.CommitRequest{})
	return err
}
