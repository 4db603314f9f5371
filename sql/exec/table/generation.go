package table

import (
	"encoding/binary"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/txn"
)

// Generations returns the generations of a fragment's buckets. A bucket gets a new generation
// each time it moves to the fragment; rows and entries of an earlier generation
// are invisible.
type Generations interface {
	// Generation returns the bucket's generation, 0 if it was always here; ok is false if the
	// fragment does not have the bucket.
	Generation(bucket shardmap.Bucket) (generation uint32, ok bool)
}

// The key of a local index entry has no bucket. Its value names the bucket and generation of its
// row, and is valid only while the fragment has the bucket in that generation (V1):
//
//	3 · bucket(3) · generation(4) · primary key   as 1, of a bucket that was moved here
//	4 · bucket(3) · generation(4) · length(2)     as 2, likewise
//	bucket(3) · generation(4)                     of the index in primary key order, as bucket(3)
//
// Entries of a bucket that was always here, and entries of global indexes, which do not name the
// generation of the row, have the forms without it. Those are also the plain forms, in which
// entries are computed and sent: the generation is added when an entry is written, and removed when
// it is read.
const (
	entryArrivedWithKey    = 3
	entryArrivedWithLength = 4

	orderValue        = 3 // bytes of an entry's value in the index in primary key order
	orderArrivedValue = 7
	generationSize    = 4
)

// Place is the place of an entry's row.
type Place struct {
	Bucket     shardmap.Bucket
	generation uint32
	named      bool // the bucket is that of the row's segment now; the value names an earlier one
}

// Stands reports whether an entry counts. An entry of an earlier generation of its bucket, or of an
// earlier segment, does not.
func (p Place) Stands(s Generations) bool {
	generation, ok := s.Generation(p.Bucket)
	return ok && generation == p.generation && !p.named
}

// By moves the place of an entry of a range table to the segment of the row's primary key,
// whichever bucket the value names: after a split or merge of segments the rows have other buckets,
// but the keys and versions of their entries stay the same.
func (p Place) By(t *Table, primaryKey []byte) Place {
	if !t.Ranged() {
		return p
	}
	if b := t.Def.Segments.At(primaryKey).Bucket; b != p.Bucket {
		p.Bucket, p.named = b, true
	}
	return p
}

// PlaceOf is placeOfEntry of an entry of the table's.
func (t *Table) PlaceOf(key, value []byte) (p Place, ok bool) {
	p, ok = placeOfEntry(value)
	if !ok || !t.Ranged() {
		return p, ok
	}
	primaryKey, ok := primaryKeyOfEntry(key, value)
	return p.By(t, primaryKey), ok
}

// primaryKeyOfEntry returns the primary key of the row that an entry leads to. placeOfEntry has
// checked the value.
func primaryKeyOfEntry(key, value []byte) (primaryKey []byte, ok bool) {
	primaryKey = value[4:]
	if value[0] >= entryArrivedWithKey {
		primaryKey = primaryKey[generationSize:]
	}
	if value[0] != EntryWithLength && value[0] != entryArrivedWithLength {
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

// plainIn returns the plain form of a value, with the bucket that the row is in now.
func (p Place) plainIn(value []byte) []byte {
	if p.generation == 0 && !p.named {
		return value
	}
	out := appendPlain(nil, value)
	out[1], out[2], out[3] = byte(p.Bucket>>16), byte(p.Bucket>>8), byte(p.Bucket)
	return out
}

// BucketAtStart returns the bucket that the first bytes are.
func BucketAtStart(b []byte) shardmap.Bucket {
	return shardmap.Bucket(b[0])<<16 | shardmap.Bucket(b[1])<<8 | shardmap.Bucket(b[2])
}

// placeOfEntry decodes the place of the row of an entry of a secondary index; ok is false if the
// value is malformed.
func placeOfEntry(value []byte) (p Place, ok bool) {
	if len(value) < 4 {
		return p, false
	}
	p.Bucket = BucketAtStart(value[1:])
	switch value[0] {
	case entryWithKey, EntryWithLength:
		return p, true
	case entryArrivedWithKey, entryArrivedWithLength:
		if len(value) < 4+generationSize {
			return p, false
		}
		p.generation = binary.BigEndian.Uint32(value[4:])
		return p, p.generation != 0
	}
	return p, false
}

// PlaceOfOrder is placeOfEntry of the index in primary key order.
func PlaceOfOrder(value []byte) (p Place, ok bool) {
	switch len(value) {
	case orderArrivedValue:
		if p.generation = binary.BigEndian.Uint32(value[orderValue:]); p.generation == 0 {
			return p, false
		}
	case orderValue:
	default:
		return p, false
	}
	p.Bucket = BucketAtStart(value)
	return p, true
}

// AppendMoved appends the form that a plain value has with a generation.
func AppendMoved(dst, plain []byte, generation uint32) []byte {
	if generation == 0 {
		return append(dst, plain...)
	}
	dst = append(dst, plain[0]+entryArrivedWithKey-entryWithKey)
	dst = append(dst, plain[1:4]...)
	dst = binary.BigEndian.AppendUint32(dst, generation)
	return append(dst, plain[4:]...)
}

// appendPlain appends the plain form of a value that placeOfEntry has found well formed.
func appendPlain(dst, value []byte) []byte {
	if value[0] < entryArrivedWithKey {
		return append(dst, value...)
	}
	dst = append(dst, value[0]-(entryArrivedWithKey-entryWithKey))
	dst = append(dst, value[1:4]...)
	return append(dst, value[4+generationSize:]...)
}

// AppendOrderValue appends the value of an entry in the index in primary key order.
func AppendOrderValue(dst, rowKey []byte, generation uint32) []byte {
	dst = append(dst, rowKey[bucketAt:generationAt]...)
	if generation != 0 {
		dst = binary.BigEndian.AppendUint32(dst, generation)
	}
	return dst
}

// GenerationOf returns the generation of a bucket that is written to. If the bucket has moved away,
// the error says so.
func GenerationOf(s Generations, bucket shardmap.Bucket) (uint32, error) {
	generation, ok := s.Generation(bucket)
	if !ok {
		return 0, txn.NewUnder(0)
	}
	return generation, nil
}

// Standing returns the plain form of a stored entry, nil if it does not count. get reads the row of
// an entry that has to be confirmed.
func (x *Index) Standing(
	c *expr.Ctx, s Generations, key, value []byte, get func(row []byte) ([]byte, error),
) ([]byte, error) {
	if value == nil || x.Def.Global && !x.Table.Ranged() {
		return value, nil
	}
	p, ok := x.Table.PlaceOf(key, value)
	switch {
	case !ok:
		return nil, x.Table.DamagedEntry(key)
	case x.Def.Global:
		return p.plainIn(value), nil
	case !p.Stands(s):
		if _, ours := s.Generation(p.Bucket); !ours {
			return nil, nil
		}
		if counts, err := x.Confirmed(c, key, value, get); err != nil || !counts {
			return nil, err
		}
	}
	return p.plainIn(value), nil
}

// EntryPlace returns the bucket of the row of a local index entry, and the generation that the
// entry belongs to. named is true if the entry names the bucket of an earlier segment; the
// generation may then be 0. ok is false if the entry is malformed. order is true for the index in
// primary key order.
func (c *RowCheck) EntryPlace(key, value []byte, order bool) (bucket, generation uint32, named, ok bool) {
	var p Place
	if !order {
		p, ok = c.Table.PlaceOf(key, value)
	} else if p, ok = PlaceOfOrder(value); ok && len(key) > bucketAt {
		p = p.By(c.Table, key[bucketAt:])
	}
	return uint32(p.Bucket), p.generation, p.named, ok
}

// EntryPlace returns the bucket and generation in the value of an entry; ok is false if it is
// malformed. order is true for the index in primary key order.
func EntryPlace(value []byte, order bool) (bucket, generation uint32, ok bool) {
	place := placeOfEntry
	if order {
		place = PlaceOfOrder
	}
	p, ok := place(value)
	return uint32(p.Bucket), p.generation, ok
}

// PlainEntry appends the plain form of the value of an entry, with a bucket. EntryPlace has checked
// the value.
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
