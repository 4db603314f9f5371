package storage

import (
	"encoding/binary"
	"slices"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/txn"
)

// ownState is what the log says of ownership; part of state.
type ownState struct {
	ownership.Machine
	receipts []receipt // of moves that are being received
}

// receipt records what has been received of a move. It is immutable.
type receipt struct {
	move    uint64
	carries uint64 // entries
	since   txn.Timestamp
	deletes bool          // there was a deletion among them
	counted counts.Deltas // statistics, which count from when the range is owned
}

func (o *ownState) receipt(move uint64) *receipt {
	for i := range o.receipts {
		if o.receipts[i].move == move {
			return &o.receipts[i]
		}
	}
	return nil
}

func (o *ownState) setReceipt(x receipt) {
	o.dropReceipt(x.move)
	o.receipts = append(o.receipts, x)
}

func (o *ownState) dropReceipt(move uint64) {
	o.receipts = slices.DeleteFunc(slices.Clone(o.receipts), func(x receipt) bool { return x.move == move })
}

// uncount removes the rows of a span that is deleted from the counts of what is being received.
func (o *ownState) uncount(span txn.Span) {
	o.receipts = slices.Clone(o.receipts)
	for i := range o.receipts {
		o.receipts[i].counted = o.receipts[i].counted.Without(span)
	}
}

// append appends the ownership to a checkpoint.
func (o *ownState) append(b []byte) []byte {
	b = o.Machine.Append(b)
	b = binary.AppendUvarint(b, uint64(len(o.receipts)))
	for i := range o.receipts {
		x := &o.receipts[i]
		b = binary.AppendUvarint(b, x.move)
		b = binary.AppendUvarint(b, x.carries)
		b = codec.AppendTimestamp(b, x.since)
		b = append(b, codec.Bool(x.deletes))
		b = codec.AppendBytes(b, x.counted.Encode())
	}
	return b
}

// readOwnState reads what append has appended.
func readOwnState(r *codec.Reader) (o ownState) {
	o.Machine = ownership.ReadMachine(r)
	n := r.Int()
	for i := 0; i < n && r.Err == nil; i++ {
		x := receipt{move: r.Uvarint(), carries: r.Uvarint(), since: r.Timestamp(), deletes: r.Byte() != 0}
		x.counted = counts.ReadDeltas(r)
		o.receipts = append(o.receipts, x)
	}
	return o
}
