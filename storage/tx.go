package storage

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/guards"
	"github.com/sherddb/sherd/storage/keymoves"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/readset"
	"github.com/sherddb/sherd/storage/scratch"
	"github.com/sherddb/sherd/storage/writebuf"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Tx is one transaction's part in this fragment: its buffered writes and the row locks it
// has. It belongs to the leader's term in which the first of them was made, and ends with that term
// (40001). It implements txn.Participant.
//
// One statement of the transaction uses it at a time, with any number of concurrent reads.
type Tx struct {
	Committer
	r        *Replica
	id       txn.ID
	locks    locktable.Owner
	buffered atomic.Bool  // something was buffered at some time
	puts     atomic.Bool  // something buffered was not a delete
	adopted  atomic.Bool  // rebuilt from the log at the start of a term, or left to it
	reads    *readset.Set // of a SERIALIZABLE transaction, nil for others
	placed   owned.Placement

	mu       sync.Mutex
	term     uint64          // of the write buffer, 0 before there is one; guarded by mu
	buffer   writebuf.Buffer // guarded by mu
	phase    phase           // guarded by mu
	byName   bool            // prepared by PREPARE TRANSACTION; guarded by mu
	unwanted bool            // rolled back while that was not possible; guarded by mu
	// the writes were buffered in an earlier term, so left is not known; guarded by mu
	strange bool
	reading bool           // it is in the replica's readers; guarded by mu
	since   time.Time      // when the write buffer was made; guarded by mu
	met     guards.Met     // prepared transactions that have read what this one writes; guarded by mu
	left    keymoves.Notes // rows that it deletes because they get other keys; guarded by mu
}

type phase byte

const (
	phaseOpen     phase = iota
	phaseBusy           // its commit or prepare is in the log's queue
	phasePrepared       // survives any crash; only a decision ends it
	phaseDone
)

// Tx returns the handle of transaction id in this fragment: the same handle as long as the
// transaction has a lock or a write here.
func (r *Replica) Tx(id txn.ID) *Tx {
	r.live.mu.Lock()
	defer r.live.mu.Unlock()
	if t := r.live.txs[id]; t != nil {
		return t
	}
	return newTx(r, id)
}

func newTx(r *Replica, id txn.ID) *Tx {
	t := &Tx{r: r, id: id}
	t.Committer.t = t
	t.locks.Init(r.locks, id)
	return t
}

// ID returns the transaction's id.
func (t *Tx) ID() txn.ID { return t.id }

// begin makes the write buffer if there is none, and refuses one of an earlier term. Called with mu
// held.
func (t *Tx) begin() error {
	now := t.r.proposer.Term()
	switch {
	case now == 0:
		return proposer.ErrNotLeader
	case t.phase != phaseOpen:
		return usedAfterEnd(t.id)
	case t.term == 0:
		t.r.live.mu.Lock()
		defer t.r.live.mu.Unlock()
		if !t.mayEnter() {
			return proposer.ErrNotLeader
		}
		t.term, t.since = now, time.Now()
		t.r.live.txs[t.id] = t
	case t.term != now && rule.BufferTerm:
		return proposer.ErrTermOver
	}
	return nil
}

func usedAfterEnd(id txn.ID) error {
	return pgerr.New(pgerr.InternalError, "transaction %s is used after its end", id)
}

// mayEnter reports whether a transaction may have something here that it did not have before: not
// while the replica yields leadership, unless yield waits for the transaction already. Called with
// mu and live.mu held, so that yield finds all transactions that came before.
func (t *Tx) mayEnter() bool {
	return t.r.Group.yielding.Load() == 0 || t.term != 0 || t.reading && !t.reads.Empty()
}

// beginReading registers a transaction whose reads are to be validated with the replica.
func (t *Tx) beginReading() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reading && !t.reads.Empty() || t.phase != phaseOpen {
		return nil
	}
	t.r.live.mu.Lock()
	defer t.r.live.mu.Unlock()
	if !t.mayEnter() {
		return proposer.ErrNotLeader
	}
	t.reading = true
	t.r.live.readers[t] = struct{}{}
	return nil
}

// TrackReads records the transaction's reads from now on, to be validated at its commit (T8).
// Called before the first read.
func (t *Tx) TrackReads() {
	if t.reads == nil {
		t.reads = &readset.Set{}
	}
}

// ForgetReads drops the reads of an autocommit statement that is run again before any of its answer
// was sent.
func (t *Tx) ForgetReads() {
	if t.reads != nil {
		t.reads.Forget()
	}
}

// HasRead reports whether a SERIALIZABLE transaction has read key, or looked for it, and returns
// the timestamp of its earliest read.
func (t *Tx) HasRead(key []byte) (txn.Timestamp, bool) {
	if t.reads == nil {
		return 0, false
	}
	spans, T := t.reads.All()
	return T, readset.Contains(spans, t.storedNow(key))
}

// HasReads implements txn.Participant.
func (t *Tx) HasReads() bool { return t.reads != nil && !t.reads.Empty() }

// newest returns the newest committed value of key, nil if there is none, and its version.
func (r *rowReader) newest(c waitContext, key []byte) ([]byte, txn.Timestamp, error) {
	return r.rowAt(c, r.db.Latest(), key)
}

// untilTerm returns a wait that ends with the context or soon after the term.
func untilTerm(ctx context.Context, p *proposer.Proposer) waitContext {
	return waitContext{ctx, p.Over()}
}

// Applied returns the largest stamp applied in the fragment.
func (t *Tx) Applied() txn.Timestamp { return txn.Timestamp(t.r.proposer.Applied.Load()) }

// Newest returns the value of key that the lock protects: the buffered one, else the newest
// committed one, nil if there is none.
func (t *Tx) Newest(ctx context.Context, key []byte) ([]byte, error) {
	key, err := t.place(ctx, key)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	op, ok, err := t.buffer.Get(key, math.MaxInt)
	var l *locktable.Lock
	if !ok {
		l = t.locks.Find(key)
	}
	t.mu.Unlock()
	if ok || err != nil {
		return op.Value, err
	}
	if l != nil && l.Row.Known && l.Row.Size < 0 {
		return nil, nil
	}
	if l == nil || l.Mode() < txn.Share {
		if t.reads != nil {
			// under a stronger lock no other transaction can change it before the commit
			t.reads.Under(t.r.Owned.Load())
			t.reads.Point(key, txn.Timestamp(t.r.proposer.Applied.Load()))
		}
	}
	wait := untilTerm(ctx, t.r.proposer)
	if l == nil {
		if err := t.r.rows.waitPrepared(wait, txn.MaxTimestamp, t.id, key); err != nil {
			return nil, err
		}
	}
	value, _, err := t.r.rows.newest(wait, key)
	return value, err
}

// ChangedSince returns a *txn.ConflictError if another transaction has changed key after T. It
// takes no lock, so key may be changed right after it.
func (t *Tx) ChangedSince(ctx context.Context, key []byte, T txn.Timestamp) error {
	given := key
	key, err := t.place(ctx, key)
	if err != nil || t.hasBuffered(key) {
		return err
	}
	wait := untilTerm(ctx, t.r.proposer)
	if err := t.r.rows.waitPrepared(wait, txn.MaxTimestamp, t.id, key); err != nil {
		return err
	}
	value, version, err := t.r.rows.newest(wait, key)
	if err == nil && value == nil {
		version, err = t.r.rows.lastDelete(wait, key)
	}
	if err != nil || version <= T {
		return err
	}
	return txn.NewConflict(bytes.Clone(given), version, T, t.r.writerAt(version), value == nil)
}

// Put buffers a write of value to key. A row's key must be locked; index entries need no lock. Both
// slices are copied.
func (t *Tx) Put(key, value []byte) error {
	if len(value) > t.r.cfg.Limits.Row {
		return pgerr.New(pgerr.ProgramLimitExceeded, "row of %d bytes exceeds the maximum of %d",
			len(value), t.r.cfg.Limits.Row).
			WithHint("sherd.max_row_size sets the maximum.")
	}
	return t.put(logentry.OpPut, key, value)
}

// Delete buffers the removal of key.
func (t *Tx) Delete(key []byte) error { return t.put(logentry.OpDelete, key, nil) }

func (t *Tx) put(kind logentry.Op, key, value []byte) error {
	if err := keyspace.Check(key); err != nil {
		return err
	}
	key, err := t.placed.PlaceNow(t.r.Owned, t.r.Globals, key)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.begin(); err != nil {
		return err
	}
	if err := t.buffer.Err(); err != nil {
		return err
	}
	if int64(t.buffer.Mark()+len(key)+len(value)) > t.r.cfg.Limits.Buffer {
		return pgerr.New(pgerr.ProgramLimitExceeded, "transaction writes more than %d bytes in one fragment",
			t.r.cfg.Limits.Buffer).
			WithHint("Split it into smaller transactions.")
	}
	t.buffered.Store(true)
	if kind != logentry.OpDelete {
		t.puts.Store(true)
	}
	old := int32(writebuf.UnknownSize)
	if keyspace.IsRow(key) {
		if l := t.locks.Find(key); l != nil {
			if l.Row.Known {
				old = l.Row.Size
			}
			if kind == logentry.OpPut && l.Mode() == txn.NoKeyUpdate {
				kind = logentry.OpPutKept
			}
		}
	}
	t.buffer.Put(kind, key, value, old)
	t.met.Note(t.r.guards.All(), t.id, key)
	if t.buffer.Memory() > t.r.cfg.Limits.BufferMemory {
		return t.buffer.Spill(t.bufferFile)
	}
	return nil
}

// BufferedSince reports whether a write of key was buffered after a mark was taken.
func (t *Tx) BufferedSince(key []byte, mark txn.Mark) (bool, error) {
	key = t.storedNow(key)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.WrittenSince(key, mark.Writes)
}

// HasWrites implements txn.Participant.
func (t *Tx) HasWrites() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.Mark() > 0
}

// Rollback drops the write buffer and its locks. A prepared transaction stays: its coordinator
// fragment decides.
func (t *Tx) Rollback() {
	t.mu.Lock()
	if t.phase == phasePrepared || t.phase == phaseBusy {
		t.unwanted = true
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	t.end()
}

// end releases the locks and forgets the transaction.
func (t *Tx) end() {
	t.mu.Lock()
	began, reading := t.term != 0, t.reading
	left, strange := t.left, t.strange
	t.phase = phaseDone
	t.buffer.Discard()
	t.mu.Unlock()
	if !began && !reading {
		return
	}
	t.r.noteLeft(left, strange)
	t.r.live.remove(t)
	t.locks.End()
}

// viewMark returns the mark of a new view.
func (t *Tx) viewMark() (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.term != 0 && t.term != t.r.proposer.Term() && rule.BufferTerm {
		return 0, proposer.ErrTermOver
	}
	return t.buffer.Mark(), nil
}

func (t *Tx) bufferedAt(key []byte, mark int) (writebuf.Op, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.Get(key, mark)
}

func (t *Tx) bufferedIn(span txn.Span, mark int, reverse bool) (*writebuf.Scan, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.Span(span, mark, reverse)
}

const bufferFolder = "stage"

// bufferFile makes a file for a write buffer. It loses its name at once, so that a crash leaves
// nothing.
func (t *Tx) bufferFile() (*os.File, error) {
	if err := t.r.db.Room(!t.puts.Load()); err != nil {
		return nil, err
	}
	return scratch.Create(filepath.Join(t.r.cfg.Dir, bufferFolder))
}
