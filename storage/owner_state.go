package storage

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/txn"
)

// ownRange is OwnedRange and what the state machine needs in addition.
type ownRange struct {
	OwnedRange
	left bool          // moved away or abandoned: the rows of generation Arrival are still there
	edge txn.Timestamp // owned, fenced: the stamp with which it came; gone: that with which it went
}

// ownState is what the log says of ownership; part of state. The list is never changed in place,
// since readers share it.
type ownState struct {
	list     []ownRange // in order, not overlapping; a bucket in none is as at the beginning
	arrivals uint32     // the last generation that was assigned
	receipts []receipt  // of moves that are being received
}

// receipt records what has been received of a move. It is immutable.
type receipt struct {
	move    uint64
	carries uint64 // entries
	since   txn.Timestamp
	deletes bool   // there was a deletion among them
	counted deltas // statistics, which count from when the range is owned
}

// moved reports whether anything ever was.
func (o *ownState) moved() bool { return len(o.list) > 0 }

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
		o.receipts[i].counted = o.receipts[i].counted.without(span)
	}
}

// unsaid returns the state of a bucket that the log does not mention; first is the state of buckets
// to which keys are hashed. Every fragment regards an assigned bucket as its own; requests for it
// come only to the fragment that has had it in the map from the beginning, or that has it in its
// log. A replica that lags may not have applied that yet, so the reader of a replica that does not
// lead makes sure that it has caught up with the map (cluster.Host.hear).
func unsaid(bucket uint32, first OwnState) OwnState {
	if bucket >= shardmap.BucketCount {
		return Owned
	}
	return first
}

// pieces returns the states of a range, piece by piece, with first for what the list does not have.
func pieces(list []ownRange, r BucketRange, first OwnState) (out []ownRange) {
	i := sort.Search(len(list), func(i int) bool { return list[i].Hi > r.Lo })
	for at := r.Lo; at < r.Hi; {
		p := ownRange{OwnedRange: OwnedRange{BucketRange: BucketRange{Lo: at, Hi: r.Hi}, State: unsaid(at, first)}}
		if at < shardmap.BucketCount && first != Owned {
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

func piecesOf(list []ownRange, ranges []BucketRange, first OwnState) (out []ownRange) {
	for _, r := range ranges {
		out = append(out, pieces(list, r, first)...)
	}
	return out
}

// with returns the list with pieces in place of its own entries for the same buckets. They are in
// order, do not overlap, and come from piecesOf: none reaches beyond one entry of the list or one
// gap.
func with(list, pieces []ownRange) []ownRange {
	var out []ownRange
	add := func(p ownRange) {
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
	for _, x := range list {
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

// append appends the ownership to a checkpoint.
func (o *ownState) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(o.list)))
	for i := range o.list {
		x := &o.list[i]
		b = binary.AppendUvarint(b, uint64(x.Lo))
		b = binary.AppendUvarint(b, uint64(x.Hi))
		b = append(b, byte(x.State), codec.Bool(x.left))
		b = binary.AppendUvarint(b, x.Move)
		b = binary.AppendUvarint(b, uint64(x.Arrival))
		b = codec.AppendTimestamp(codec.AppendTimestamp(codec.AppendTimestamp(b, x.F), x.Since), x.edge)
	}
	b = binary.AppendUvarint(b, uint64(o.arrivals))
	b = binary.AppendUvarint(b, uint64(len(o.receipts)))
	for i := range o.receipts {
		x := &o.receipts[i]
		b = binary.AppendUvarint(b, x.move)
		b = binary.AppendUvarint(b, x.carries)
		b = codec.AppendTimestamp(b, x.since)
		b = append(b, codec.Bool(x.deletes))
		b = codec.AppendBytes(b, x.counted.encode())
	}
	return b
}

// readOwnState reads what append has appended.
func readOwnState(r *codec.Reader) (o ownState) {
	n, at := r.Int(), uint32(0)
	for i := 0; i < n && r.Err == nil; i++ {
		var x ownRange
		x.Lo, x.Hi = r.Bucket(), r.Bucket()
		x.State, x.left = OwnState(r.Byte()), r.Byte() != 0
		x.Move, x.Arrival = r.Uvarint(), r.Uint32()
		x.F, x.Since, x.edge = r.Timestamp(), r.Timestamp(), r.Timestamp()
		if x.Empty() || x.Lo < at || x.State > Gone {
			r.Err = codec.ErrMalformed
		}
		at = x.Hi
		o.list = append(o.list, x)
	}
	o.arrivals = r.Uint32()
	n = r.Int()
	for i := 0; i < n && r.Err == nil; i++ {
		x := receipt{move: r.Uvarint(), carries: r.Uvarint(), since: r.Timestamp(), deletes: r.Byte() != 0}
		x.counted = readDeltas(r)
		o.receipts = append(o.receipts, x)
	}
	return o
}

// readDeltas reads what deltas.encode returns, after its length.
func readDeltas(r *codec.Reader) deltas {
	d, err := decodeDeltas(r.Bytes())
	if r.Err == nil {
		r.Err = err
	}
	return d
}

// decodeDeltas reads what deltas.encode returns.
func decodeDeltas(b []byte) (d deltas, err error) {
	r := codec.Reader{B: b}
	for len(r.B) > 0 && r.Err == nil {
		k := statKey{uint32(r.Int()), uint32(r.Int())}
		v := statValue{r.Varint(), r.Varint()}
		if d == nil {
			d = deltas{}
		}
		d[k] = v
	}
	return d, r.Err
}

// plus returns the sum of two; neither is changed.
func (d deltas) plus(o deltas) deltas {
	out := deltas{}
	for _, x := range []deltas{d, o} {
		for k, v := range x {
			s := out[k]
			out[k] = statValue{s.docs + v.docs, s.bytes + v.bytes}
		}
	}
	return out
}
