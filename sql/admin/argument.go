package admin

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// moveOptions are the last arguments of all functions that move buckets.
type moveOptions struct {
	wait bool // until it has ended
	why  string
}

func moveOptionsOf(args []types.Datum) moveOptions {
	return moveOptions{wait: args[0].Bool(), why: args[1].S}
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

func bucketOf(b types.Datum) (shardmap.Bucket, error) {
	if b.N < 0 {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "there is no bucket %d", b.N).
			WithHint("sherd.bucket_map lists them.")
	}
	return shardmap.Bucket(b.N), nil
}

// textsOf returns the elements of an array of text. what names them in the error if one is null.
func textsOf(d types.Datum, what string) ([]string, error) {
	array, err := types.ArrayOf(d)
	if err != nil {
		return nil, pgerr.New(pgerr.NullValueNotAllowed, "%s must not be null", what)
	}
	out := make([]string, array.Len())
	for i := range out {
		x := array.At(i)
		if x.IsNull() {
			return nil, pgerr.New(pgerr.NullValueNotAllowed, "%s must not be null", what)
		}
		out[i] = x.S
	}
	return out, nil
}
