package keysummary

import (
	"bytes"
	"sort"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// pieceMap says in which piece of a large write set a row is: it has, for each piece, the keys
// between which its rows lie. A reader that needs one row has the piece installed that may contain
// it, and need not wait for the others.
type pieceMap struct {
	list   []Piece // by the pieces' numbers
	sorted bool    // their rows are in order and apart; set by seal
	rows   []int   // the pieces that have rows, in their order; set by seal
}

// Piece is where the rows and index entries of one piece lie. A piece may contain only chunks
// of a large row, with the row's head in a later piece.
type Piece struct {
	Least, Most []byte // both included; nil: there are none
	First       int    // from this piece on there may be chunks of the row at least
	next        int    // from this piece on there may be chunks of the first row after this piece
}

// AddPiece takes the keys of the next piece.
func (k *Summary) AddPiece(writes []byte) error {
	if k == nil {
		return nil
	}
	m, n := &k.pieces, len(k.pieces.list)
	p := Piece{First: n}
	if n > 0 {
		p.First = m.list[n-1].next
	}
	open := p.First < n // chunks have come, and not their head
	p.next = p.First
	err := logentry.EachOp(writes, func(op logentry.Op, key, _ []byte) error {
		switch {
		case !op.Writes():
		case keyspace.IsOwn(key):
			if op != logentry.OpDelete && !open {
				open, p.next = true, n
			}
		default:
			open = false
			if p.Least == nil || bytes.Compare(key, p.Least) < 0 {
				p.Least = append(p.Least[:0], key...)
			}
			if bytes.Compare(key, p.Most) > 0 {
				p.Most = append(p.Most[:0], key...)
			}
		}
		return nil
	})
	if !open {
		p.next = n + 1
	}
	m.list = append(m.list, p)
	return err
}

// KeepPieces forgets all pieces but the first n: the others are about to be cut in another way.
func (k *Summary) KeepPieces(n int) {
	if k != nil {
		k.pieces.list = k.pieces.list[:min(n, len(k.pieces.list))]
	}
}

// Pieces returns how many pieces were added.
func (k *Summary) Pieces() int { return len(k.pieces.list) }

// SealPieces makes EachPiece ready for questions.
func (k *Summary) SealPieces() { k.pieces.seal() }

// EachPiece calls fn with the pieces that may have rows of a span, in their order, until fn returns
// false. The span includes Start, and ends before End unless that is empty.
func (k *Summary) EachPiece(span txn.Span, fn func(n int, p *Piece) bool) {
	k.pieces.each(span, fn)
}

// seal sorts out which pieces have rows.
func (m *pieceMap) seal() {
	m.sorted, m.rows = true, nil
	for i, p := range m.list {
		if p.Least == nil {
			continue
		}
		if n := len(m.rows); n > 0 && bytes.Compare(m.list[m.rows[n-1]].Most, p.Least) >= 0 {
			m.sorted = false
		}
		m.rows = append(m.rows, i)
	}
}

func (m *pieceMap) each(s txn.Span, fn func(n int, p *Piece) bool) {
	from := 0
	if m.sorted {
		from = sort.Search(len(m.rows), func(i int) bool { return bytes.Compare(m.list[m.rows[i]].Most, s.Start) >= 0 })
	}
	for _, n := range m.rows[from:] {
		p := &m.list[n]
		if len(s.End) > 0 && bytes.Compare(p.Least, s.End) >= 0 {
			if m.sorted {
				return
			}
			continue
		}
		if bytes.Compare(p.Most, s.Start) >= 0 && !fn(n, p) {
			return
		}
	}
}
