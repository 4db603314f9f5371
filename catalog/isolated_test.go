package catalog

import (
	"testing"

	"github.com/sherddb/sherd/shardmap"
)

// TestIsolates: a fragment is kept for its pins as long as it owns nothing beside them.
func TestIsolates(t *testing.T) {
	d := &Database{Map: shardmap.NewInitialMap([]shardmap.FragmentID{1, 2})}
	is := func(want bool) {
		t.Helper()
		if got := d.Isolates(3); got != want {
			t.Errorf("pins %v, map %v: %t", d.Pins, d.Map.Ranges(), got)
		}
	}
	one := shardmap.Interval{Lo: 7, Hi: 8}
	is(false)
	d.Pins = []Pin{{Interval: one, Fragment: 3}}
	is(false) // nothing is there yet
	m, err := d.Map.Reassign(one, 3)
	if err != nil {
		t.Fatal(err)
	}
	d.Map = m
	is(true)
	if d.Pins = nil; d.Isolates(1) {
		t.Error("a fragment without pins is kept for them")
	}
	is(false)
	d.Pins = []Pin{{Interval: one, Fragment: 3}}
	if d.Map, err = m.Reassign(shardmap.Interval{Lo: 8, Hi: 10}, 3); err != nil {
		t.Fatal(err)
	}
	is(false) // an operator has brought more
}
