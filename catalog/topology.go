package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// Author is the author of a change of the topology, and the reason.
type Author struct {
	Who, Why string
	Plan     uint64 // the plan that the change is part of; 0: none
	Micros   int64  // since 1970: now
}

func (c *Change) note(a Author, kind string, d *Database, subject, change string) error {
	r := &Record{Kind: kind, Database: d.OID, Subject: subject, Change: change, Who: a.Who, Why: a.Why, Plan: a.Plan}
	return c.Record(r, a.Micros)
}

// current returns a database as the change leaves it so far, for the next step on it; the caller
// owns it.
func (c *Change) current(d *Database) *Database {
	if i, ok := c.at[keyOf(d)]; ok && c.ops[i].kind == putOp {
		d = c.ops[i].desc.(*Database)
	}
	return d.Clone()
}

// FragmentNamed returns the fragment with a name such as orders$1.
func (d *Database) FragmentNamed(name string) (*Fragment, error) {
	for i := range d.Fragments {
		if f := &d.Fragments[i]; d.FragmentName(f) == name {
			return f, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, `fragment "%s" of database "%s" does not exist`, name, d.Name).
		WithHint("sherd.fragments lists them.")
}

// NameOf returns the name of the fragment with a number, "" if there is none.
func (d *Database) NameOf(fragment uint32) string {
	if f := d.FragmentByID(fragment); f != nil {
		return d.FragmentName(f)
	}
	return ""
}

func checkBuckets(m *shardmap.Map, v shardmap.Interval) error {
	if !v.OneKind() || !m.Has(v) {
		return pgerr.New(pgerr.InvalidParameterValue, "there are no buckets from %d to before %d", v.Lo, v.Hi).
			WithHint("The first bucket counts, the last does not: from 0 to %d are all of them.", shardmap.BucketCount)
	}
	return nil
}

// AddMove starts a move of buckets; id is a new job number. It returns an error if the target takes
// no buckets, if buckets are pinned elsewhere, if another move has them, or if there is nothing to
// move.
func (c *Change) AddMove(id uint64, database OID, m *Move, a Author) error {
	return c.addMove(c.base.Database(database), id, m, a)
}

// addMove is AddMove with the database as the change leaves it.
func (c *Change) addMove(d *Database, id uint64, m *Move, a Author) error {
	if err := checkBuckets(d.Map, m.Interval); err != nil {
		return err
	}
	if err := c.mayTake(d, m); err != nil {
		return err
	}
	if len(d.Remaining(m)) == 0 {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `%s in fragment "%s" already`, c.shown(d.OID, m.Interval),
			d.NameOf(m.Target)).
			WithHint("sherd.bucket_map shows which fragment has what, and sherd.segments of range tables.")
	}
	for _, other := range c.movesIn(d.OID) {
		if other.touches(shardmap.NewBucketSet(m.Interval)) {
			return pgerr.New(pgerr.ObjectInUse, "%s being moved by move %d", c.shown(d.OID, other.Interval),
				other.Job.ID).
				WithHint("Wait for it, or end it with SELECT sherd.cancel_move(%d).", other.Job.ID)
		}
	}
	m.Who, m.Why, m.Plan = a.Who, a.Why, a.Plan
	c.nameSegments(d.OID, m)
	return errors.Join(c.begun(d.OID), c.PutJob(NewMoveJob(id, d.OID, m, a.Micros)))
}

// begun makes a change that starts a move a conflict for all changes that look at the moves of the
// database (movesIn), and for changes of the database meanwhile, such as a pin: each would not have
// seen the other. A put of the unchanged cluster object stands for the list of moves. The database
// itself is not put, because prepared transactions that create tables in it require it unchanged,
// possibly for a long time.
func (c *Change) begun(database OID) error {
	c.add(requireOp, newKey(databaseObject, uint64(database)), nil)
	return c.editCluster(func(*Cluster) {})
}

// movesIn returns the moves of a database to a change that depends on them. The change becomes a
// conflict if another move is started meanwhile.
func (c *Change) movesIn(database OID) []RunningMove {
	c.add(requireOp, newKey(clusterObject, 0), nil)
	return c.base.Moves(database)
}

// mayTake refuses a move for reasons that last: the target does not exist or is being removed, or a
// rule keeps the buckets where they are.
func (c *Change) mayTake(d *Database, m *Move) error {
	target := d.FragmentByID(m.Target)
	switch {
	case target == nil:
		return pgerr.New(pgerr.UndefinedObject, `%s to go to a fragment that database "%s" has not any more`,
			c.shown(d.OID, m.Interval), d.Name)
	case target.Draining:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `fragment "%s" takes no buckets: it is being removed`,
			d.FragmentName(target))
	}
	for _, r := range d.Remaining(m) {
		if p, ok := d.Pinned(r.Interval, m.Target); ok {
			return pgerr.New(pgerr.ObjectInUse, `%s pinned to fragment "%s"`, c.shown(d.OID, p.Interval),
				d.NameOf(p.Fragment)).
				WithHint("SELECT sherd.unpin(%s, %d, %d) ends the pin.", quoteLiteral(d.Name), p.Lo, p.Hi)
		}
		if p := d.keptByPrefix(r.Interval, m.Target); p != nil {
			return pgerr.New(pgerr.ObjectInUse, `%s of prefix "%s", which is to be in %s`, c.shown(d.OID, p.Interval),
				p.Text, d.namesOf(p.Fragments)).
				WithHint("sherd.set_prefix names other fragments for it.")
		}
	}
	return nil
}

// AddFragment adds a fragment without buckets, with replicas on nodes. The first node creates the
// fragment, the others join. AddFragment returns the fragment's name.
func (c *Change) AddFragment(database OID, id uint32, nodes []uint32, a Author) (name string, err error) {
	if len(nodes) == 0 {
		return "", NoNode(c.base.Database(database).Labels)
	}
	d := c.current(c.base.Database(database))
	f := Fragment{ID: id, Nodes: slices.Clone(nodes), Joining: slices.Clone(nodes[1:]), Added: true}
	for _, other := range d.Fragments {
		f.Ordinal = max(f.Ordinal, other.Ordinal+1)
	}
	d.Fragments = append(d.Fragments, f)
	name = d.FragmentName(&f)
	return name, errors.Join(c.PutDatabase(d), c.note(a, FragmentRecord, d, name, "added"))
}

// Isolate adds a fragment as AddFragment does, and starts to move buckets there. They are pinned
// for an anchor when they have arrived. job is a new job number.
func (c *Change) Isolate(database OID, id uint32, nodes []uint32, job uint64, v shardmap.Interval, anchor string,
	a Author) (name string, err error) {
	if name, err = c.AddFragment(database, id, nodes, a); err != nil {
		return "", err
	}
	return name, c.addMove(c.current(c.base.Database(database)), job,
		&Move{Interval: v, Target: id, Pin: true, Anchors: []string{anchor}}, a)
}

// SplitRange splits a range of the bucket map in two. The second part starts with bucket at.
func (c *Change) SplitRange(database OID, at uint32, a Author) error {
	d := c.current(c.base.Database(database))
	m, err := d.Map.Cut(at)
	if err != nil {
		return pgerr.New(pgerr.InvalidParameterValue, "a range cannot be split at bucket %d", at).
			WithDetail("%s.", pgerr.Capital(err.Error())).
			WithHint("sherd.bucket_map lists the ranges; name the bucket that the second part begins with.")
	}
	d.Map = m
	return errors.Join(c.PutDatabase(d), c.note(a, RangeRecord, d, fmt.Sprint(at), "split"))
}

// MergeRanges merges two ranges of the bucket map. The second starts with bucket at.
func (c *Change) MergeRanges(database OID, at uint32, a Author) error {
	d := c.current(c.base.Database(database))
	if at > 0 && at < shardmap.BucketCount {
		before, after := d.Map.Lookup(shardmap.Bucket(at-1)), d.Map.Lookup(shardmap.Bucket(at))
		if before != after {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "ranges that meet at bucket %d cannot be merged", at).
				WithDetail(`The one before is in fragment "%s", the one from it on in "%s".`, d.NameOf(before),
					d.NameOf(after)).
				WithHint("Move one of them first, with sherd.move_buckets.")
		}
	}
	m, err := d.Map.Join(at)
	if err != nil {
		return pgerr.New(pgerr.InvalidParameterValue, "no ranges meet at bucket %d", at).
			WithHint("sherd.bucket_map lists the ranges; name the bucket that the second one begins with.")
	}
	d.Map = m
	return errors.Join(c.PutDatabase(d), c.note(a, RangeRecord, d, fmt.Sprint(at), "merged"))
}

// Pin pins buckets to the fragment that owns them.
func (c *Change) Pin(database OID, v shardmap.Interval, fragment uint32, a Author) error {
	d := c.current(c.base.Database(database))
	if err := checkBuckets(d.Map, v); err != nil {
		return err
	}
	name := d.NameOf(fragment)
	if rest := d.Remaining(&Move{Interval: v, Target: fragment}); len(rest) > 0 {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `%s not in fragment "%s"`,
			c.shown(database, rest[0].Interval), name).
			WithHint("Move them there first, with sherd.move_buckets.")
	}
	for _, p := range d.Pins {
		if !p.Intersect(v).Empty() {
			return pgerr.New(pgerr.DuplicateObject, `%s pinned to fragment "%s" already`, c.shown(d.OID, p.Interval),
				d.NameOf(p.Fragment)).
				WithHint("SELECT sherd.unpin(%s, %d, %d) ends the pin.", quoteLiteral(d.Name), p.Lo, p.Hi)
		}
	}
	for _, m := range c.movesIn(database) {
		if m.touches(shardmap.NewBucketSet(v)) && m.Target != fragment {
			return pgerr.New(pgerr.ObjectInUse, "%s being moved by move %d", c.shown(database, m.Interval), m.Job.ID).
				WithHint("Wait for it, or end it with SELECT sherd.cancel_move(%d).", m.Job.ID)
		}
	}
	d.Pins = append(d.Pins, Pin{Interval: v, Fragment: fragment})
	slices.SortFunc(d.Pins, func(x, y Pin) int { return int(x.Lo) - int(y.Lo) })
	return errors.Join(c.PutDatabase(d), c.note(a, PinRecord, d, c.nameOf(d.OID, v), fmt.Sprintf("pinned to %s", name)))
}

// Unpin removes the pins that lie within an interval. It returns an error if a pin reaches beyond
// the interval.
func (c *Change) Unpin(database OID, v shardmap.Interval, a Author) error {
	d := c.current(c.base.Database(database))
	if err := checkBuckets(d.Map, v); err != nil {
		return err
	}
	gone := 0
	for _, p := range d.Pins {
		switch in := p.Intersect(v); {
		case in == p.Interval:
			gone++
		case !in.Empty():
			return pgerr.New(pgerr.InvalidParameterValue, "buckets %v are pinned together", p.Interval).
				WithHint("Unpin all of them.")
		}
	}
	if gone == 0 {
		return pgerr.New(pgerr.UndefinedObject, "no buckets of %v are pinned", v).
			WithHint("sherd.pins lists what is pinned.")
	}
	d.Pins = slices.DeleteFunc(d.Pins, func(p Pin) bool { return p.Intersect(v) == p.Interval })
	return errors.Join(c.PutDatabase(d), c.note(a, PinRecord, d, c.nameOf(d.OID, v), "unpinned"))
}

// Isolates reports whether a fragment owns pinned buckets and no others. Only an operator moves
// more buckets to it.
func (d *Database) Isolates(fragment uint32) bool {
	var pinned []shardmap.Interval
	for _, p := range d.Pins {
		if p.Fragment == fragment {
			pinned = append(pinned, p.Interval)
		}
	}
	owned := d.Map.Owned(fragment)
	return len(pinned) > 0 && !owned.IsEmpty() && owned.Intersect(shardmap.NewBucketSet(pinned...)).Equal(owned)
}
