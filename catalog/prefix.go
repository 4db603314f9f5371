package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// Rules for prefixes (shardmap.Prefixes) belong to the database, so that all tables agree on the
// bucket of an id and joins by a common anchor stay in one bucket. The definition of every hashed
// table has a copy, because query plans depend on definitions (C2): one change creates the rule and
// redefines all tables, and plans made with older definitions are refused. A change is refused as a
// conflict if it would leave a table with other rules than its database (K10), which happens if it
// was planned without the newest rules.

// Rules returns the rules for prefixes of a database, as its hashed tables have them.
func (d *Database) Rules() (out shardmap.Prefixes) {
	for _, r := range d.Prefixes {
		out = append(out, r.Prefix)
	}
	return out
}

// FollowsPrefixes reports whether the buckets of the table's rows follow the rules of its database.
func (t *Table) FollowsPrefixes() bool { return t.Kind == KindTable && len(t.Segments) == 0 }

// takePrefixes sets the rules of a table to those of its database.
func (t *Table) takePrefixes(d *Database) {
	t.Prefixes, t.PrefixEpoch = nil, 0
	if d != nil && t.FollowsPrefixes() {
		t.Prefixes, t.PrefixEpoch = d.Rules(), d.PrefixEpoch
	}
}

// checkPrefixes returns a conflict if a table's rules differ from those of its database (K10).
func (v *View) checkPrefixes(t *Table) error {
	want := Table{Kind: t.Kind, Segments: t.Segments}
	want.takePrefixes(v.Database(t.Database))
	if t.PrefixEpoch != want.PrefixEpoch || !t.Prefixes.Equal(want.Prefixes) {
		return conflict()
	}
	return nil
}

// checkTablesPrefixes calls checkPrefixes for the tables of a database whose rules have changed.
func (v *View) checkTablesPrefixes(old *View, d *Database) error {
	if before := old.Database(d.OID); before == nil || before.PrefixEpoch == d.PrefixEpoch {
		return nil
	}
	for t := range v.Tables(d.OID) {
		if err := v.checkPrefixes(t); err != nil {
			return err
		}
	}
	return nil
}

// checkRules checks the rules of a database without looking at other objects.
func (d *Database) checkRules() error {
	if len(d.Prefixes) == 0 {
		return nil
	}
	if len(d.Prefixes) > shardmap.MaxPrefixes {
		return pgerr.New(pgerr.ProgramLimitExceeded, `database "%s" has rules for %d prefixes and cannot have more`,
			d.Name, shardmap.MaxPrefixes)
	}
	for _, r := range d.Prefixes {
		if len(r.Fragments) == 0 || !slices.IsSorted(r.Fragments) ||
			slices.ContainsFunc(r.Fragments, func(f uint32) bool { return d.FragmentByID(f) == nil }) {
			return fmt.Errorf("prefix %q is for fragments %v, which are none of the database", r.Text, r.Fragments)
		}
		if !d.Map.Has(r.Interval) {
			return fmt.Errorf("the bucket map has not all of %v, of prefix %q", r.Interval, r.Text)
		}
	}
	return d.Rules().Check()
}

// AssignPrefix assigns the buckets of a new rule (B6). Each fragment gets an equal share, in the
// order of the list.
func (c *Catalog) AssignPrefix(ctx context.Context, database OID, fragments []uint32, n int) (shardmap.Interval,
	error) {
	if n < len(fragments) || n > shardmap.MaxPrefixBuckets {
		return shardmap.Interval{}, pgerr.New(pgerr.InvalidParameterValue,
			"a prefix has at least a bucket for each of its fragments and at most %d, not %d",
			shardmap.MaxPrefixBuckets, n)
	}
	var all shardmap.Interval
	err := c.assign(ctx, database, func(_ *View, d *Database) (next *shardmap.Map, err error) {
		next, all, err = d.Map.AssignShares(fragments, n)
		return next, noBucketLeft(err)
	})
	return all, err
}

// PrefixFragments returns the fragments with these names, sorted. It returns an error if a rule
// cannot use one of them.
func (d *Database) PrefixFragments(names []string) (out []uint32, err error) {
	for _, name := range names {
		f, err := d.FragmentNamed(name)
		if err != nil {
			return nil, err
		}
		if f.Draining {
			return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState,
				`fragment "%s" takes no buckets: it is being removed`, name)
		}
		out = append(out, f.ID)
	}
	if len(out) == 0 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "a rule for a prefix needs a fragment").
			WithHint("sherd.fragments lists them.")
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// AddPrefix adds a rule. The change must then put all hashed tables of the database, which copy the
// rules.
func (c *Change) AddPrefix(database OID, r PrefixRule, a Author) error {
	d := c.current(c.base.Database(database))
	if d.PrefixRule(r.Text) != nil {
		return pgerr.New(pgerr.DuplicateObject, `there is a rule for prefix "%s" already`, r.Text)
	}
	if s := d.elsewhere(&r); !s.IsEmpty() {
		// A fragment that is being removed has moved them away since they were assigned.
		return conflict()
	}
	was := d.Rules()
	d.Prefixes = append(d.Prefixes, r)
	slices.SortFunc(d.Prefixes, func(x, y PrefixRule) int { return strings.Compare(x.Text, y.Text) })
	d.PrefixEpoch++
	if err := c.keepsAnchors(d, was); err != nil {
		return err
	}
	text := fmt.Sprintf("buckets %v in %s", r.Interval, d.namesOf(r.Fragments))
	return errors.Join(c.PutDatabase(d), c.note(a, PrefixRecord, d, r.Text, text))
}

// DropPrefix drops a rule. The change must then put all hashed tables of the database. The buckets
// of the rule become empty: they stay in the map, because numbers are not reused, their pins end,
// and the balancer may move them anywhere.
func (c *Change) DropPrefix(database OID, prefix string, a Author) error {
	d := c.current(c.base.Database(database))
	r := d.PrefixRule(prefix)
	if r == nil {
		return noPrefix(d, prefix)
	}
	buckets, was := r.Interval, d.Rules()
	d.Prefixes = slices.DeleteFunc(d.Prefixes, func(r PrefixRule) bool { return r.Text == prefix })
	d.PrefixEpoch++
	if err := c.keepsAnchors(d, was); err != nil {
		return err
	}
	change := "dropped"
	if d.unpinAll(buckets) {
		change = "dropped, with the pins of its buckets"
	}
	return errors.Join(c.PutDatabase(d), c.note(a, PrefixRecord, d, prefix, change))
}

// unpinAll unpins buckets. If they are pinned together with others, the others stay pinned. It
// reports whether a bucket was pinned.
func (d *Database) unpinAll(v shardmap.Interval) (pinned bool) {
	gone := shardmap.NewBucketSet(v)
	var left []Pin
	for _, p := range d.Pins {
		if p.Intersect(v).Empty() {
			left = append(left, p)
			continue
		}
		pinned = true
		for _, rest := range shardmap.NewBucketSet(p.Interval).Minus(gone).Intervals() {
			left = append(left, Pin{rest, p.Fragment, p.Anchors})
		}
	}
	d.Pins = left
	return pinned
}

// keepsAnchors refuses new rules that would change the bucket of an anchor that is pinned, or is on
// its way to be: its pin would hold the wrong bucket.
func (c *Change) keepsAnchors(d *Database, was shardmap.Prefixes) error {
	pins := slices.Clone(d.Pins)
	for _, m := range c.movesIn(d.OID) {
		pins = append(pins, Pin{m.Interval, m.Target, m.Anchors})
	}
	rules := d.Rules()
	for _, p := range pins {
		for _, id := range p.Anchors {
			before, err := was.BucketOf(id)
			after, gone := rules.BucketOf(id)
			// A key of a table without anchors, or of a range table, where the rules have no
			// effect.
			if err != nil || !p.Contains(before) {
				before, after, gone = was.HashBucket(id), rules.HashBucket(id), nil
			}
			if p.Contains(before) && (after != before || gone != nil) {
				return pgerr.New(pgerr.ObjectInUse,
					`anchor "%s" is pinned to fragment "%s", and would lie in another bucket`, id, d.NameOf(
						p.Fragment)).
					WithHint("Let it go with sherd.unpin_anchors, and pin it again afterwards.")
			}
		}
	}
	return nil
}

func noPrefix(d *Database, prefix string) error {
	return pgerr.New(pgerr.UndefinedObject, `there is no rule for prefix "%s" in database "%s"`, prefix, d.Name).
		WithHint("sherd.prefixes lists them.")
}

// PrefixRule returns the rule of a prefix in its folded form, nil if there is none. The caller must
// not change it.
func (d *Database) PrefixRule(prefix string) *PrefixRule {
	for i := range d.Prefixes {
		if d.Prefixes[i].Text == prefix {
			return &d.Prefixes[i]
		}
	}
	return nil
}

// elsewhere returns the buckets of a rule that are in none of its fragments.
func (d *Database) elsewhere(r *PrefixRule) shardmap.BucketSet {
	out := shardmap.NewBucketSet(r.Interval)
	for _, f := range r.Fragments {
		out = out.Minus(d.Map.Owned(f))
	}
	return out
}

// PrefixElsewhere returns how many buckets of a rule are in none of its fragments.
func (d *Database) PrefixElsewhere(r *PrefixRule) int { return d.elsewhere(r).Len() }

func (d *Database) namesOf(fragments []uint32) string {
	names := make([]string, len(fragments))
	for i, f := range fragments {
		names[i] = d.NameOf(f)
	}
	return strings.Join(names, ", ")
}

// keptByPrefix returns a rule that does not allow buckets of the interval in a fragment, nil if
// there is none.
func (d *Database) keptByPrefix(v shardmap.Interval, out uint32) *PrefixRule {
	for i := range d.Prefixes {
		if r := &d.Prefixes[i]; !r.Intersect(v).Empty() && !slices.Contains(r.Fragments, out) {
			return r
		}
	}
	return nil
}

// prefixNeeds returns a rule that names a fragment, nil if there is none.
func (d *Database) prefixNeeds(fragment uint32) *PrefixRule {
	for i := range d.Prefixes {
		if r := &d.Prefixes[i]; slices.Contains(r.Fragments, fragment) {
			return r
		}
	}
	return nil
}

// MovePrefix sets the fragments of a rule and starts the moves that bring its buckets there; they
// use the job numbers from firstJob on. It returns an error if a move with one of the buckets is in
// progress, or if a pin prevents a move.
func (c *Change) MovePrefix(database OID, prefix string, fragments []uint32, moves []shardmap.Range, firstJob uint64,
	a Author) error {
	d := c.current(c.base.Database(database))
	r := d.PrefixRule(prefix)
	if r == nil {
		return noPrefix(d, prefix)
	}
	next := *r
	next.Fragments = fragments
	for _, m := range c.movesIn(database) {
		if m.touches(shardmap.NewBucketSet(r.Interval)) {
			return pgerr.New(pgerr.ObjectInUse, "%s being moved by move %d", c.shown(database, m.Interval), m.Job.ID).
				WithHint("Wait for it, or end it with SELECT sherd.cancel_move(%d).", m.Job.ID)
		}
	}
	*r = next
	for i, x := range moves {
		if err := c.addMove(d, firstJob+uint64(i), &Move{Interval: x.Interval, Target: x.Fragment}, a); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%d moves to %s", len(moves), d.namesOf(fragments))
	return errors.Join(c.PutDatabase(d), c.note(a, PrefixRecord, d, prefix, text))
}

// PrefixMoving returns the moves in progress that already do what MovePrefix would do, so that a
// repeated request waits for them. It returns nil if the rule names other fragments, or if a move
// takes its buckets elsewhere.
func (v *View) PrefixMoving(d *Database, prefix string, fragments []uint32) (jobs []uint64) {
	r := d.PrefixRule(prefix)
	if r == nil || !slices.Equal(r.Fragments, fragments) {
		return nil
	}
	for _, m := range v.Moves(d.OID) {
		if !m.touches(shardmap.NewBucketSet(r.Interval)) {
			continue
		}
		if !slices.Contains(fragments, m.Target) {
			return nil
		}
		jobs = append(jobs, m.Job.ID)
	}
	return jobs
}

// PrefixMoves returns the moves that bring the buckets of a rule into fragments, in equal shares.
// Buckets stay where they are if possible.
func (d *Database) PrefixMoves(prefix string, fragments []uint32) (out []shardmap.Range, err error) {
	r := d.PrefixRule(prefix)
	if r == nil {
		return nil, noPrefix(d, prefix)
	}
	if r.Len() < len(fragments) {
		return nil, pgerr.New(pgerr.InvalidParameterValue,
			`prefix "%s" has %d buckets, which cannot be shared by %d fragments`, prefix, r.Len(), len(fragments))
	}
	all := shardmap.NewBucketSet(r.Interval)
	room := make([]int, len(fragments)) // how many buckets each may still take
	for i, f := range fragments {
		share := r.Len()*(i+1)/len(fragments) - r.Len()*i/len(fragments)
		stay := shardmap.NewBucketSet(firstOf(all.Intersect(d.Map.Owned(f)).Intervals(), share)...)
		all, room[i] = all.Minus(stay), share-stay.Len()
	}
	to := 0
	for _, v := range all.Intervals() {
		for !v.Empty() {
			for room[to] == 0 {
				to++
			}
			part := shardmap.Interval{Lo: v.Lo, Hi: min(v.Hi, v.Lo+uint32(room[to]))}
			out = append(out, shardmap.Range{Interval: part, Fragment: fragments[to]})
			room[to] -= part.Len()
			v.Lo = part.Hi
		}
	}
	return out, nil
}

// firstOf returns the first n buckets of intervals.
func firstOf(ivs []shardmap.Interval, n int) (out []shardmap.Interval) {
	for _, v := range ivs {
		if n == 0 {
			break
		}
		v.Hi = min(v.Hi, v.Lo+uint32(n))
		out, n = append(out, v), n-v.Len()
	}
	return out
}
