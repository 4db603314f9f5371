package storage

import (
	"cmp"
	"errors"
	"slices"

	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/install"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/pins"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/stopper"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// A reader or a locker of one row does not wait until the row's piece is installed. It reads the
// row from the piece and from the database, and takes the newer version. Nothing is written for it,
// so it waits neither for Badger's memtables nor for its level 0. The rules:
//
//   - A deletion counts as a version. A key that a later transaction has deleted is in the database
//     as a deletion, and the row in the piece is older.
//   - The reader reads the database, and then checks that the piece is still missing there. While
//     it is missing, no version above the commit's time is discarded (collector). Otherwise the
//     deletion of the row might be discarded together with the row, and the row in the piece would
//     come back. If the piece has come to the database meanwhile, the reader looks again.
//   - A write on top of such a row has a later version. If the installer writes the row after it,
//     the later version stays the newest, as at a follower that installs more slowly than its
//     leader.
//
// Rows that are stored in chunks are the exception: their pieces are installed (package install).
// Their chunks may lie in pieces before the head's piece, so a row whose head is in the database
// needs these pieces too.

// rowReader reads rows, and waits for transactions that may change them.
type rowReader struct {
	db       *engine.Engine
	txns     *transactions
	installs *install.Installer
	pins     *pins.Set
	stopper  *stopper.Stopper
}

// pendingRows returns what large commits at or below T write to key in pieces that are not in the
// database, the newest first.
func (r *rowReader) pendingRows(c waitContext, T txn.Timestamp, key []byte) (list []install.Row, err error) {
	if !rule.T3Installed || r.txns.undecided.Load() == 0 {
		return nil, nil
	}
	werr := r.waitFor(c, func() (wait <-chan struct{}) {
		list, wait, err = r.findPending(T, key)
		return wait
	})
	if err == nil {
		err = werr
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b install.Row) int { return cmp.Compare(b.Version, a.Version) })
	return list, nil
}

// findPending is pendingRows without waiting: it returns a channel if there is something to wait
// for.
func (r *rowReader) findPending(T txn.Timestamp, key []byte) (list []install.Row, wait <-chan struct{}, err error) {
	var all []*preparedTxn
	r.txns.mu.RLock()
	for _, p := range r.txns.installing {
		if p.C <= T && p.writes(key) {
			all = append(all, p)
		}
	}
	r.txns.mu.RUnlock()
	for _, p := range all {
		if p.install == nil {
			return nil, p.resolved, nil
		}
		row, err := r.installs.Find(p.install, key)
		switch {
		case errors.Is(err, engine.ErrHalted):
			return nil, p.resolved, nil
		case err != nil:
			return nil, nil, err
		case row == nil:
			if list := p.install.MissingChunks(key); len(list) > 0 {
				return nil, r.installs.Want(p.install, list, p.resolved), nil
			}
		case engine.IsHead(row.Op):
			if list := p.install.Missing(spans{keyspace.KeySpan(key)}.eachSpan); len(list) > 0 {
				return nil, r.installs.Want(p.install, list, p.resolved), nil
			}
		default:
			list = append(list, *row)
		}
	}
	return list, nil, nil
}

// overlaid calls read, which reads key in the database, with the rows that were pending before. It
// calls it again if one of them has come to the database meanwhile.
func (r *rowReader) overlaid(c waitContext, T txn.Timestamp, key []byte, read func(pending []install.Row) error) error {
	for {
		rows, err := r.pendingRows(c, T, key)
		if err == nil {
			err = read(rows)
		}
		if err != nil || !slices.ContainsFunc(rows, install.Row.Arrived) {
			return err
		}
	}
}

// rowAt reads key in the database and among the rows on their way to it.
func (r *rowReader) rowAt(
	c waitContext, t engine.Snapshot, key []byte,
) (value []byte, version txn.Timestamp, err error) {
	err = r.overlaid(c, t.T(), key, func(pending []install.Row) (err error) {
		if len(pending) == 0 {
			value, version, err = t.Get(key)
			return err
		}
		row := pending[0]
		value, version, err = r.valueSince(t, key, row.Version)
		if version < row.Version {
			value, version = nil, row.Version
			if row.Op != logentry.OpDelete {
				value = append([]byte{}, row.Value...)
			}
		}
		if value == nil {
			version = 0
		}
		return err
	})
	return value, version, err
}

// valueSince reads the newest version of key that the database has at the time of t. It omits the
// value of a version below least, because its chunks may be deleted already. A deletion has a
// version and no value.
func (r *rowReader) valueSince(
	t engine.Snapshot, key []byte, least txn.Timestamp,
) (value []byte, version txn.Timestamp, err error) {
	err = r.eachVersion(t, key, func(item engine.Item) error {
		version = item.At()
		if version >= least && !item.Deleted() {
			value, err = item.Value()
		}
		return cmp.Or(err, ErrStop)
	})
	return value, version, err
}

// eachVersion calls fn with the versions of key that the database has at the time of t, the newest
// first, until fn returns an error. ErrStop ends the walk without an error.
func (r *rowReader) eachVersion(t engine.Snapshot, key []byte, fn func(item engine.Item) error) error {
	if !r.stopper.Begin() { // an iterator needs the open database
		return proposer.ErrNotLeader
	}
	defer r.stopper.End()
	c := t.Versions(key)
	defer c.Close()
	for ; c.Valid(); c.Next() {
		if err := fn(c.Item()); err != nil {
			if err == ErrStop {
				return nil
			}
			return err
		}
	}
	return nil
}

// lastDelete returns the version at which key was deleted last, or 0 if there is no trace of it.
// Badger's Get does not return it.
func (r *rowReader) lastDelete(c waitContext, key []byte) (version txn.Timestamp, err error) {
	err = r.overlaid(c, txn.MaxTimestamp, key, func(pending []install.Row) error {
		version = 0
		if len(pending) > 0 {
			version = pending[0].Version
		}
		return r.eachVersion(r.db.Latest(), key, func(item engine.Item) error {
			version = max(version, item.At())
			return ErrStop
		})
	})
	return version, err
}

// keptKeys reports whether the row existed at T and all versions above T are updates that did not
// change its keys.
func (r *rowReader) keptKeys(c waitContext, key []byte, T txn.Timestamp) (kept bool) {
	err := r.overlaid(c, txn.MaxTimestamp, key, func(pending []install.Row) error {
		kept = true
		for _, p := range pending {
			kept = kept && (p.Version <= T || engine.IsKept(p.Op))
		}
		return r.eachVersion(r.db.Latest(), key, func(item engine.Item) error {
			if item.At() <= T {
				return ErrStop
			}
			kept = kept && !item.Deleted() && item.Kept()
			return nil
		})
	})
	return err == nil && kept && T >= r.pins.Watermark() // else there may have been others
}

// waitPrepared waits until no other transaction is prepared at or below T that writes key.
func (r *rowReader) waitPrepared(c waitContext, T txn.Timestamp, own txn.ID, key []byte) error {
	return r.waitFor(c, func() <-chan struct{} {
		if p := r.txns.findWriter(T, own, key); p != nil {
			return p.resolved
		}
		return nil
	})
}

// A scan waits for the pieces that have its rows, and not for the whole transaction: these pieces
// are installed at once. Until all pieces are in the database, only the installer uses which of
// them are.

// place is where a reader is about to look.
type place interface {
	of(p *preparedTxn) bool            // whether p may write there
	eachSpan(fn func(s txn.Span) bool) // what it covers, until fn returns false
}

// spans are some spans.
type spans []txn.Span

func (s spans) of(p *preparedTxn) bool { return slices.ContainsFunc(s, p.touches) }

func (s spans) eachSpan(fn func(s txn.Span) bool) {
	for _, span := range s {
		if !fn(span) {
			return
		}
	}
}

// waitAt is WaitResolved for a place: of a transaction that is being installed, it waits only for
// the pieces that write there.
func (r *rowReader) waitAt(ctx waitContext, T txn.Timestamp, own txn.ID, at place) error {
	return r.waitFor(ctx, func() <-chan struct{} {
		p := r.txns.find(T, own, func(p *preparedTxn) bool {
			return at.of(p) && (p.install == nil || len(p.install.Missing(at.eachSpan)) > 0)
		})
		switch {
		case p == nil:
			return nil
		case p.install == nil:
			return p.resolved
		}
		return r.installs.Want(p.install, p.install.Missing(at.eachSpan), p.resolved)
	})
}

// resolvedPart cuts a span if a scan from its beginning (reverse: from its end) would have to wait
// for more than n pieces: the scan reads the part, and then the rest if there is more. If no rows
// are on their way, the part is the whole span.
func (v *View) resolvedPart(span txn.Span, reverse bool, n int) (part, rest txn.Span, more bool) {
	if !rule.T3Installed || v.r.txns.undecided.Load() == 0 {
		return span, rest, false
	}
	var edges [][]byte // where the pieces begin or end
	v.r.txns.mu.RLock()
	for _, p := range v.r.txns.installing {
		if p.C <= v.T && p.install != nil && p.touches(span) {
			edges = p.install.Edges(edges, span, reverse)
		}
	}
	v.r.txns.mu.RUnlock()
	if len(edges) <= n {
		return span, rest, false
	}
	slices.SortFunc(edges, slices.Compare)
	if reverse {
		slices.Reverse(edges)
	}
	at := edges[n]
	part, rest = txn.Span{Start: span.Start, End: at}, txn.Span{Start: at, End: span.End}
	if reverse {
		part, rest = rest, part
	}
	return part, rest, true
}
