package storage

import (
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// The writes of an open transaction are not in memory, except those of a single prepare. They are
// in the log, from which the outcome reads them again, piece by piece. If a transaction stays open
// for long, a checkpoint copies its pieces to the replica's own keys, so that it does not hold the
// log back. The same happens to all open transactions when a stream is made.

// keepInLog is how long a transaction may hold the log back.
const keepInLog = time.Minute

// pieceReader reads the pieces of open transactions.
type pieceReader struct {
	db  *engine.Engine
	log raft.LogStore
}

// each calls fn with the operations of o in order, as they were below the stamp before.
func (p *pieceReader) each(o *openTxn, before txn.Timestamp, fn func(writes []byte) error) error {
	if o.writes != nil {
		return fn(o.writes)
	}
	if err := p.eachOwn(o, before, fn); err != nil {
		return err
	}
	for _, i := range o.indexes {
		writes, err := p.logged(o, i)
		if err == nil {
			err = fn(writes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// piece returns the operations of o's piece n, as they were below the stamp before. Pieces under
// own keys come first.
func (p *pieceReader) piece(o *openTxn, n int, before txn.Timestamp) ([]byte, error) {
	if n >= o.own {
		return p.logged(o, o.indexes[n-o.own])
	}
	t := p.db.At(before - 1)
	defer t.Close()
	return ownPieceOf(t, o, n)
}

// logged returns the operations of o that log entry i has.
func (p *pieceReader) logged(o *openTxn, i uint64) ([]byte, error) {
	var l raft.Log
	if err := p.log.GetLog(i, &l); err != nil {
		return nil, damaged("log entry %d of an open transaction: %v", i, err)
	}
	e, err := logentry.Decode(l.Data)
	if err == nil {
		if id, writes, ok := logentry.WritesOf(e); ok && id == o.id {
			return writes, nil
		}
	}
	return nil, damaged("log entry %d is not of the open transaction %s", i, o.id)
}

func ownPieceOf(t engine.Snapshot, o *openTxn, n int) ([]byte, error) {
	b, _, err := t.Get(keyspace.PieceKey(o.id, n))
	if b == nil && err == nil {
		return nil, damaged("piece %d of the open transaction %s is missing", n, o.id)
	}
	return b, err
}

func (p *pieceReader) eachOwn(o *openTxn, before txn.Timestamp, fn func(writes []byte) error) error {
	if o.own == 0 {
		return nil
	}
	// a crash may have left deletions by the outcome that is applied again
	t := p.db.At(before - 1)
	defer t.Close()
	for n := range o.own {
		b, err := ownPieceOf(t, o, n)
		if err == nil {
			err = fn(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeOver copies what is only in the log of o to the replica's own keys, at a stamp. The cuts
// between pieces follow from the entries alone, so it may be repeated at another stamp.
func (m *machine) takeOver(o *openTxn, at txn.Timestamp) error {
	rest := *o
	rest.own = 0 // these are there already
	n := o.own
	o.keys.KeepPieces(n)
	err := m.pieces.each(&rest, at, func(writes []byte) error {
		return cutPieces(writes, func(piece []byte) error {
			n++
			if err := o.keys.AddPiece(piece); err != nil {
				return err
			}
			return m.kvs.Set(keyspace.PieceKey(o.id, n-1), piece, at)
		})
	})
	if err != nil {
		return err
	}
	o.own, o.indexes = n, nil
	m.r.txns.mu.Lock()
	defer m.r.txns.mu.Unlock()
	if p := m.r.txns.prepared[o.id]; p != nil {
		p.each = m.pieces.eachKey(o) // the log may be cut
	}
	if h := m.r.txns.preparations[o.id]; h != nil {
		h.locked.each = m.pieces.eachKey(o)
	}
	return nil
}

// eachKey returns a function that calls another with what o has locked, wherever that is now.
func (p *pieceReader) eachKey(o *openTxn) func(fn func(key []byte, mode txn.LockMode) error) error {
	at := *o
	return func(fn func(key []byte, mode txn.LockMode) error) error {
		return p.each(&at, txn.MaxTimestamp, func(writes []byte) error {
			return logentry.EachOp(writes, func(op logentry.Op, key, _ []byte) error {
				if keyspace.IsOwn(key) { // a chunk; its row has a key too
					return nil
				}
				return fn(key, op.Mode())
			})
		})
	}
}

// cutPieces cuts operations into pieces that Badger takes as values.
func cutPieces(writes []byte, fn func(piece []byte) error) error {
	r, start, end := codec.Reader{B: writes}, 0, 0
	for len(r.B) > 0 {
		if err := skipOp(&r); err != nil {
			return err
		}
		next := len(writes) - len(r.B)
		if end > start && next-start > engine.ChunkSize {
			if err := fn(writes[start:end:end]); err != nil {
				return err
			}
			start = end
		}
		end = next
	}
	if end == start {
		return nil
	}
	return fn(writes[start:end:end])
}

func skipOp(r *codec.Reader) error {
	op := logentry.Op(r.Byte())
	r.Bytes()
	if op.HasValue() {
		r.Bytes()
	}
	return r.Err
}

// dropPieces deletes o's own keys at the stamp of its outcome.
func (m *machine) dropPieces(o *openTxn, at txn.Timestamp) error {
	if err := m.dropPreparation(o, at); err != nil {
		return err
	}
	return m.dropOwnPieces(o, at)
}

func (m *machine) dropPreparation(o *openTxn, at txn.Timestamp) error {
	if o.preparation == nil {
		return nil
	}
	return m.kvs.Remove(keyspace.IDRecord(keyspace.Prepared, o.id), at)
}

func (m *machine) dropOwnPieces(o *openTxn, at txn.Timestamp) error {
	for n := range o.own {
		if err := m.kvs.Remove(keyspace.PieceKey(o.id, n), at); err != nil {
			return err
		}
	}
	return nil
}
