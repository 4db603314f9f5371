package main

import (
	"testing"
	"time"
)

// TestRest gives memory back once after much was allocated, when it has become quiet.
func TestRest(t *testing.T) {
	var r rest
	now, allocated, given := time.Unix(1000, 0), uint64(0), 0
	pass := func(d time.Duration, each uint64) {
		for range d / heapWatch {
			now, allocated = now.Add(heapWatch), allocated+each
			if r.due(now, allocated) {
				given++
			}
		}
	}
	for _, step := range []struct {
		d    time.Duration
		each uint64
		want int
	}{
		{10 * time.Second, 1 << 10, 0},  // idle
		{10 * time.Second, 10 << 20, 0}, // busy
		{2 * time.Second, 1 << 10, 0},   // a pause
		{time.Second, 10 << 20, 0},
		{10 * time.Second, 1 << 10, 1}, // quiet
		{time.Minute, 1 << 10, 1},
		{time.Second, 2 << 20, 1}, // little
		{time.Minute, 1 << 10, 1},
		{5 * time.Second, 10 << 20, 1},
		{time.Minute, 1 << 10, 2},
	} {
		if pass(step.d, step.each); given != step.want {
			t.Fatalf("after %v of %d bytes each: given back %d times, not %d", step.d, step.each, given, step.want)
		}
	}
}

// TestLimitOf leaves garbage its room, and a node within its memory as long as that can be.
func TestLimitOf(t *testing.T) {
	for _, x := range []struct{ live, want int64 }{{0, 160}, {100, 160}, {128, 160}, {160, 200}, {180, 224}, {192, 224}, {200, 225}, {800, 900}} {
		if got := limitOf(x.live << 20); got != x.want<<20 {
			t.Errorf("where %d MiB live the limit is %d MiB, not %d", x.live, got>>20, x.want)
		}
	}
}

// TestPercentOf lets the heap grow to the same size where less lives, and to twice what lives where that is more.
func TestPercentOf(t *testing.T) {
	for _, x := range []struct {
		live int64
		want int
	}{{0, 1000}, {8, 1000}, {16, 600}, {28, 300}, {56, 100}, {80, 100}, {112, 100}, {4000, 100}} {
		if got := percentOf(x.live << 20); got != x.want {
			t.Errorf("where %d MiB live, %d percent of garbage, not %d", x.live, got, x.want)
		}
	}
}
