package ownership

import (
	"sort"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// BucketRange is the half-open range of buckets [Lo, Hi).
type BucketRange = shardmap.Interval

// State says what a bucket is to a fragment.
type State byte

// The states. Numbers are on disk for ever.
const (
	NotOwned  State = 0 // and never was
	Owned     State = 1
	Fenced    State = 2 // read up to F, until the move that has fenced it is undone or has flipped
	Receiving State = 3 // versions are coming; there are no readers
	Gone      State = 4 // to another fragment; read up to F
)

func (s State) String() string {
	return [...]string{"not owned", "owned", "fenced", "receiving", "gone"}[s]
}

// Range is what the log of a fragment says of neighbouring buckets (C1).
type Range struct {
	BucketRange
	State      State
	Move       uint64        // the last one in or out; entries of older ones are void
	F          txn.Timestamp // fenced, gone: the largest timestamp that may be read at
	Generation uint32        // the generation in the keys of what is there
	// Since is the smallest timestamp that may be read at: the source had discarded older versions.
	Since txn.Timestamp
}

// Piece is a Range and what the state machine needs in addition.
type Piece struct {
	Range
	Left bool          // moved away or abandoned: the rows of Generation are still there
	Edge txn.Timestamp // owned, fenced: the stamp with which it came; gone: that with which it went
}

// List is what is said of buckets: pieces in order, not overlapping. It is immutable.
type List []Piece

// Map is a list, and the state of buckets to which keys are hashed and that the list does not have.
type Map struct {
	First State
	List  List
}

// unlisted returns the state of a bucket that no list mentions; first is the state of buckets to
// which keys are hashed. Every fragment regards an assigned bucket as its own; requests for it come
// only to the fragment that has had it in the map from the beginning, or that has it in its log. A
// replica that lags may not have applied that yet, so the reader of a replica that does not lead
// makes sure that it has caught up with the map (kv.Followers.CatchUp).
func unlisted(bucket uint32, first State) State {
	if bucket >= shardmap.BucketCount {
		return Owned
	}
	return first
}

// Find returns the state of a bucket.
func (m *Map) Find(bucket uint32) Piece {
	i := sort.Search(len(m.List), func(i int) bool { return m.List[i].Hi > bucket })
	if i < len(m.List) && m.List[i].Lo <= bucket {
		return m.List[i]
	}
	return Piece{Range: Range{State: unlisted(bucket, m.First)}}
}

// Pieces returns the states of ranges, piece by piece.
func (m *Map) Pieces(ranges ...BucketRange) (out []Piece) {
	for _, r := range ranges {
		out = m.appendPieces(out, r)
	}
	return out
}

func (m *Map) appendPieces(out []Piece, r BucketRange) []Piece {
	list := m.List
	i := sort.Search(len(list), func(i int) bool { return list[i].Hi > r.Lo })
	for at := r.Lo; at < r.Hi; {
		p := Piece{Range: Range{BucketRange: BucketRange{Lo: at, Hi: r.Hi}, State: unlisted(at, m.First)}}
		if at < shardmap.BucketCount && m.First != Owned {
			p.Hi = min(p.Hi, shardmap.BucketCount)
		}
		if i < len(list) && list[i].Lo <= at {
			p = list[i]
			p.Lo, p.Hi = at, min(p.Hi, r.Hi)
			i++
		} else if i < len(list) {
			p.Hi = min(list[i].Lo, p.Hi)
		}
		out = append(out, p)
		at = p.Hi
	}
	return out
}

// With returns the list with pieces in place of its own entries for the same buckets. They are in
// order, do not overlap, and come from Map.Pieces: none reaches beyond one entry of the list or one
// gap.
func (l List) With(pieces []Piece) List {
	var out List
	add := func(p Piece) {
		if p.Empty() {
			return
		}
		if n := len(out); n > 0 && out[n-1].Hi == p.Lo {
			same := out[n-1]
			same.BucketRange = p.BucketRange
			if same == p {
				out[n-1].Hi = p.Hi
				return
			}
		}
		out = append(out, p)
	}
	for _, x := range l {
		for len(pieces) > 0 && pieces[0].Lo < x.Hi {
			before := x
			before.Hi = min(x.Hi, pieces[0].Lo)
			add(before)
			add(pieces[0])
			x.Lo = max(x.Lo, pieces[0].Hi)
			pieces = pieces[1:]
		}
		add(x)
	}
	for _, p := range pieces {
		add(p)
	}
	return out
}

// LastIngest returns the largest number of the moves that have brought something here, or have
// tried to; quiet reports whether none is under way.
func (l List) LastIngest() (move uint64, quiet bool) {
	quiet = true
	for _, p := range l {
		if p.Generation > 0 {
			move = max(move, p.Move)
		}
		quiet = quiet && (p.State == Owned || p.State == Gone)
	}
	return move, quiet
}

// NextGeneration returns the generation at which ranges can be received: larger than any that they
// have had and, if possible, that of their neighbours, with which they then are one piece.
func (m *Map) NextGeneration(ranges []BucketRange) uint32 {
	next := uint32(1)
	for _, p := range m.Pieces(ranges...) {
		next = max(next, p.Generation+1)
	}
	for _, r := range ranges {
		for _, p := range m.List {
			if p.State == Owned && (p.Hi == r.Lo || p.Lo == r.Hi) {
				next = max(next, p.Generation)
			}
		}
	}
	return next
}
