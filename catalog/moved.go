package catalog

import (
	"fmt"
	"strings"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/shardmap"
)

// MovedSegment describes a segment of a range table as it was when a move of it started. The bucket
// no longer leads to the segment after a split or merge, or after the table was dropped.
type MovedSegment struct {
	Table OID
	// Storage is the storage id of the rows. While the table has it, the primary key's columns show
	// how to read Keys.
	Storage uint32
	Name    string // the table's
	Keys    shardmap.KeyRange
}

// SegmentName returns the name of a segment as in sherd.segments. If the table was dropped or its
// rows rewritten, the name shows the encoded keys.
func (v *View) SegmentName(s *MovedSegment) string {
	if t := v.Table(s.Table); t != nil && t.StorageID == s.Storage {
		return s.Keys.Name(t.keyForm())
	}
	return s.Keys.String()
}

// SegmentName returns the name of the i-th segment of a range table.
func (t *Table) SegmentName(i int) string { return t.Segments.Range(i).Name(t.keyForm()) }

// keyForm returns the form in which names of segments show the keys of a range table. All names use
// one form, so that a bound has one name.
func (t *Table) keyForm() shardmap.KeyForm {
	pk := t.PrimaryKey()
	if pk == nil || len(pk.Columns) != 1 {
		return shardmap.EncodedKeys
	}
	c := t.ColumnByNum(pk.Columns[0])
	if c == nil {
		return shardmap.EncodedKeys
	}
	f := keyForms[c.Type]
	for i := range t.Segments {
		if !f.Prints(t.Segments[i].Start) {
			return shardmap.EncodedKeys
		}
	}
	return f
}

// keyForms maps the OID of a type to the form of its keys. Keys of other types are shown encoded.
var keyForms = map[OID]shardmap.KeyForm{17: shardmap.ByteKeys, 20: shardmap.Int8Keys, 21: shardmap.Int2Keys,
	23: shardmap.Int4Keys}

// namedSegments is the number of segments that a move names.
const namedSegments = 4

// nameSegments records in a move which segments its buckets are, and how many there are beyond
// those that it names.
func (c *Change) nameSegments(database OID, m *Move) {
	if m.Lo < shardmap.BucketCount {
		return
	}
	set := shardmap.NewBucketSet(m.Interval)
	for t := range c.base.Tables(database) {
		for i, s := range t.Segments {
			switch {
			case !set.Contains(s.Bucket):
			case len(m.Segments) == namedSegments:
				m.MoreSegments++
			default:
				m.Segments = append(m.Segments, MovedSegment{Table: t.OID, Storage: t.StorageID, Name: t.Name,
					Keys: t.Segments.Range(i)})
			}
		}
	}
}

// nameOf returns the name that a move of these buckets would have.
func (c *Change) nameOf(database OID, v shardmap.Interval) string {
	m := &Move{Interval: v}
	c.nameSegments(database, m)
	return c.subject(m)
}

// shown returns nameOf with a noun and a verb, for messages: "bucket 17 is".
func (c *Change) shown(database OID, v shardmap.Interval) string {
	noun := "bucket"
	m := &Move{Interval: v}
	if c.nameSegments(database, m); len(m.Segments) > 0 {
		noun = "segment"
	}
	if v.Len() == 1 {
		return noun + " " + c.subject(m) + " is"
	}
	return noun + "s " + c.subject(m) + " are"
}

// Name returns what a move moves: the description of a split or merge, the segments, each named by
// keys, or the buckets.
func (m *Move) Name(keys func(*MovedSegment) string) string {
	switch {
	case m.Resegment != nil:
		return m.Resegment.What
	case len(m.Segments) == 0:
		return m.Interval.String()
	}
	var b strings.Builder
	for i := range m.Segments {
		s := &m.Segments[i]
		switch {
		case i == 0:
			b.WriteString(s.Name + ": ")
		case m.Segments[i-1].Table != s.Table:
			b.WriteString("; " + s.Name + ": ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(keys(s))
	}
	if m.MoreSegments > 0 {
		fmt.Fprintf(&b, " and %d more", m.MoreSegments)
	}
	return b.String()
}

// subject returns Name with the segments' names of sherd.segments, for records.
func (c *Change) subject(m *Move) string { return m.Name(c.base.SegmentName) }

func encodeMovedSegments(list []MovedSegment) (out []*pb.MovedSegment) {
	for _, s := range list {
		out = append(out, &pb.MovedSegment{Table: s.Table, Storage: s.Storage, Name: s.Name, Start: s.Keys.Start,
			End: s.Keys.End})
	}
	return out
}

func decodeMovedSegments(list []*pb.MovedSegment) (out []MovedSegment) {
	for _, p := range list {
		out = append(out, MovedSegment{Table: p.GetTable(), Storage: p.GetStorage(), Name: p.GetName(),
			Keys: shardmap.KeyRange{Start: p.GetStart(), End: p.GetEnd()}})
	}
	return out
}
