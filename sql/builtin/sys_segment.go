package builtin

import "github.com/sherddb/sherd/sql/types"

// SegmentInfo changes the segments of range tables of the session's database. Keys are text: the
// values of the primary key, or of its first columns, joined by "/".
type SegmentInfo interface {
	// SplitSegment splits a segment at a key. If halve is set, text is the name of a segment in
	// sherd.segments, which is split into halves of equal bytes.
	SplitSegment(table uint32, text string, halve bool) error
	// MergeSegments merges the segment that begins at a key into the previous one.
	MergeSegments(table uint32, key string) error
	// MoveSegment moves the segment that contains a key, and returns the number of the move.
	MoveSegment(table uint32, key, fragment string, o MoveOptions) (int64, error)
}

// sysSegment has the functions that change segments.
var sysSegment = map[string]Func{
	"sherd_split_segment": onSegments(func(s SegmentInfo, a []types.Datum) (types.Datum, error) {
		return types.Datum{K: types.KindVoid}, s.SplitSegment(uint32(a[0].N), a[1].S, false)
	}),
	"sherd_halve_segment": onSegments(func(s SegmentInfo, a []types.Datum) (types.Datum, error) {
		return types.Datum{K: types.KindVoid}, s.SplitSegment(uint32(a[0].N), a[1].S, true)
	}),
	"sherd_merge_segments": onSegments(func(s SegmentInfo, a []types.Datum) (types.Datum, error) {
		return types.Datum{K: types.KindVoid}, s.MergeSegments(uint32(a[0].N), a[1].S)
	}),
	"sherd_move_segment": onSegments(func(s SegmentInfo, a []types.Datum) (types.Datum, error) {
		n, err := s.MoveSegment(uint32(a[0].N), a[1].S, a[2].S, moveOptions(a[3:]))
		return types.NewInt(n), err
	}),
}

func onSegments(do func(SegmentInfo, []types.Datum) (types.Datum, error)) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return do(s, a)
	}
}
