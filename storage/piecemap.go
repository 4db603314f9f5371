package storage

import (
	"bytes"
	"sort"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// pieceMap says in which piece of a large write set a row is: it has, for each piece, the keys
// between which its rows lie. A reader that needs one row has the piece installed that may contain
// it, and need not wait for the others (install_wanted.go).
type pieceMap struct {
	list   []pieceSpan // by the pieces' numbers
	sorted bool        // their rows are in order and apart; set by seal
	rows   []int       // the pieces that have rows, in their order; set by seal
}

// pieceSpan is where the rows and index entries of one piece lie. A piece may contain only chunks
// of a large row, with the row's head in a later piece.
type pieceSpan struct {
	least, most []byte // both included; nil: there are none
	first       int    // from this piece on there may be chunks of the row at least
	next        int    // from this piece on there may be chunks of the first row after this piece
}

// addPiece takes the keys of the next piece.
func (k *keySummary) addPiece(writes []byte) error {
	if k == nil {
		return nil
	}
	m, n := &k.pieces, len(k.pieces.list)
	p := pieceSpan{first: n}
	if n > 0 {
		p.first = m.list[n-1].next
	}
	open := p.first < n // chunks have come, and not their head
	p.next = p.first
	err := logentry.EachOp(writes, func(op logentry.Op, key, _ []byte) error {
		switch {
		case !op.Writes():
		case keyspace.IsOwn(key):
			if op != logentry.OpDelete && !open {
				open, p.next = true, n
			}
		default:
			open = false
			if p.least == nil || bytes.Compare(key, p.least) < 0 {
				p.least = append(p.least[:0], key...)
			}
			if bytes.Compare(key, p.most) > 0 {
				p.most = append(p.most[:0], key...)
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

// keepPieces forgets all pieces but the first n: the others are about to be cut in another way.
func (k *keySummary) keepPieces(n int) {
	if k != nil {
		k.pieces.list = k.pieces.list[:min(n, len(k.pieces.list))]
	}
}

// seal makes the map ready for questions.
func (m *pieceMap) seal() {
	m.sorted, m.rows = true, nil
	for i, p := range m.list {
		if p.least == nil {
			continue
		}
		if n := len(m.rows); n > 0 && bytes.Compare(m.list[m.rows[n-1]].most, p.least) >= 0 {
			m.sorted = false
		}
		m.rows = append(m.rows, i)
	}
}

// each calls fn with the pieces that may have rows of a span, in their order, until fn returns
// false. The span includes Start, and ends before End unless that is empty.
func (m *pieceMap) each(s txn.Span, fn func(n int, p *pieceSpan) bool) {
	from := 0
	if m.sorted {
		from = sort.Search(len(m.rows), func(i int) bool { return bytes.Compare(m.list[m.rows[i]].most, s.Start) >= 0 })
	}
	for _, n := range m.rows[from:] {
		p := &m.list[n]
		if len(s.End) > 0 && bytes.Compare(p.least, s.End) >= 0 {
			if m.sorted {
				return
			}
			continue
		}
		if bytes.Compare(p.most, s.Start) >= 0 && !fn(n, p) {
			return
		}
	}
}
