package ownership

import (
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// Verdict is the answer to a request for a bucket. A larger one is worse.
type Verdict byte

// The verdicts.
const (
	Here      Verdict = iota
	Wait              // until the move that is under way has flipped or is undone
	Elsewhere         // the fragment does not own the bucket
	TooOld            // the fragment owns it, and does not have the versions
)

// Write returns whether a bucket may be written to, or its current timestamp be requested.
func (p *Piece) Write() Verdict {
	switch p.State {
	case Owned:
		return Here
	case Fenced, Receiving:
		return Wait
	}
	return Elsewhere
}

// Read returns whether a bucket may be read at T.
func (p *Piece) Read(T txn.Timestamp) Verdict {
	switch p.State {
	case Owned:
	case Receiving:
		return Wait
	case Fenced:
		if T > p.F && rule.MoveFence {
			return Wait
		}
	case Gone:
		if T > p.F {
			return Elsewhere
		}
	default:
		return Elsewhere
	}
	if T < p.Since {
		return TooOld
	}
	return Here
}

// Counted reports whether the statistics had the rows of p at T: from the entry that made it the
// fragment's to the one that took it away.
func (p *Piece) Counted(T txn.Timestamp) bool {
	switch p.State {
	case Owned, Fenced:
		return T >= p.Edge
	case Gone:
		return T < p.Edge
	}
	return false
}

// LongGone reports whether the buckets of a piece are elsewhere, and no reader at T or above needs
// what they have left. It is false for assigned buckets: a segment that takes the place of another,
// in the same fragment, has entries of the same keys.
func (p *Piece) LongGone(T txn.Timestamp) bool {
	return p.State == Gone && !p.Left && p.F < T && p.Lo < shardmap.BucketCount
}

// About returns the worst verdict on ranges, and the piece that has it.
func (m *Map) About(ranges []BucketRange, say func(*Piece) Verdict) (worst Verdict, of Piece) {
	for _, r := range ranges {
		for _, p := range m.Pieces(r) {
			if v := say(&p); v > worst {
				worst, of = v, p
			}
		}
	}
	return worst, of
}

// Holds returns the verdict on a key of a bucket at a generation that was buffered or locked: Here
// if the bucket is owned at that generation.
func (m *Map) Holds(bucket, generation uint32) Verdict {
	p := m.Find(bucket)
	switch {
	case p.Generation != generation && (p.Generation != 0 || p.Move != 0):
		return Elsewhere // an earlier generation
	case p.State == Fenced:
		return Wait
	case p.State == Owned:
		return Here
	}
	return Elsewhere
}

// Unmoved returns whether what could be had of a range by an earlier map is owned by m at the same
// generation.
func (m *Map) Unmoved(then *Map, r BucketRange, had func(*Piece) bool) Verdict {
	worst := Here
	for _, p := range then.Pieces(r) {
		if !had(&p) {
			continue
		}
		for _, q := range m.Pieces(p.BucketRange) {
			switch {
			case q.Generation != p.Generation || q.State != Owned && q.State != Fenced:
				return Elsewhere
			case q.State == Fenced:
				worst = Wait
			}
		}
	}
	return worst
}
