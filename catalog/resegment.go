package catalog

import (
	"bytes"
	"errors"
	"slices"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// ResegmentJob is the kind of a job that replaces segments of a range table: it splits one segment,
// or merges neighbours. It is a move from the old buckets to new ones; the keys of the rows get the
// new bucket numbers. Nodes that do not know the kind ignore the job.
const ResegmentJob = "resegment"

// Resegment is the payload of a ResegmentJob. The numbers of the new buckets are reserved when the
// job is created. The flip removes the old buckets, makes the new ones part of the bucket map and
// of the table, all in one entry. So a bucket never stands for two ranges of keys.
type Resegment struct {
	Table OID
	Old   []shardmap.Bucket // neighbours in the table, in the order of their keys
	New   shardmap.Segments // the first one starts at the start of the first old segment
	What  string            // description, for messages
}

func encodeResegment(r *Resegment) *pb.Resegment {
	if r == nil {
		return nil
	}
	p := &pb.Resegment{Table: uint32(r.Table), New: encodeSegments(r.New), What: r.What}
	for _, b := range r.Old {
		p.Old = append(p.Old, uint32(b))
	}
	return p
}

func decodeResegment(p *pb.Resegment) *Resegment {
	if p == nil {
		return nil
	}
	r := &Resegment{Table: OID(p.GetTable()), New: decodeSegments(p.GetNew()), What: p.GetWhat()}
	for _, b := range p.GetOld() {
		r.Old = append(r.Old, shardmap.Bucket(b))
	}
	return r
}

func (r *Resegment) check() error {
	if r.Table == 0 || len(r.Old) == 0 || len(r.New) == 0 {
		return errors.New("segments can take the place of others only where there are both, of a table")
	}
	for i, s := range r.New {
		if i > 0 && bytes.Compare(r.New[i-1].Start, s.Start) >= 0 {
			return errors.New("new segments are out of order")
		}
	}
	return nil
}

// OldBuckets returns the buckets that are removed.
func (r *Resegment) OldBuckets() shardmap.BucketSet { return shardmap.BucketSetOf(r.Old...) }

// NewBuckets returns the buckets that replace them.
func (r *Resegment) NewBuckets() shardmap.BucketSet { return r.New.Buckets() }

// Place returns the position of the first old segment in the table, -1 if the old segments are not
// all there, next to each other.
func (r *Resegment) Place(t *Table) int {
	at := slices.IndexFunc(t.Segments, func(s shardmap.Segment) bool { return s.Bucket == r.Old[0] })
	if at < 0 || at+len(r.Old) > len(t.Segments) || !bytes.Equal(t.Segments[at].Start, r.New[0].Start) {
		return -1
	}
	for i, b := range r.Old {
		if t.Segments[at+i].Bucket != b {
			return -1
		}
	}
	return at
}

// From returns the fragment that has the old buckets; ok is false if several have.
func (r *Resegment) From(m *shardmap.Map) (f shardmap.FragmentID, ok bool) {
	shares := m.Split(r.OldBuckets())
	if len(shares) != 1 {
		return 0, false
	}
	return shares[0].Fragment, true
}

// span returns the smallest interval that holds all old buckets. It may hold others too.
func (r *Resegment) span() shardmap.Interval {
	return shardmap.Interval{Lo: uint32(slices.Min(r.Old)), Hi: uint32(slices.Max(r.Old)) + 1}
}

// AddResegment starts to replace old segments, which are in one fragment and pinned alike, by
// segments that start at starts. It reserves the numbers of the new buckets. If the split is part
// of a plan, the new segments are Automatic: no user asked for their bounds. id is a new job
// number.
func (c *Change) AddResegment(id uint64, table OID, old []shardmap.Bucket, starts [][]byte, what string,
	a Author) error {
	t := c.base.Table(table)
	if t == nil {
		return pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", table)
	}
	d := c.current(c.base.Database(t.Database))
	r := &Resegment{Table: table, Old: old, What: what}
	next, first, err := d.Map.Reserve(len(starts))
	if err != nil {
		return pgerr.New(pgerr.ProgramLimitExceeded, "no bucket is left that could be given out").
			WithDetail("%s.", pgerr.Capital(err.Error()))
	}
	for i, s := range starts {
		r.New = append(r.New, shardmap.Segment{Start: s, Bucket: first + shardmap.Bucket(i), Automatic: a.Plan != 0})
	}
	if err := r.check(); err != nil {
		return err
	}
	at := r.Place(t)
	if at < 0 {
		return pgerr.New(pgerr.SerializationFailure, `segments of table "%s" have changed meanwhile`, t.Name).
			WithHint("Try again.")
	}
	r.New[0].Automatic = t.Segments[at].Automatic
	if err := d.mayMerge(t, old); err != nil {
		return err
	}
	f, _ := r.From(d.Map)
	m := &Move{Interval: r.span(), Target: f, Who: a.Who, Why: a.Why, Plan: a.Plan, Resegment: r}
	c.movesIn(t.Database)
	if err := c.base.SegmentsInUse(t, old); err != nil {
		return err
	}
	d.Map = next
	return errors.Join(c.PutDatabase(d), c.PutJob(NewMoveJob(id, t.Database, m, a.Micros)))
}

// mayMerge refuses a merge of segments that are in different fragments or not pinned alike. Neither
// condition goes away by itself, so waiting does not help.
func (d *Database) mayMerge(t *Table, old []shardmap.Bucket) error {
	if len(d.Map.Split(shardmap.BucketSetOf(old...))) != 1 {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `segments of table "%s" are in different fragments`,
			t.Name).WithHint("Move one of them first, with sherd.move_segment.")
	}
	if !d.PinnedAlike(old) {
		return pgerr.New(pgerr.ObjectInUse, `segments of table "%s" cannot be merged: `+
			`they are not pinned to the same fragment`, t.Name).
			WithHint("sherd.unpin lets them go; sherd.pins lists what is pinned.")
	}
	return nil
}

// SegmentsInUse returns an error if a move, split or merge of these segments of a table is in
// progress.
func (v *View) SegmentsInUse(t *Table, buckets []shardmap.Bucket) error {
	for _, m := range v.Moves(t.Database) {
		if m.touches(shardmap.BucketSetOf(buckets...)) {
			return pgerr.New(pgerr.ObjectInUse, `segments of table "%s" are being moved, split or merged by move %d`,
				t.Name, m.Job.ID).
				WithHint("Wait for it, or end it with SELECT sherd.cancel_move(%d).", m.Job.ID)
		}
	}
	return nil
}

// touches reports whether a move is about some of the buckets.
func (m *Move) touches(set shardmap.BucketSet) bool {
	if m.Resegment != nil {
		return !m.Resegment.OldBuckets().Intersect(set).IsEmpty()
	}
	return !shardmap.NewBucketSet(m.Interval).Intersect(set).IsEmpty()
}

// PinnedAlike reports whether all of the buckets are pinned to one fragment, or none is pinned.
func (d *Database) PinnedAlike(buckets []shardmap.Bucket) bool {
	first, pinned := d.PinOf(buckets[0])
	for _, b := range buckets[1:] {
		if p, ok := d.PinOf(b); ok != pinned || p.Fragment != first.Fragment {
			return false
		}
	}
	return true
}

// resegment is the part of a flip that changes definitions: the table gets the new segments, the
// map gets their buckets in place of the old ones, and pins are carried over.
func (c *Change) resegment(d *Database, m RunningMove) error {
	r := m.Resegment
	t := c.base.Table(r.Table)
	if t == nil {
		return ErrStepOver
	}
	at := r.Place(t)
	if at < 0 {
		return ErrStepOver
	}
	next, err := d.Map.Replace(r.OldBuckets(), r.NewBuckets(), m.Target)
	if err != nil {
		return err
	}
	t = t.Clone()
	t.Segments = slices.Replace(slices.Clone(t.Segments), at, at+len(r.Old), r.New...)
	d.Map = next
	d.repin(r, m.Target)
	return errors.Join(c.PutDatabase(d), c.PutTable(t))
}

// repin pins the new buckets if one of the old ones is pinned at this time. They are pinned for the
// anchors of all old ones.
func (d *Database) repin(r *Resegment, fragment uint32) {
	anchors, pinned := d.pinsOf(r.Old)
	if !pinned {
		return
	}
	var pins []Pin
	for _, p := range d.Pins {
		for _, v := range shardmap.NewBucketSet(p.Interval).Minus(r.OldBuckets()).Intervals() {
			pins = append(pins, Pin{v, p.Fragment, p.Anchors})
		}
	}
	for _, s := range r.New {
		pins = append(pins, Pin{shardmap.OneBucket(s.Bucket), fragment, anchors})
	}
	slices.SortFunc(pins, func(x, y Pin) int { return int(x.Lo) - int(y.Lo) })
	d.Pins = pins
}

// pinsOf returns the anchors that buckets are pinned for, nil if one of the buckets is pinned
// without anchors.
func (d *Database) pinsOf(buckets []shardmap.Bucket) (anchors []string, pinned bool) {
	itself := false
	for _, b := range buckets {
		if p, ok := d.PinOf(b); ok {
			anchors, pinned, itself = union(anchors, p.Anchors), true, itself || len(p.Anchors) == 0
		}
	}
	if itself {
		return nil, pinned
	}
	return anchors, pinned
}

// remaining is Database.Remaining for a split or merge: the old buckets that are still in the map.
func (r *Resegment) remaining(m *shardmap.Map) (out []shardmap.Range) {
	for _, v := range m.Ranges() {
		for _, iv := range shardmap.NewBucketSet(v.Interval).Intersect(r.OldBuckets()).Intervals() {
			out = append(out, shardmap.Range{Interval: iv, Fragment: v.Fragment})
		}
	}
	return out
}

// Count returns the number of buckets that a move moves.
func (m *Move) Count() int {
	if m.Resegment != nil {
		return len(m.Resegment.Old)
	}
	return m.Len()
}
