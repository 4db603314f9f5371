package storage

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// ownRange is OwnedRange with what the state machine needs besides.
type ownRange struct {
	OwnedRange
	left bool          // gone or given up: what was there at Arrival is there still
	edge txn.Timestamp // owned, fenced: the stamp with which it came; gone: with which it went
}

// ownState is what the log says of ownership; part of state. The list is never changed in place, since readers share it.
type ownState struct {
	list     []ownRange // in order and apart; a bucket in none is as at the beginning
	arrivals uint32     // the last that was given
	receipts []receipt  // of moves that are being received
}

// receipt is what has been received of a move. Never changed in place.
type receipt struct {
	move    uint64
	carries uint64 // entries
	since   txn.Timestamp
	deletes bool   // a deletion was among them
	counted deltas // statistics, which count from when it is owned
}

// moved tells whether anything ever was.
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

// uncount has what is being received not count in a span that is deleted.
func (o *ownState) uncount(span txn.Span) {
	o.receipts = slices.Clone(o.receipts)
	for i := range o.receipts {
		o.receipts[i].counted = o.receipts[i].counted.without(span)
	}
}

// unsaid is what a bucket is of which the log says nothing, where first is what those are that keys are hashed to: of an assigned bucket every fragment
// believes that it owns it, and nobody comes for it but to where the map has had it from the beginning, or where the log has it. A replica that lags may not have read
// that yet, so who reads one that does not lead sees to it that it has heard of what the map says (cluster.Host.hear).
func unsaid(bucket uint32, first OwnState) OwnState {
	if bucket >= shardmap.BucketCount {
		return Owned
	}
	return first
}

// pieces gives what is said of a range, piece by piece, with first for what nothing is said of.
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

// with gives the list with pieces in place of what it says of them. They are in order and apart, and come from piecesOf: none reaches beyond what
// the list says at one place.
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

// checkRanges tells whether ranges are in order, apart and not empty.
func checkRanges(ranges []BucketRange) bool {
	at := uint32(0)
	for _, r := range ranges {
		if r.Empty() || r.Lo < at || r.Hi > shardmap.BucketLimit {
			return false
		}
		at = r.Hi
	}
	return len(ranges) > 0
}

func appendRanges(b []byte, ranges []BucketRange) []byte {
	b = binary.AppendUvarint(b, uint64(len(ranges)))
	for _, r := range ranges {
		b = binary.AppendUvarint(b, uint64(r.Lo))
		b = binary.AppendUvarint(b, uint64(r.Hi))
	}
	return b
}

func (r *reader) ranges() (out []BucketRange) {
	n := r.int()
	for i := 0; i < n && r.err == nil; i++ {
		out = append(out, BucketRange{Lo: r.bucket(), Hi: r.bucket()})
	}
	if r.err == nil && !checkRanges(out) {
		r.err = errEntry
	}
	return out
}

func (r *reader) bucket() uint32 {
	x := r.uvarint()
	if x > shardmap.BucketLimit {
		r.err = errEntry
	}
	return uint32(x)
}

func (r *reader) uint32() uint32 {
	x := r.uvarint()
	if x > 1<<32-1 {
		r.err = errEntry
	}
	return uint32(x)
}

// append gives what a checkpoint says of ownership.
func (o *ownState) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(o.list)))
	for i := range o.list {
		x := &o.list[i]
		b = binary.AppendUvarint(b, uint64(x.Lo))
		b = binary.AppendUvarint(b, uint64(x.Hi))
		b = append(b, byte(x.State), boolByte(x.left))
		b = binary.AppendUvarint(b, x.Move)
		b = binary.AppendUvarint(b, uint64(x.Arrival))
		b = putTS(putTS(putTS(b, x.F), x.Since), x.edge)
	}
	b = binary.AppendUvarint(b, uint64(o.arrivals))
	b = binary.AppendUvarint(b, uint64(len(o.receipts)))
	for i := range o.receipts {
		x := &o.receipts[i]
		b = binary.AppendUvarint(b, x.move)
		b = binary.AppendUvarint(b, x.carries)
		b = putTS(b, x.since)
		b = append(b, boolByte(x.deletes))
		b = putBytes(b, x.counted.encode())
	}
	return b
}

func (r *reader) ownState() (o ownState) {
	n, at := r.int(), uint32(0)
	for i := 0; i < n && r.err == nil; i++ {
		var x ownRange
		x.Lo, x.Hi = r.bucket(), r.bucket()
		x.State, x.left = OwnState(r.byte()), r.byte() != 0
		x.Move, x.Arrival = r.uvarint(), r.uint32()
		x.F, x.Since, x.edge = r.ts(), r.ts(), r.ts()
		if x.Empty() || x.Lo < at || x.State > Gone {
			r.err = errEntry
		}
		at = x.Hi
		o.list = append(o.list, x)
	}
	o.arrivals = r.uint32()
	n = r.int()
	for i := 0; i < n && r.err == nil; i++ {
		x := receipt{move: r.uvarint(), carries: r.uvarint(), since: r.ts(), deletes: r.byte() != 0}
		x.counted = r.deltas()
		o.receipts = append(o.receipts, x)
	}
	return o
}

// deltas reads what deltas.encode gives, behind its length.
func (r *reader) deltas() deltas {
	in := reader{b: r.bytes()}
	var d deltas
	for len(in.b) > 0 && in.err == nil && r.err == nil {
		k := statKey{uint32(in.int()), uint32(in.int())}
		v := statValue{in.varint(), in.varint()}
		if d == nil {
			d = deltas{}
		}
		d[k] = v
	}
	if in.err != nil {
		r.err = in.err
	}
	return d
}

// plus gives the sum of two; neither is changed.
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
