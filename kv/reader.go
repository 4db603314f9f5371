package kv

import (
	"context"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Reader reads a fragment at a timestamp, outside of any transaction.
type Reader struct {
	Sender   Sender
	Fragment txn.FragmentID
	T        txn.Timestamp
}

// Get returns nil if the key has no value.
func (r *Reader) Get(ctx context.Context, key []byte) (value []byte, err error) {
	err = r.Scan(ctx, txn.Point(key), false, func(_, found []byte) error {
		value = found
		return nil
	})
	return value, err
}

// Scan calls fn with each key and value of a span.
func (r *Reader) Scan(ctx context.Context, span txn.Span, reverse bool, fn func(key, value []byte) error) error {
	stopped := false
	err := r.Sender.Stream(ctx, &pb.Request{
		Fragment: uint32(r.Fragment),
		Op: &pb.Request_ReadRows{ReadRows: &pb.ReadRowsRequest{
			T: uint64(r.T), Reverse: reverse, Span: &pb.KeySpan{Start: span.Start, End: span.End},
		}},
	}, func(a *pb.Response) error {
		rows := a.GetRows()
		for i, key := range rows.GetKeys() {
			err := fn(key, rows.Values[i])
			stopped = err == storage.ErrStop
			if err != nil {
				return err
			}
		}
		return nil
	})
	if stopped {
		return nil
	}
	return err
}
