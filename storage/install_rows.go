package storage

import (
	"cmp"
	"errors"
	"slices"

	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/keysummary"
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
// Rows that are stored in chunks are the exception: their pieces are installed (install_wanted.go).
// Their chunks may lie in pieces before the head's piece, so a row whose head is in the database
// needs these pieces too.

// rowReader reads rows, and waits for transactions that may change them.
type rowReader struct {
	db       *engine.Engine
	txns     *transactions
	installs *installer
	pins     *pins.Set
	stopper  *stopper.Stopper
}

// pendingRow is what a large commit writes to a key, read from a piece that was not in the
// database.
type pendingRow struct {
	op      logentry.Op
	value   []byte
	version txn.Timestamp
	x       *install
	n       int // the piece
}

// arrived reports whether the row's piece is in the database.
func (p pendingRow) arrived() bool { return p.x.pieces.isIn(p.n) }

// holding returns the pieces of x that may have key's row and are not in the database.
func (x *install) holding(key []byte) (list []int) {
	x.pieces.mu.Lock()
	defer x.pieces.mu.Unlock()
	if x.pieces.left == 0 {
		return nil
	}
	x.o.keys.EachPiece(keyspace.KeySpan(key), func(n int, _ *keysummary.Piece) bool {
		if !x.pieces.in[n] {
			list = append(list, n)
		}
		return true
	})
	return list
}

// missingChunks returns the pieces of x that may have chunks of key's row and are not in the
// database, if the head of the row may be there.
func (x *install) missingChunks(key []byte) (list []int) {
	x.pieces.mu.Lock()
	defer x.pieces.mu.Unlock()
	x.o.keys.EachPiece(keyspace.KeySpan(key), func(n int, p *keysummary.Piece) bool {
		for i := p.First; i < n; i++ {
			if x.pieces.in[n] && !x.pieces.in[i] {
				list = append(list, i)
			}
		}
		return true
	})
	return list
}

// pendingRows returns what large commits at or below T write to key in pieces that are not in the
// database, the newest first.
func (r *rowReader) pendingRows(c waitContext, T txn.Timestamp, key []byte) (list []pendingRow, err error) {
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
	slices.SortFunc(list, func(a, b pendingRow) int { return cmp.Compare(b.version, a.version) })
	return list, nil
}

// findPending is pendingRows without waiting: it returns a channel if there is something to wait
// for.
func (r *rowReader) findPending(T txn.Timestamp, key []byte) (list []pendingRow, wait <-chan struct{}, err error) {
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
			return nil, p.settled, nil
		}
		row, err := r.installs.find(p.install, key)
		switch {
		case errors.Is(err, engine.ErrHalted):
			return nil, p.settled, nil
		case err != nil:
			return nil, nil, err
		case row == nil:
			if list := p.install.missingChunks(key); len(list) > 0 {
				return nil, r.installs.want(p, list), nil
			}
		case engine.IsHead(row.op):
			if list := p.install.missing(spanPlace(keyspace.KeySpan(key))); len(list) > 0 {
				return nil, r.installs.want(p, list), nil
			}
		default:
			list = append(list, *row)
		}
	}
	return list, nil, nil
}

// find returns what x writes to key, or nil if that is in the database or x does not write to it.
// It returns engine.ErrHalted if x has been abandoned.
func (i *installer) find(x *install, key []byte) (*pendingRow, error) {
	for _, n := range x.holding(key) {
		writes, err := i.readPiece(x, n)
		if err != nil && x.pieces.isIn(n) { // the log need not have the piece any more
			continue
		}
		if err != nil {
			return nil, err
		}
		op, value, ok, err := findOp(writes, key)
		if ok || err != nil {
			return &pendingRow{op, value, x.version, x, n}, err
		}
	}
	return nil, nil
}

// readPiece returns the operations of piece n of x.
func (i *installer) readPiece(x *install, n int) ([]byte, error) {
	cache := &i.r.cfg.Pace.pieces
	if b := cache.get(x, n); b != nil {
		return b, nil
	}
	if !i.r.stopper.Begin() { // the log stays open
		return nil, proposer.ErrNotLeader
	}
	defer i.r.stopper.End()
	b, err := i.r.machine.pieces.piece(x.o, n, x.before)
	if err != nil && x.pieces.over() {
		return nil, engine.ErrHalted
	}
	if err != nil {
		return nil, err
	}
	if cache.put(x, n, b); x.pieces.over() {
		cache.forget(x)
	}
	return b, nil
}

var errFound = errors.New("storage: found")

// findOp returns the operation that writes key.
func findOp(writes, key []byte) (op logentry.Op, value []byte, ok bool, err error) {
	err = logentry.EachOp(writes, func(o logentry.Op, k, v []byte) error {
		if string(k) != string(key) || !o.Writes() {
			return nil
		}
		op, value = o, v
		return errFound
	})
	if err == errFound {
		return op, value, true, nil
	}
	return 0, nil, false, err
}

// overlaid calls read, which reads key in the database, with the rows that were pending before. It
// calls it again if one of them has come to the database meanwhile.
func (r *rowReader) overlaid(c waitContext, T txn.Timestamp, key []byte, read func(pending []pendingRow) error) error {
	for {
		rows, err := r.pendingRows(c, T, key)
		if err == nil {
			err = read(rows)
		}
		if err != nil || !slices.ContainsFunc(rows, pendingRow.arrived) {
			return err
		}
	}
}

// rowAt reads key in the database and among the rows on their way to it.
func (r *rowReader) rowAt(
	c waitContext, t engine.Snapshot, key []byte,
) (value []byte, version txn.Timestamp, err error) {
	err = r.overlaid(c, t.T(), key, func(pending []pendingRow) (err error) {
		if len(pending) == 0 {
			value, version, err = t.Get(key)
			return err
		}
		row := pending[0]
		value, version, err = r.valueSince(t, key, row.version)
		if version < row.version {
			value, version = nil, row.version
			if row.op != logentry.OpDelete {
				value = append([]byte{}, row.value...)
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
	err = r.overlaid(c, txn.MaxTimestamp, key, func(pending []pendingRow) error {
		version = 0
		if len(pending) > 0 {
			version = pending[0].version
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
	err := r.overlaid(c, txn.MaxTimestamp, key, func(pending []pendingRow) error {
		kept = true
		for _, p := range pending {
			kept = kept && (p.version <= T || engine.IsKept(p.op))
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
			return p.settled
		}
		return nil
	})
}
