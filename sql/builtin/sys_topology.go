package builtin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// TopologyInfo changes the owners of buckets. Databases and fragments are identified by name.
type TopologyInfo interface {
	// MoveBuckets starts a move and returns its number; MoveBucket moves one bucket.
	MoveBuckets(database string, v shardmap.Interval, fragment string, o MoveOptions) (int64, error)
	MoveBucket(database string, b shardmap.Bucket, fragment string, o MoveOptions) (int64, error)
	// MoveAnchor moves the bucket of an id of the session's database. IsolateAnchor moves it to a
	// new fragment and returns the fragment's name.
	MoveAnchor(id, fragment string, o MoveOptions) (int64, error)
	IsolateAnchor(id string, o MoveOptions) (string, error)
	// AddFragment returns the name of the new fragment, RemoveFragment the number of the job.
	AddFragment(database, why string) (string, error)
	RemoveFragment(fragment string, o MoveOptions) (int64, error)
	// SplitRange splits a range of the map, MergeRanges merges two.
	SplitRange(database string, bucket uint32) error
	MergeRanges(database string, bucket uint32) error
	// Pin prevents moves of buckets until Unpin.
	Pin(database string, v shardmap.Interval, fragment, why string) error
	Unpin(database string, v shardmap.Interval, why string) error
	// PauseMove, ResumeMove and CancelMove control a move by its number.
	PauseMove(move int64, why string) error
	ResumeMove(move int64, why string) error
	CancelMove(move int64, why string) error
}

// MoveOptions are the options of all functions that move buckets.
type MoveOptions struct {
	Wait bool // wait until it has ended
	Why  string
}

// sysTopology has the functions that change where buckets lie.
var sysTopology = map[string]Func{
	"sherd_move_buckets": onTopology(func(t TopologyInfo, a []types.Datum) (types.Datum, error) {
		v, err := bucketsOf(a[1], a[2])
		if err != nil {
			return types.Null, err
		}
		n, err := t.MoveBuckets(a[0].S, v, a[3].S, moveOptions(a[4:]))
		return types.NewInt(n), err
	}),
	"sherd_move_bucket": onTopology(func(t TopologyInfo, a []types.Datum) (types.Datum, error) {
		b, err := aBucket(a[1])
		if err != nil {
			return types.Null, err
		}
		n, err := t.MoveBucket(a[0].S, b, a[2].S, moveOptions(a[3:]))
		return types.NewInt(n), err
	}),
	"sherd_move_anchor": onTopology(func(t TopologyInfo, a []types.Datum) (types.Datum, error) {
		n, err := t.MoveAnchor(a[0].S, a[1].S, moveOptions(a[2:]))
		return types.NewInt(n), err
	}),
	"sherd_isolate_anchor": onTopology(func(t TopologyInfo, a []types.Datum) (types.Datum, error) {
		name, err := t.IsolateAnchor(a[0].S, moveOptions(a[1:]))
		return types.NewText(name), err
	}),
	"sherd_add_fragment": onTopology(func(t TopologyInfo, a []types.Datum) (types.Datum, error) {
		name, err := t.AddFragment(a[0].S, a[1].S)
		return types.NewText(name), err
	}),
	"sherd_remove_fragment": onTopology(func(t TopologyInfo, a []types.Datum) (types.Datum, error) {
		n, err := t.RemoveFragment(a[0].S, moveOptions(a[1:]))
		return types.NewInt(n), err
	}),
	"sherd_split_range":  atBucket(TopologyInfo.SplitRange),
	"sherd_merge_ranges": atBucket(TopologyInfo.MergeRanges),
	"sherd_pin": silently(func(t TopologyInfo, a []types.Datum) error {
		v, err := bucketsOf(a[1], a[2])
		if err != nil {
			return err
		}
		return t.Pin(a[0].S, v, a[3].S, a[4].S)
	}),
	"sherd_unpin": silently(func(t TopologyInfo, a []types.Datum) error {
		v, err := bucketsOf(a[1], a[2])
		if err != nil {
			return err
		}
		return t.Unpin(a[0].S, v, a[3].S)
	}),
	"sherd_pause_move":  silently(func(t TopologyInfo, a []types.Datum) error { return t.PauseMove(a[0].N, a[1].S) }),
	"sherd_resume_move": silently(func(t TopologyInfo, a []types.Datum) error { return t.ResumeMove(a[0].N, a[1].S) }),
	"sherd_cancel_move": silently(func(t TopologyInfo, a []types.Datum) error { return t.CancelMove(a[0].N, a[1].S) }),
}

func onTopology(do func(TopologyInfo, []types.Datum) (types.Datum, error)) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return do(s, a)
	}
}

func silently(do func(TopologyInfo, []types.Datum) error) Func {
	return onTopology(func(t TopologyInfo, a []types.Datum) (types.Datum, error) {
		return types.Datum{K: types.KindVoid}, do(t, a)
	})
}

func moveOptions(a []types.Datum) MoveOptions { return MoveOptions{Wait: a[0].Bool(), Why: a[1].S} }

// atBucket returns a function of a database and a bucket.
func atBucket(do func(t TopologyInfo, database string, bucket uint32) error) Func {
	return silently(func(t TopologyInfo, a []types.Datum) error {
		b, err := aBucket(a[1])
		if err != nil {
			return err
		}
		return do(t, a[0].S, uint32(b))
	})
}

// bucketsOf returns the buckets in [lo, hi). It refuses negative numbers; other limits depend on
// the bucket map.
func bucketsOf(lo, hi types.Datum) (shardmap.Interval, error) {
	if lo.N < 0 || hi.N < 0 {
		return shardmap.Interval{}, pgerr.New(pgerr.InvalidParameterValue, "there are no buckets from %d to before %d",
			lo.N, hi.N).
			WithHint("The first bucket counts, the last does not: from 0 to %d are all of them.", shardmap.BucketCount)
	}
	return shardmap.Interval{Lo: uint32(lo.N), Hi: uint32(hi.N)}, nil
}

func aBucket(b types.Datum) (shardmap.Bucket, error) {
	if b.N < 0 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "there is no bucket %d", b.N).
			WithHint("sherd.bucket_map lists them.")
	}
	return shardmap.Bucket(b.N), nil
}
