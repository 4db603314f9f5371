package shardmap

import "github.com/cespare/xxhash/v2"

// ValueBucket returns the bucket of an indexed value: the encoded columns of a global index's key,
// ascending and nulls last, hashed by xxhash64 with seed 0. It is on disk for ever, as B1 is for
// ids; equal values have equal encodings.
func ValueBucket(columns []byte) Bucket { return Bucket(xxhash.Sum64(columns) % BucketCount) }
