package counts

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
)

// Entries contain statistics in one of two forms. The first has deltas of groups: table, group,
// documents, bytes. The second begins with BucketStats; each of its deltas is of a bucket, or of a
// group and the part of its changes that is not reported by bucket, with the sum of what its
// buckets have grown by.
//
//	0 · 2 · ( bucket | group )…
//	bucket: table · 2·bucket + 1 · documents · bytes
//	group:  table · 2·group · documents · bytes · grown

// delta is one delta of an entry.
type delta struct {
	groupKey
	exact       bool   // it is of a bucket alone
	bucket      uint32 // where it is
	docs, bytes int64
	grown       int64 // the growth of buckets that are not named; -1: not known
}

func (d *delta) bucketKey() bucketKey { return bucketKey{d.table, d.bucket} }

// eachDelta calls fn with what is encoded, up to where it is malformed.
func eachDelta(b []byte, fn func(d delta)) error {
	r := codec.Reader{B: b}
	buckets := logentry.NamesBuckets(b)
	if buckets {
		r.B = r.B[len(logentry.BucketStats):]
	}
	for len(r.B) > 0 {
		d := delta{groupKey: groupKey{table: uint32(r.Int())}, grown: -1}
		unit := uint32(r.Int())
		switch {
		case !buckets:
			d.group = unit
		case unit&1 == 1:
			d.exact, d.bucket, d.group, d.grown = true, unit>>1, groupOf(unit>>1), 0
		default:
			d.group = unit >> 1
		}
		d.docs, d.bytes = r.Varint(), r.Varint()
		if buckets && !d.exact {
			d.grown = int64(r.Uvarint())
		}
		if r.Err != nil {
			return r.Err
		}
		fn(d)
	}
	return nil
}

const (
	// mostBucketDeltas bounds the buckets that a transaction reports. It keeps statistics a small
	// part of an entry, and bounds the memory of a transaction that writes a million rows. Beyond
	// it, changes below largeDelta are reported by group.
	MostBuckets = 8192
	largeDelta  = 256 << 10
)

type groupRest struct {
	tally
	grown int64
}

// BucketDeltas gathers what a write set changes, by bucket.
type BucketDeltas struct {
	buckets map[bucketKey]tally
	groups  map[groupKey]groupRest // of assigned buckets, and what is not reported by bucket
	most    int                    // buckets before gather
	rows    []tableRows            // that are written
}

// Add takes a write of one row. Both numbers are 0 if the row keeps its size.
func (d *BucketDeltas) Add(key []byte, docs, bytes int) {
	d.wrote(keyspace.TableOf(key))
	if docs == 0 && bytes == 0 {
		return
	}
	if d.buckets == nil {
		d.buckets, d.groups = map[bucketKey]tally{}, map[groupKey]groupRest{}
	}
	k := bucketKey{keyspace.TableOf(key), keyspace.BucketOf(key)}
	if g := groupOf(k.bucket); !hashedGroup(g) {
		d.fold(groupKey{k.table, g}, tally{int64(docs), int64(bytes)})
		return
	}
	v := d.buckets[k]
	d.buckets[k] = tally{v.docs + int64(docs), v.bytes + int64(bytes)}
	if len(d.buckets) > max(d.most, MostBuckets) {
		d.gather()
		d.most = 2 * len(d.buckets)
	}
}

// gather moves small changes from the buckets to their groups.
func (d *BucketDeltas) gather() {
	for k, v := range d.buckets {
		if v.bytes < largeDelta && v.bytes > -largeDelta {
			d.fold(groupKey{k.table, groupOf(k.bucket)}, v)
			delete(d.buckets, k)
		}
	}
}

func (d *BucketDeltas) fold(k groupKey, v tally) {
	g := d.groups[k]
	g.docs, g.bytes, g.grown = g.docs+v.docs, g.bytes+v.bytes, g.grown+max(v.bytes, 0)
	d.groups[k] = g
}

// byGroup returns the deltas of groups alone, the first form.
func (d *BucketDeltas) byGroup() Deltas {
	out := Deltas{}
	for k, v := range d.groups {
		out[k] = v.tally
	}
	for k, v := range d.buckets {
		g := groupKey{k.table, groupOf(k.bucket)}
		out[g] = tally{out[g].docs + v.docs, out[g].bytes + v.bytes}
	}
	return out
}

// Encode encodes the deltas in the form of buckets, or in the one of groups, which all releases
// read.
func (d *BucketDeltas) Encode(byBucket bool) []byte {
	if byBucket {
		return d.encodeByBucket()
	}
	return d.byGroup().Encode()
}

// encode returns the deltas in the order of tables, groups and buckets.
func (d *BucketDeltas) encodeByBucket() []byte {
	if len(d.buckets)+len(d.groups) == 0 {
		return nil
	}
	b := append(make([]byte, 0, 32), logentry.BucketStats...) // most transactions change one bucket
	head := func(table, unit uint32, v tally) {
		b = binary.AppendUvarint(b, uint64(table))
		b = binary.AppendUvarint(b, uint64(unit))
		b = binary.AppendVarint(b, v.docs)
		b = binary.AppendVarint(b, v.bytes)
	}
	for _, k := range slices.SortedFunc(maps.Keys(d.groups), compareGroup) {
		g := d.groups[k]
		head(k.table, k.group<<1, g.tally)
		b = binary.AppendUvarint(b, uint64(g.grown))
	}
	for _, k := range slices.SortedFunc(maps.Keys(d.buckets), compareBucket) {
		head(k.table, k.bucket<<1|1, d.buckets[k])
	}
	return b
}

func compareBucket(a, b bucketKey) int {
	return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.bucket, b.bucket))
}

// Minus returns the negated deltas.
func (d Deltas) Minus() Deltas {
	out := Deltas{}
	for k, v := range d {
		out[k] = tally{-v.docs, -v.bytes}
	}
	return out
}

// ReadDeltas reads what Deltas.Encode returns, after its length.
func ReadDeltas(r *codec.Reader) Deltas {
	d, err := DecodeDeltas(r.Bytes())
	if r.Err == nil {
		r.Err = err
	}
	return d
}

// DecodeDeltas reads what Deltas.Encode returns.
func DecodeDeltas(b []byte) (d Deltas, err error) {
	r := codec.Reader{B: b}
	for len(r.B) > 0 && r.Err == nil {
		k := groupKey{uint32(r.Int()), uint32(r.Int())}
		v := tally{r.Varint(), r.Varint()}
		if d == nil {
			d = Deltas{}
		}
		d[k] = v
	}
	return d, r.Err
}

// Plus returns the sum of two; neither is changed.
func (d Deltas) Plus(o Deltas) Deltas {
	out := Deltas{}
	for _, x := range []Deltas{d, o} {
		for k, v := range x {
			s := out[k]
			out[k] = tally{s.docs + v.docs, s.bytes + v.bytes}
		}
	}
	return out
}
