package ownership

import "github.com/sherddb/sherd/txn"

// Tidied returns a list as short as it can be if there are no reads below the watermark. What a
// piece says for such reads is dropped. Neighbours that are equal then are one piece, with the
// larger of their move numbers: an entry of a step that is under way and has a smaller one is void
// then, so that its driver undoes it and tries again. A piece that is fenced or being received
// stays as it is, so a step that may have flipped is not concerned.
func (l List) Tidied(watermark txn.Timestamp) (out List) {
	for _, p := range l {
		p.forget(watermark)
		if n := len(out); n > 0 && out[n-1].Hi == p.Lo && out[n-1].joins(&p) {
			last := &out[n-1]
			last.Hi, last.Move, last.Generation = p.Hi, max(last.Move, p.Move), max(last.Generation, p.Generation)
			continue
		}
		out = append(out, p)
	}
	return out
}

// forget drops what only reads below the watermark would need.
func (p *Piece) forget(watermark txn.Timestamp) {
	if p.State != Owned && p.State != Gone || p.Left {
		return
	}
	if p.Since <= watermark {
		p.Since = 0
	}
	if p.Edge <= watermark {
		p.Edge = 0
	}
	if p.State == Gone && p.F < watermark {
		p.F = 0
	}
}

// joins reports whether a piece and its neighbour can be one. The generation of what is gone does
// not matter any more, except that a later one is larger.
func (p *Piece) joins(q *Piece) bool {
	forgotten := func(x *Piece) bool { return !x.Left && x.F == 0 && x.Since == 0 && x.Edge == 0 }
	if p.State != q.State || !forgotten(p) || !forgotten(q) {
		return false
	}
	return p.State == Gone || p.State == Owned && p.Generation == q.Generation
}
