package catalog

import (
	"fmt"
	"strings"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/shardmap"
)

// MovedSegment is a segment of a range table as it was when a move of it began: its bucket does not
// lead to it any more once it was split or merged, or the table is gone.
type MovedSegment struct {
	Table   OID
	Storage uint32 // of the rows: while it is the table's, the columns of the primary key say how Keys are read
	Name    string // the table's
	Keys    shardmap.KeyRange
}

// SegmentName returns the name of a segment as sherd.segments has it. Of a table that is gone, or has other rows now, it has the keys as they are encoded.
func (v *View) SegmentName(s *MovedSegment) string {
	if t := v.Table(s.Table); t != nil && t.StorageID == s.Storage {
		return s.Keys.Name(t.keyForm())
	}
	return s.Keys.String()
}

// SegmentName returns the name of the i-th segment of a range table.
func (t *Table) SegmentName(i int) string { return t.Segments.Range(i).Name(t.keyForm()) }

// keyForm says how the keys of a range table are printed in names of segments: all alike, so that a bound has one name.
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

// keyForms are the forms of keys by the OID of their type, those that are not encoded.
var keyForms = map[OID]shardmap.KeyForm{17: shardmap.ByteKeys, 20: shardmap.Int8Keys, 21: shardmap.Int2Keys, 23: shardmap.Int4Keys}

// namedSegments is how many segments of one move are named.
const namedSegments = 4

// nameSegments has a move say which segments its buckets are, and how many more.
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
				m.Segments = append(m.Segments, MovedSegment{Table: t.OID, Storage: t.StorageID, Name: t.Name, Keys: t.Segments.Range(i)})
			}
		}
	}
}

// nameOf names buckets as a move of them would.
func (c *Change) nameOf(database OID, v shardmap.Interval) string {
	m := &Move{Interval: v}
	c.nameSegments(database, m)
	return c.subject(m)
}

// shown is nameOf in messages, with the verb that goes with it: "bucket 17 is".
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

// Name says what a move is about: what becomes of segments, which segments move, each as keys gives it, or buckets.
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

// subject is Name as it is kept: with the names that sherd.segments has.
func (c *Change) subject(m *Move) string { return m.Name(c.base.SegmentName) }

func encodeMovedSegments(list []MovedSegment) (out []*pb.MovedSegment) {
	for _, s := range list {
		out = append(out, &pb.MovedSegment{Table: s.Table, Storage: s.Storage, Name: s.Name, Start: s.Keys.Start, End: s.Keys.End})
	}
	return out
}

func decodeMovedSegments(list []*pb.MovedSegment) (out []MovedSegment) {
	for _, p := range list {
		out = append(out, MovedSegment{Table: p.GetTable(), Storage: p.GetStorage(), Name: p.GetName(), Keys: shardmap.KeyRange{Start: p.GetStart(), End: p.GetEnd()}})
	}
	return out
}
