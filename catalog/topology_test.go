package catalog

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// TestTopology makes changes of the topology in order, and has those refused that cannot be.
func TestTopology(t *testing.T) {
	_, do := movedCatalog(t)
	const db = 5
	a := Author{Who: "postgres", Why: "room", Micros: 1000}
	between := func(lo, hi uint32) shardmap.Interval { return shardmap.Interval{Lo: lo, Hi: hi} }
	half := uint32(shardmap.BucketCount / 2)
	for _, step := range []struct {
		what string
		do   func(c *Change) error
		want string // a part of the error; "" is none
	}{
		{"move to where they are", func(c *Change) error { return c.AddMove(8, db, &Move{Interval: between(half, half+9), Target: 2}, a) }, `are in fragment "orders$1" already`},
		{"move what moves", func(c *Change) error { return c.AddMove(8, db, &Move{Interval: between(299, 400), Target: 2}, a) }, "being moved by move 7"},
		{"move none", func(c *Change) error { return c.AddMove(8, db, &Move{Interval: between(9, 9), Target: 2}, a) }, "there are no buckets"},
		{"move beyond", func(c *Change) error {
			return c.AddMove(8, db, &Move{Interval: between(9, shardmap.BucketCount+1), Target: 2}, a)
		}, "there are no buckets"},
		{"move", func(c *Change) error { return c.AddMove(8, db, &Move{Interval: between(300, 400), Target: 2}, a) }, ""},
		{"pin what moves", func(c *Change) error { return c.Pin(db, between(350, 360), 1, a) }, "being moved by move 8"},
		{"pin elsewhere", func(c *Change) error { return c.Pin(db, between(0, 10), 2, a) }, `are not in fragment "orders$1"`},
		{"pin", func(c *Change) error { return c.Pin(db, between(0, 10), 1, a) }, ""},
		{"pin again", func(c *Change) error { return c.Pin(db, between(9, 20), 1, a) }, "are pinned"},
		{"move pinned", func(c *Change) error { return c.AddMove(9, db, &Move{Interval: between(5, 6), Target: 2}, a) }, `pinned to fragment "orders$0"`},
		{"unpin a part", func(c *Change) error { return c.Unpin(db, between(0, 9), a) }, "are pinned together"},
		{"unpin none", func(c *Change) error { return c.Unpin(db, between(20, 30), a) }, "are pinned"},
		{"move one that is there", func(c *Change) error { return c.AddMove(8, db, &Move{Interval: between(half, half+1), Target: 2}, a) }, ` is in fragment "orders$1" already`},
		{"move to a fragment that is gone", func(c *Change) error { return c.AddMove(8, db, &Move{Interval: between(17, 18), Target: 9}, a) }, `bucket 17 is to go to a fragment that database "orders" has not any more`},
		{"remove with pins", func(c *Change) error { return c.RemoveFragment(9, db, 1, a) }, "are pinned to it"},
		{"unpin", func(c *Change) error { return c.Unpin(db, between(0, 10), a) }, ""},
		{"remove a target", func(c *Change) error { return c.RemoveFragment(9, db, 2, a) }, "brings buckets to it"},
		{"split", func(c *Change) error { return c.SplitRange(db, 500, a) }, ""},
		{"split again", func(c *Change) error { return c.SplitRange(db, 500, a) }, "cannot be split"},
		{"merge two fragments'", func(c *Change) error { return c.MergeRanges(db, half, a) }, "cannot be merged"},
		{"merge", func(c *Change) error { return c.MergeRanges(db, 500, a) }, ""},
		{"merge again", func(c *Change) error { return c.MergeRanges(db, 500, a) }, "no ranges meet"},
		{"pause", func(c *Change) error { return c.PauseMove(7, a) }, ""},
		{"pause again", func(c *Change) error { return c.PauseMove(7, a) }, ""},
		{"resume", func(c *Change) error { return c.ResumeMove(7, a) }, ""},
		{"cancel none", func(c *Change) error { return c.CancelMove(99, a) }, "does not exist"},
		{"cancel", func(c *Change) error { return c.CancelMove(7, a) }, ""},
		{"cancel again", func(c *Change) error { return c.CancelMove(7, a) }, "has ended: cancelled"},
		{"cancel the other", func(c *Change) error { return c.CancelMove(8, a) }, ""},
		{"add without nodes", func(c *Change) error { _, err := c.AddFragment(db, 1, nil, a); return err }, "no node can hold"},
		{"remove", func(c *Change) error { return c.RemoveFragment(9, db, 2, a) }, ""},
		{"remove again", func(c *Change) error { return c.RemoveFragment(10, db, 2, a) }, "is being removed"},
		{"remove the last", func(c *Change) error { return c.RemoveFragment(10, db, 1, a) }, "no other fragment"},
		{"move to it", func(c *Change) error { return c.AddMove(10, db, &Move{Interval: between(0, 1), Target: 2}, a) }, "it is being removed"},
		{"finish too early", func(c *Change) error { return c.FinishRemoval(9, 5) }, "owns buckets"},
		{"move from it", func(c *Change) error {
			return c.AddMove(11, db, &Move{Interval: shardmap.WholeSpace(), Source: 2, Target: 1}, Author{Who: "sherd", Plan: 9})
		}, ""},
		{"let it stay", func(c *Change) error { return c.CancelMove(9, a) }, ""},
	} {
		err := do(func(_ *View, c *Change) error { return step.do(c) })
		switch {
		case step.want == "" && err != nil:
			t.Errorf("%s: %v", step.what, err)
		case step.want != "" && (err == nil || !strings.Contains(err.Error(), step.want)):
			t.Errorf("%s: %v", step.what, err)
		}
	}
	var view *View
	_ = do(func(v *View, _ *Change) error {
		view = v
		return nil
	})
	d := view.Database(db)
	m, ok := view.MoveOf(11)
	if !ok || m.Job.State != JobCancelled || m.Who != "sherd" || d.FragmentByID(2).Draining || view.Job(9) != nil || len(d.Pins) != 0 {
		t.Errorf("%+v, %+v", m.Move, d)
	}
	var changes []string
	for r := range view.Records() {
		changes = append(changes, r.Change)
	}
	want := []string{
		"pinned to orders$0", "unpinned", "split", "merged", "move paused", "move resumed", "cancelled", "move cancelled", "cancelled", "move cancelled",
		"removal begun", "move cancelled", "removal cancelled",
	}
	slices.Sort(changes) // all are of one moment but the numbers they were given
	slices.Sort(want)
	if !reflect.DeepEqual(changes, want) {
		t.Errorf("%q", changes)
	}
}

// TestMovesBegunAtOnce: of two moves of the same buckets that are planned at once one is refused when it is planned anew, and so is a move beside a pin, or to a fragment that
// is to be removed, and a rule beside a move, which may bring anchors that it would lead elsewhere.
func TestMovesBegunAtOnce(t *testing.T) {
	a := Author{Who: "postgres", Micros: 1000}
	move := func(id uint64, to uint32) func(*Change) error {
		return func(c *Change) error {
			return c.AddMove(id, 5, &Move{Interval: shardmap.Interval{Lo: 400, Hi: 500}, Target: to}, a)
		}
	}
	pin := func(c *Change) error { return c.Pin(5, shardmap.Interval{Lo: 450, Hi: 460}, 1, a) }
	remove := func(c *Change) error { return c.RemoveFragment(9, 5, 2, a) }
	rule := func(text string, b shardmap.Bucket) PrefixRule {
		return PrefixRule{shardmap.Prefix{Text: text, Interval: shardmap.OneBucket(b)}, []uint32{1}}
	}
	ruled := func(change func(*Change) error) func(*Change) error {
		return func(c *Change) error { return errors.Join(change(c), c.PutTable(c.base.Table(16385).Clone())) }
	}
	add := ruled(func(c *Change) error { return c.AddPrefix(5, rule("us/", shardmap.BucketCount), a) })
	drop := ruled(func(c *Change) error { return c.DropPrefix(5, "eu/", a) })
	assigned := ruled(func(c *Change) error { // two buckets, of which one has a rule
		d := c.base.Database(5).Clone()
		next, _, err := d.Map.AssignShares([]uint32{1}, 2)
		d.Map, d.Prefixes, d.PrefixEpoch = next, []PrefixRule{rule("eu/", shardmap.BucketCount+1)}, 1
		return errors.Join(err, c.PutDatabase(d))
	})
	for _, two := range []struct {
		name          string
		first, second func(*Change) error
	}{
		{"moves", move(8, 2), move(10, 2)}, {"pin and move", pin, move(8, 2)}, {"move and pin", move(8, 2), pin}, {"move and removal", move(8, 2), remove},
		{"move and rule", move(8, 2), add}, {"move and end of a rule", move(8, 2), drop},
	} {
		_, do := movedCatalog(t)
		var late *Change
		err := errors.Join(
			do(func(_ *View, c *Change) error { return c.CancelMove(7, a) }),
			do(func(_ *View, c *Change) error { return assigned(c) }),
			do(func(v *View, c *Change) error {
				late = v.Plan()
				return errors.Join(two.second(late), two.first(c))
			}))
		if err != nil {
			t.Fatal(err)
		}
		_ = do(func(v *View, _ *Change) error {
			if late.base.definitionVersion != v.definitionVersion {
				t.Errorf("%s: plans are made anew", two.name)
			}
			return nil
		})
		if err := do(func(_ *View, c *Change) error { *c = *late; return nil }); !IsConflict(err) {
			t.Errorf("%s: %v", two.name, err)
		}
	}
}

func TestFragmentNamed(t *testing.T) {
	d := &Database{Name: "orders", Fragments: []Fragment{{ID: 7, Ordinal: 3}}}
	if f, err := d.FragmentNamed("orders$3"); err != nil || f.ID != 7 {
		t.Error(f, err)
	}
	if _, err := d.FragmentNamed("orders$7"); !pgerr.Is(err, pgerr.UndefinedObject) {
		t.Error(err)
	}
}

// A fragment that owns nothing goes with its job.
func TestFinishRemoval(t *testing.T) {
	_, do := movedCatalog(t)
	a := Author{Who: "postgres", Micros: 1}
	var view *View
	for _, f := range []func(v *View, c *Change) error{
		func(_ *View, c *Change) error { return c.CancelMove(7, a) },
		func(v *View, c *Change) error {
			d := v.Database(5).Clone()
			var err error
			if d.Map, err = d.Map.Reassign(shardmap.WholeSpace(), 1); err != nil {
				return err
			}
			return c.PutDatabase(d)
		},
		func(_ *View, c *Change) error { return c.RemoveFragment(9, 5, 2, a) },
		func(_ *View, c *Change) error { return c.FinishRemoval(9, 2) },
		func(v *View, c *Change) error {
			view = v
			return c.FinishRemoval(9, 3)
		},
	} {
		if err := do(f); err != nil {
			t.Fatal(err)
		}
	}
	if d := view.Database(5); len(d.Fragments) != 1 || d.Fragments[0].ID != 1 || view.Job(9) != nil {
		t.Errorf("%+v", d.Fragments)
	}
}

func TestRemovalFormat(t *testing.T) {
	j := NewRemovalJob(3, 5, &Removal{Fragment: 2, Who: "w", Why: "y", Waits: "x"}, 77)
	ops := []op{{kind: putOp, key: keyOf(j), desc: j}}
	data, err := encodeBatch(ops)
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "removal.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Errorf("%+v, %v", e.ops, err)
	}
	if r, err := e.ops[0].desc.(*Job).Removal(); err != nil || *r != (Removal{2, "w", "y", "x"}) {
		t.Errorf("%+v, %v", r, err)
	}
}
