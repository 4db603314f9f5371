package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// MaxAnchors is the largest number of anchors that one change can pin.
const MaxAnchors = 1000

// Anchor is an id and its bucket.
type Anchor struct {
	ID     string
	Bucket shardmap.Bucket
}

// bucketsOfAnchors groups anchors by bucket. The buckets keep the order of the anchors; the ids of
// each bucket are sorted, without duplicates.
func bucketsOfAnchors(anchors []Anchor) (order []shardmap.Bucket, ids map[shardmap.Bucket][]string) {
	ids = map[shardmap.Bucket][]string{}
	for _, a := range anchors {
		if ids[a.Bucket] == nil {
			order = append(order, a.Bucket)
		}
		ids[a.Bucket] = append(ids[a.Bucket], a.ID)
	}
	slices.Sort(order)
	for b := range ids {
		ids[b] = union(nil, ids[b])
	}
	return order, ids
}

// union returns the ids of two lists, sorted and without duplicates, in a new slice (K1).
func union(a, b []string) []string {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

// PinAnchors pins the buckets of anchors to a fragment. Buckets that the fragment owns are pinned
// at once, all others when a move has brought them. PinAnchors uses one job number, from firstJob
// on, for each bucket that has to move, and returns how many it used. It returns an error if a
// bucket is pinned elsewhere or is moving.
func (c *Change) PinAnchors(database OID, subject string, anchors []Anchor, fragment string, firstJob uint64,
	a Author) (moves int, err error) {
	d := c.current(c.base.Database(database))
	f, err := d.FragmentNamed(fragment)
	if err != nil {
		return 0, err
	}
	order, ids := bucketsOfAnchors(anchors)
	changed := false
	for _, b := range order {
		v := shardmap.OneBucket(b)
		done, err := c.pinHere(d, v, f.ID, ids[b])
		if err != nil {
			return 0, err
		}
		if changed = changed || done; done {
			continue
		}
		m := &Move{Interval: v, Target: f.ID, Pin: true, Anchors: ids[b]}
		if err := c.AddMove(firstJob+uint64(moves), database, m, a); err != nil {
			return 0, err
		}
		moves++
	}
	text := fmt.Sprintf("%d anchors pinned to %s", len(anchors), fragment)
	if changed {
		err = c.PutDatabase(d)
	}
	return moves, errors.Join(err, c.note(a, PinRecord, d, subject, text))
}

// pinHere pins a bucket that the fragment has already; done is false if it has to move there first.
func (c *Change) pinHere(d *Database, v shardmap.Interval, fragment uint32, ids []string) (done bool, err error) {
	for i := range d.Pins {
		switch p := &d.Pins[i]; {
		case p.Intersect(v).Empty():
		case p.Fragment != fragment:
			return false, pgerr.New(pgerr.ObjectInUse, `"%s" lies in bucket %d, which is pinned to fragment "%s"`,
				ids[0], v.Lo, d.NameOf(p.Fragment)).
				WithHint("SELECT sherd.unpin(%s, %d, %d) ends the pin.", quoteLiteral(d.Name), p.Lo, p.Hi)
		default:
			// A pin without anchors already keeps this bucket.
			if len(p.Anchors) > 0 {
				p.Anchors = union(p.Anchors, ids)
			}
			return true, nil
		}
	}
	if len(d.Remaining(&Move{Interval: v, Target: fragment})) > 0 {
		return false, nil
	}
	for _, m := range c.movesIn(d.OID) {
		if m.touches(shardmap.NewBucketSet(v)) && m.Target != fragment {
			return false, pgerr.New(pgerr.ObjectInUse, "%s being moved by move %d", c.shown(d.OID, m.Interval),
				m.Job.ID).
				WithHint("Wait for it, or end it with SELECT sherd.cancel_move(%d).", m.Job.ID)
		}
	}
	d.Pins = append(d.Pins, Pin{v, fragment, ids})
	slices.SortFunc(d.Pins, func(x, y Pin) int { return int(x.Lo) - int(y.Lo) })
	return true, nil
}

// UnpinAnchors removes anchors from the pins, and returns how many pins ended because it was their
// last. An anchor that is not pinned is an error.
func (c *Change) UnpinAnchors(database OID, subject string, anchors []Anchor, a Author) (ended int, err error) {
	d := c.current(c.base.Database(database))
	for _, x := range anchors {
		i := slices.IndexFunc(d.Pins, func(p Pin) bool {
			return p.Lo <= uint32(x.Bucket) && uint32(x.Bucket) < p.Hi && slices.Contains(p.Anchors, x.ID)
		})
		if i < 0 {
			return 0, pgerr.New(pgerr.UndefinedObject, `anchor "%s" is not pinned`, x.ID).
				WithHint("sherd.pins lists what is pinned. Anchors that are on their way are pinned when they " +
					"arrive; sherd.cancel_move ends that.")
		}
		p := &d.Pins[i]
		p.Anchors = slices.DeleteFunc(slices.Clone(p.Anchors), func(id string) bool { return id == x.ID })
		if len(p.Anchors) == 0 {
			d.Pins = slices.Delete(d.Pins, i, i+1)
			ended++
		}
	}
	text := fmt.Sprintf("%d anchors unpinned", len(anchors))
	return ended, errors.Join(c.PutDatabase(d), c.note(a, PinRecord, d, subject, text))
}

// quoteLiteral quotes a name for a statement in a hint.
func quoteLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
