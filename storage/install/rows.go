package install

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/keysummary"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// Rows are the rows of one committed transaction on their way to the database, in pieces.
type Rows struct {
	ID      txn.ID
	Version txn.Timestamp // of the rows

	keys   *keysummary.Summary
	read   func(n int) ([]byte, error)
	bytes  atomic.Int64
	done   atomic.Bool
	pieces pieceSet
}

// NewRows returns rows in n pieces that are not in the database yet. read returns the operations of
// a piece. keys says which piece has which key, and is nil if no reader looks for them.
func NewRows(
	id txn.ID, version txn.Timestamp, keys *keysummary.Summary, n int, read func(n int) ([]byte, error),
) *Rows {
	x := &Rows{ID: id, Version: version, keys: keys, read: read}
	x.pieces.in, x.pieces.left = make([]bool, n), n
	x.pieces.landed = sync.NewCond(&x.pieces.mu)
	return x
}

// Done reports whether all rows are in the database.
func (x *Rows) Done() bool { return x.done.Load() }

// SetDone says that they are, without an Installer.
func (x *Rows) SetDone() { x.done.Store(true) }

// Bytes returns how many bytes were written.
func (x *Rows) Bytes() int64 { return x.bytes.Load() }

// Pieces returns how many pieces there are, and how many of them are not in the database.
func (x *Rows) Pieces() (all, left int) {
	x.pieces.mu.Lock()
	defer x.pieces.mu.Unlock()
	return len(x.pieces.in), x.pieces.left
}

// pieceSet says which pieces are in the database.
type pieceSet struct {
	mu      sync.Mutex
	in      []bool                // guarded by mu
	left    int                   // that are not in; guarded by mu
	waiting map[int]chan struct{} // closed when the piece is in; guarded by mu
	flying  int                   // workers that write one; guarded by mu
	landed  *sync.Cond            // one of these has ended
	dead    bool                  // the database is about to be replaced; guarded by mu
}

// isIn reports whether piece n is in the database.
func (p *pieceSet) isIn(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in[n]
}

// arrived notes that piece n is in the database.
func (p *pieceSet) arrived(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in[n] {
		return
	}
	p.in[n] = true
	p.left--
	if ch := p.waiting[n]; ch != nil {
		close(ch)
		delete(p.waiting, n)
	}
}

// kill ends all waits: what is not in the database will not be written.
func (p *pieceSet) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	for _, ch := range p.waiting {
		close(ch)
	}
	p.waiting = nil
}

// over reports whether nothing has to be read from the pieces any more: all are in the database, or
// the database is about to be replaced.
func (p *pieceSet) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead || p.left == 0
}

// allIn waits until no worker writes a piece, and reports whether all are in.
func (p *pieceSet) allIn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.flying > 0 {
		p.landed.Wait()
	}
	return p.left == 0
}

// ahead bounds how many pieces one reader asks for at a time.
const ahead = 64

// Missing returns the pieces that have to be installed before the spans are read. each calls a
// function with the spans until it returns false.
func (x *Rows) Missing(each func(fn func(s txn.Span) bool)) (list []int) {
	x.pieces.mu.Lock()
	defer x.pieces.mu.Unlock()
	if x.pieces.left == 0 {
		return nil
	}
	each(func(s txn.Span) bool {
		x.keys.EachPiece(s, func(n int, p *keysummary.Piece) bool {
			for i := p.First; i <= n; i++ {
				if !x.pieces.in[i] && !slices.Contains(list, i) {
					list = append(list, i)
				}
			}
			return len(list) < ahead
		})
		return len(list) < ahead
	})
	return list
}

// MissingChunks returns the pieces that may have chunks of key's row and are not in the database,
// if the head of the row may be there.
func (x *Rows) MissingChunks(key []byte) (list []int) {
	x.pieces.mu.Lock()
	defer x.pieces.mu.Unlock()
	x.keys.EachPiece(keyspace.KeySpan(key), func(n int, p *keysummary.Piece) bool {
		for i := p.First; i < n; i++ {
			if x.pieces.in[n] && !x.pieces.in[i] {
				list = append(list, i)
			}
		}
		return true
	})
	return list
}

// holding returns the pieces that may have key's row and are not in the database.
func (x *Rows) holding(key []byte) (list []int) {
	x.pieces.mu.Lock()
	defer x.pieces.mu.Unlock()
	if x.pieces.left == 0 {
		return nil
	}
	x.keys.EachPiece(keyspace.KeySpan(key), func(n int, _ *keysummary.Piece) bool {
		if !x.pieces.in[n] {
			list = append(list, n)
		}
		return true
	})
	return list
}

// Edges adds the keys within a span at which pieces that are not in the database begin, or end
// (reverse).
func (x *Rows) Edges(list [][]byte, span txn.Span, reverse bool) [][]byte {
	x.pieces.mu.Lock()
	defer x.pieces.mu.Unlock()
	if x.pieces.left == 0 {
		return list
	}
	x.keys.EachPiece(span, func(n int, p *keysummary.Piece) bool {
		at := p.Least
		if reverse {
			at = append(slices.Clip(p.Most), 0)
		}
		if !x.pieces.in[n] && string(at) > string(span.Start) && (len(span.End) == 0 || string(at) < string(span.End)) {
			list = append(list, at)
		}
		return true
	})
	return list
}

// Row is what a large commit writes to a key, read from a piece that was not in the database.
type Row struct {
	Op      logentry.Op
	Value   []byte
	Version txn.Timestamp
	of      *Rows
	piece   int
}

// Arrived reports whether the row's piece is in the database.
func (r Row) Arrived() bool { return r.of.pieces.isIn(r.piece) }
