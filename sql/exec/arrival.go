package exec

import (
	"encoding/binary"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// Stays tells of the buckets of a fragment. A bucket that moves away and comes back has a new number of arrival each time; what an earlier stay has
// left behind is not there for anybody.
type Stays interface {
	// Arrival gives the number of the bucket's arrival, 0 where it has been here from the beginning; ok is false where it is not the fragment's.
	Arrival(bucket shardmap.Bucket) (arrival uint32, ok bool)
}

// An entry of a local index has no bucket in its key. Its value says which row of which stay it leads to, and is valid only as long as the fragment
// has the bucket by that arrival (V1):
//
//	3 · bucket(3) · arrival(4) · primary key   as 1, of a bucket that has arrived
//	4 · bucket(3) · arrival(4) · length(2)     as 2, likewise
//	bucket(3) · arrival(4)                     of the index in primary key order, as bucket(3)
//
// Entries of a bucket that has been there from the beginning, and those of global indexes, which say nothing of the stay of the row, have the forms
// without arrival. These are also the plain forms, in which entries are computed and sent: whoever stages one puts the arrival in, whoever reads one
// takes it out.
const (
	entryArrivedWithKey    = 3
	entryArrivedWithLength = 4

	orderValue        = 3 // bytes of an entry's value in the index in primary key order
	orderArrivedValue = 7
	arrivalSize       = 4
)

// entryPlace is where the row of an entry lies.
type entryPlace struct {
	bucket  shardmap.Bucket
	arrival uint32
	named   bool // the bucket is that of the row's segment now; the value has the name of an earlier one
}

// stands tells whether an entry counts: that of an earlier stay of its bucket, or of an earlier segment, does not.
func (p entryPlace) stands(s Stays) bool {
	arrival, ok := s.Arrival(p.bucket)
	return ok && arrival == p.arrival && !p.named
}

// by has the place of an entry of a range table be in the segment that the row's primary key belongs to, whichever bucket the entry's value names: where segments are
// split or merged, their rows have buckets of other names, and the keys and versions of their entries stay the same.
func (p entryPlace) by(t *table, primaryKey []byte) entryPlace {
	if !t.ranged() {
		return p
	}
	if b := t.def.Segments.At(primaryKey).Bucket; b != p.bucket {
		p.bucket, p.named = b, true
	}
	return p
}

// placeOf is placeOfEntry of an entry of the table's.
func (t *table) placeOf(key, value []byte) (p entryPlace, ok bool) {
	p, ok = placeOfEntry(value)
	if !ok || !t.ranged() {
		return p, ok
	}
	primaryKey, ok := primaryKeyOfEntry(key, value)
	return p.by(t, primaryKey), ok
}

// primaryKeyOfEntry gives the primary key of the row that an entry leads to; placeOfEntry has found the value well formed.
func primaryKeyOfEntry(key, value []byte) (primaryKey []byte, ok bool) {
	primaryKey = value[4:]
	if value[0] >= entryArrivedWithKey {
		primaryKey = primaryKey[arrivalSize:]
	}
	if value[0] != entryWithLength && value[0] != entryArrivedWithLength {
		return primaryKey, true
	}
	if len(primaryKey) != 2 {
		return nil, false
	}
	n := int(binary.BigEndian.Uint16(primaryKey))
	if n > len(key)-entryAt {
		return nil, false
	}
	return key[len(key)-n:], true
}

// plainIn gives the plain form of a value, as of the bucket that the row is in now.
func (p entryPlace) plainIn(value []byte) []byte {
	if p.arrival == 0 && !p.named {
		return value
	}
	out := appendPlain(nil, value)
	out[1], out[2], out[3] = byte(p.bucket>>16), byte(p.bucket>>8), byte(p.bucket)
	return out
}

func bucketAtStart(b []byte) shardmap.Bucket {
	return shardmap.Bucket(b[0])<<16 | shardmap.Bucket(b[1])<<8 | shardmap.Bucket(b[2])
}

// placeOfEntry reads where the row of an entry of a secondary index lies; ok is false where the value is malformed.
func placeOfEntry(value []byte) (p entryPlace, ok bool) {
	if len(value) < 4 {
		return p, false
	}
	p.bucket = bucketAtStart(value[1:])
	switch value[0] {
	case entryWithKey, entryWithLength:
		return p, true
	case entryArrivedWithKey, entryArrivedWithLength:
		if len(value) < 4+arrivalSize {
			return p, false
		}
		p.arrival = binary.BigEndian.Uint32(value[4:])
		return p, p.arrival != 0
	}
	return p, false
}

// placeOfOrder is placeOfEntry of the index in primary key order.
func placeOfOrder(value []byte) (p entryPlace, ok bool) {
	switch len(value) {
	case orderArrivedValue:
		if p.arrival = binary.BigEndian.Uint32(value[orderValue:]); p.arrival == 0 {
			return p, false
		}
	case orderValue:
	default:
		return p, false
	}
	p.bucket = bucketAtStart(value)
	return p, true
}

// appendArrived appends the form that a plain value has with an arrival.
func appendArrived(dst, plain []byte, arrival uint32) []byte {
	if arrival == 0 {
		return append(dst, plain...)
	}
	dst = append(dst, plain[0]+entryArrivedWithKey-entryWithKey)
	dst = append(dst, plain[1:4]...)
	dst = binary.BigEndian.AppendUint32(dst, arrival)
	return append(dst, plain[4:]...)
}

// appendPlain appends the plain form of a value that placeOfEntry has found well formed.
func appendPlain(dst, value []byte) []byte {
	if value[0] < entryArrivedWithKey {
		return append(dst, value...)
	}
	dst = append(dst, value[0]-(entryArrivedWithKey-entryWithKey))
	dst = append(dst, value[1:4]...)
	return append(dst, value[4+arrivalSize:]...)
}

// appendOrderValue appends the value of an entry in the index in primary key order.
func appendOrderValue(dst, rowKey []byte, arrival uint32) []byte {
	dst = append(dst, rowKey[bucketAt:arrivalAt]...)
	if arrival != 0 {
		dst = binary.BigEndian.AppendUint32(dst, arrival)
	}
	return dst
}

// arrivalOf gives the arrival of a bucket that is written to. One that is not here any more is no longer the transaction's.
func arrivalOf(s Stays, bucket shardmap.Bucket) (uint32, error) {
	arrival, ok := s.Arrival(bucket)
	if !ok {
		return 0, txn.NewUnder(0)
	}
	return arrival, nil
}

// standing gives the plain form of an entry that is stored, nil where it does not count; get reads the row of one that may.
func (x *indexRule) standing(c *Ctx, s Stays, key, value []byte, get func(row []byte) ([]byte, error)) ([]byte, error) {
	if value == nil || x.def.Global && !x.table.ranged() {
		return value, nil
	}
	p, ok := x.table.placeOf(key, value)
	switch {
	case !ok:
		return nil, x.table.damagedEntry(key)
	case x.def.Global:
		return p.plainIn(value), nil
	case !p.stands(s):
		if _, ours := s.Arrival(p.bucket); !ours {
			return nil, nil
		}
		if counts, err := x.confirmed(c, key, value, get); err != nil || !counts {
			return nil, err
		}
	}
	return p.plainIn(value), nil
}

// newest gives the entry that holds now under key, in the plain form; nil where there is none.
func (x *indexRule) newest(c *Ctx, key []byte) ([]byte, error) {
	value, err := c.local.tx.Newest(c.ctx(), key)
	if err != nil {
		return nil, err
	}
	return x.standing(c, c.local.tx, key, value, func(row []byte) ([]byte, error) { return c.local.tx.Newest(c.ctx(), row) })
}

// put stages an entry, given in the plain form.
func (x *indexRule) put(c *Ctx, key, plain []byte) error {
	if x.def.Global {
		return c.local.tx.Put(key, plain)
	}
	arrival, err := arrivalOf(c.local.tx, bucketAtStart(plain[1:]))
	if err != nil {
		return err
	}
	if arrival != 0 {
		plain = appendArrived(nil, plain, arrival)
	}
	return c.local.tx.Put(key, plain)
}

// EntryPlace tells in which bucket the row of an entry of a local index lies, and to which stay of it the entry belongs: 0 also where it has the name that the bucket
// had in an earlier segment, which named says; ok is false where it is malformed. order says that the index is that in primary key order.
func (c *RowCheck) EntryPlace(key, value []byte, order bool) (bucket, arrival uint32, named, ok bool) {
	var p entryPlace
	if !order {
		p, ok = c.table.placeOf(key, value)
	} else if p, ok = placeOfOrder(value); ok && len(key) > bucketAt {
		p = p.by(c.table, key[bucketAt:])
	}
	return uint32(p.bucket), p.arrival, p.named, ok
}

// EntryPlace tells of which stay of which bucket the value of an entry says that it is; ok is false where it is malformed. order says that the index is that in primary
// key order.
func EntryPlace(value []byte, order bool) (bucket, arrival uint32, ok bool) {
	place := placeOfEntry
	if order {
		place = placeOfOrder
	}
	p, ok := place(value)
	return uint32(p.bucket), p.arrival, ok
}

// PlainEntry appends the form that the value of an entry has without its arrival, as of a bucket; EntryPlace has found it well formed.
func PlainEntry(dst, value []byte, bucket uint32, order bool) []byte {
	at := len(dst)
	if order {
		dst = append(dst, value[:orderValue]...)
	} else {
		dst = appendPlain(dst, value)
		at++
	}
	dst[at], dst[at+1], dst[at+2] = byte(bucket>>16), byte(bucket>>8), byte(bucket)
	return dst
}
