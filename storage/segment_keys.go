package storage

import (
	"bytes"
	"context"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// KeyAt is a primary key, as it is encoded, and how many bytes of its segment lie before it.
type KeyAt struct {
	Key    []byte
	Before int64
}

// SegmentKeys is what is known of the keys of a segment of a range table.
type SegmentKeys struct {
	Stored  []KeyAt // some, in order
	Bytes   int64   // of all
	Written [][]byte
}

// storedKeys is how many keys are given of a segment, more or less.
const storedKeys = 128

// StoredKeys returns keys of the rows of table in a bucket, all of one range, at distances of about
// the same number of bytes. It reads all rows.
func (r *Replica) StoredKeys(ctx context.Context, table, bucket uint32) (keys []KeyAt, size int64, err error) {
	ranges := []BucketRange{{Lo: bucket, Hi: bucket + 1}}
	T, err := r.SnapshotOf(ctx, ranges)
	if err != nil {
		return nil, 0, err
	}
	v, err := r.Tx(txn.NewID()).ViewOf(ctx, T, ranges)
	if err != nil {
		return nil, 0, err
	}
	defer v.Close()
	_, all := r.Inspect.MoveSize(ranges)
	step := max(all/storedKeys, 1)
	next := int64(0)
	err = v.Scan(ctx, keyspace.BucketSpan(table, bucket, bucket+1), false, func(key, value []byte) error {
		if size >= next {
			keys = append(keys, KeyAt{bytes.Clone(keyspace.PrimaryKeyOf(key)), size})
			next = size + step
		}
		size += int64(len(key) + len(value))
		return ctx.Err()
	})
	return keys, size, err
}
