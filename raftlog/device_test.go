package raftlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/pgerr"
)

const testSegment = 64 << 10

func openDevice(t testing.TB, dir string, size int64) *Device {
	t.Helper()
	d, err := Open(Options{Dir: dir, SegmentSize: size, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func openGroup(t testing.TB, d *Device, id uint64) *Group {
	t.Helper()
	g, err := d.Group(id)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func store(t testing.TB, g *Group, from, to uint64, data string) {
	t.Helper()
	for i := from; i <= to; i++ {
		if err := g.StoreLog(entry(i, 1, fmt.Sprint(data, i))); err != nil {
			t.Fatal(err)
		}
	}
}

// check expects exactly the entries first to last, as store wrote them.
func check(t testing.TB, g *Group, first, last uint64, data string) {
	t.Helper()
	f, _ := g.FirstIndex()
	l, _ := g.LastIndex()
	if f != first || l != last {
		t.Fatalf("group %d has %d to %d, want %d to %d", g.id, f, l, first, last)
	}
	for i := first; i <= last && i > 0; i++ {
		var e raft.Log
		if err := g.GetLog(i, &e); err != nil || e.Index != i || string(e.Data) != fmt.Sprint(data, i) {
			t.Fatalf("group %d entry %d: %q %v", g.id, i, e.Data, err)
		}
	}
}

func reopen(t testing.TB, d *Device) *Device {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return openDevice(t, d.opts.Dir, d.opts.SegmentSize)
}

func TestReopen(t *testing.T) {
	d := openDevice(t, t.TempDir(), testSegment)
	a, b := openGroup(t, d, 1), openGroup(t, d, 2)
	store(t, a, 1, 50, "a")
	store(t, b, 900, 950, "b")
	if err := errors.Join(
		a.SetUint64([]byte("term"), 7), a.Set([]byte("who"), []byte("n1")), a.SetUint64([]byte("term"), 8),
	); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		check(t, a, 1, 50, "a")
		check(t, b, 900, 950, "b")
		if v, err := a.GetUint64([]byte("term")); v != 8 || err != nil {
			t.Fatal(v, err)
		}
		if v, err := b.Get([]byte("who")); v != nil || err != nil {
			t.Fatal(v, err)
		}
		d = reopen(t, d)
		a, b = openGroup(t, d, 1), openGroup(t, d, 2)
	}
	if _, err := d.Group(1); !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Fatalf("opened twice: %v", err)
	}
	if _, err := Open(d.opts); !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Fatalf("two devices in one directory: %v", err)
	}
	if err := a.GetLog(51, &raft.Log{}); !errors.Is(err, raft.ErrLogNotFound) {
		t.Fatal(err)
	}
}

func TestDeleteRange(t *testing.T) {
	for _, c := range []struct{ lo, hi, first, last uint64 }{
		{1, 10, 11, 30}, {5, 10, 11, 30}, {20, 30, 10, 19}, {20, 99, 10, 19}, {1, 30, 0, 0}, {10, 30, 0, 0},
		{1, 9, 10, 30},
		{31, 40, 10, 30}, {12, 11, 10, 30}, {0, 10, 11, 30}, {30, 30, 10, 29}, {10, 10, 11, 30},
	} {
		d := openDevice(t, t.TempDir(), testSegment)
		g := openGroup(t, d, 3)
		store(t, g, 10, 30, "x")
		if err := g.DeleteRange(c.lo, c.hi); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		check(t, g, c.first, c.last, "x")
		d = reopen(t, d)
		check(t, openGroup(t, d, 3), c.first, c.last, "x")
	}
	g := openGroup(t, openDevice(t, t.TempDir(), testSegment), 3)
	store(t, g, 10, 30, "x")
	if err := g.DeleteRange(15, 20); err == nil {
		t.Fatal("the middle was deleted")
	}
	if err := g.StoreLog(entry(32, 1, "")); err == nil {
		t.Fatal("a gap was accepted")
	}
	check(t, g, 10, 30, "x")
	store(t, g, 21, 22, "x") // what is left of a failed call is replaced
	check(t, g, 10, 22, "x")
	if err := g.DeleteRange(1, 99); err != nil {
		t.Fatal(err)
	}
	store(t, g, 1000, 1010, "y") // after a snapshot
	check(t, g, 1000, 1010, "y")
}

func TestLargeEntries(t *testing.T) {
	d := openDevice(t, t.TempDir(), testSegment)
	g := openGroup(t, d, 1)
	var logs []*raft.Log
	for i, size := range []int{10, directData, 3 << 20, 2 << 20, 9 << 20, 1} {
		logs = append(logs, entry(uint64(i+1), 1, strings.Repeat(string(rune('a'+i)), size)))
	}
	if err := g.StoreLogs(logs); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, want := range logs {
			var got raft.Log
			if err := g.GetLog(want.Index, &got); err != nil || !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("entry %d: %d bytes, %v", want.Index, len(got.Data), err)
			}
		}
		d = reopen(t, d)
		g = openGroup(t, d, 1)
	}
}

// files returns the segment files, oldest first.
func files(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// TestSegmentsLeave writes many times the segments' size. An idle group that needs the first
// segment is moved.
func TestSegmentsLeave(t *testing.T) {
	d := openDevice(t, t.TempDir(), testSegment)
	idle, busy := openGroup(t, d, 1), openGroup(t, d, 2)
	store(t, idle, 5, 9, "idle")
	if err := idle.SetUint64([]byte("term"), 3); err != nil {
		t.Fatal(err)
	}
	pad := strings.Repeat("p", 2000)
	last := uint64(0)
	for round := range 60 {
		store(t, busy, last+1, last+20, pad)
		last += 20
		if err := busy.DeleteRange(1, last-5); err != nil {
			t.Fatal(err)
		}
		if round%20 == 19 {
			d = reopen(t, d)
			idle, busy = openGroup(t, d, 1), openGroup(t, d, 2)
		}
		check(t, idle, 5, 9, "idle")
		check(t, busy, last-4, last, pad)
	}
	if err := d.giveUp(); err != nil {
		t.Fatal(err)
	}
	if n := len(files(t, d.opts.Dir)); n > 6 {
		t.Fatalf("%d segments are left", n)
	}
	if files(t, d.opts.Dir)[0] == segmentPath(d.opts.Dir, 1) {
		t.Fatal("the first segment is still there")
	}
	if v, _ := idle.GetUint64([]byte("term")); v != 3 {
		t.Fatalf("term %d", v)
	}
}

func TestForget(t *testing.T) {
	d := openDevice(t, t.TempDir(), testSegment)
	g := openGroup(t, d, 1)
	store(t, g, 1, 5, "x")
	store(t, openGroup(t, d, 2), 1, 5, "y")
	if err := d.Forget(1); !pgerr.Is(err, pgerr.ObjectInUse) {
		t.Fatalf("an open group was forgotten: %v", err)
	}
	if err := errors.Join(g.Close(), d.Forget(1), d.Forget(77)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if ids := d.Groups(); !slices.Equal(ids, []uint64{2}) {
			t.Fatal(ids)
		}
		d = reopen(t, d)
	}
	g = openGroup(t, d, 1)
	check(t, g, 0, 0, "")
	store(t, g, 4, 6, "new")
	check(t, g, 4, 6, "new")
}

func TestConcurrentGroups(t *testing.T) {
	d := openDevice(t, t.TempDir(), testSegment)
	const groups, entries = 8, 300
	var wg sync.WaitGroup
	for id := range uint64(groups) {
		g := openGroup(t, d, id)
		wg.Add(2)
		go func() {
			defer wg.Done()
			for i := uint64(1); i <= entries; i++ {
				if err := g.StoreLog(entry(i, 1, fmt.Sprint(strings.Repeat("c", 300), i))); err != nil {
					t.Error(err)
					return
				}
				if i%50 == 0 {
					if err := g.DeleteRange(1, i-40); err != nil {
						t.Error(err)
					}
				}
			}
		}()
		go func() {
			defer wg.Done()
			rnd := rand.New(rand.NewSource(int64(id)))
			for range entries {
				last, _ := g.LastIndex()
				var l raft.Log
				i := last - uint64(rnd.Intn(60))
				if err := g.GetLog(i, &l); err == nil && l.Index != i ||
					err != nil && !errors.Is(err, raft.ErrLogNotFound) {
					t.Errorf("entry %d: %v", i, err)
				}
			}
		}()
	}
	wg.Wait()
	d = reopen(t, d)
	for id := range uint64(groups) {
		check(t, openGroup(t, d, id), entries-39, entries, strings.Repeat("c", 300))
	}
}

// TestNoRoom checks that a call that finds no room writes nothing, and that the device works for
// the next one (L6).
func TestNoRoom(t *testing.T) {
	d := openDevice(t, t.TempDir(), testSegment)
	g := openGroup(t, d, 1)
	store(t, g, 1, 10, "x")
	// A directory has the name of the next segment, which therefore cannot be made.
	next := segmentPath(d.opts.Dir, 2)
	if err := os.Mkdir(next, 0o700); err != nil {
		t.Fatal(err)
	}
	logs := []*raft.Log{
		entry(11, 1, "small"), entry(12, 1, strings.Repeat("l", maxRequest)),
		entry(13, 1, strings.Repeat("l", maxRequest)),
	}
	if err := g.StoreLogs(logs); err == nil || errors.Is(err, ErrUnknown) {
		t.Fatalf("got %v", err)
	}
	check(t, g, 1, 10, "x")
	if err := os.Remove(next); err != nil {
		t.Fatal(err)
	}
	if err := g.StoreLogs(logs); err != nil {
		t.Fatal(err)
	}
	if l, _ := g.LastIndex(); l != 13 {
		t.Fatal(l)
	}
	check(t, openGroup(t, d, 2), 0, 0, "")
}

// TestNoRoomToReplace checks that a call that would replace entries and finds no room leaves them.
func TestNoRoomToReplace(t *testing.T) {
	d := openDevice(t, t.TempDir(), testSegment)
	g := openGroup(t, d, 1)
	store(t, g, 1, 10, "x")
	next := segmentPath(d.opts.Dir, 2)
	if err := os.Mkdir(next, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := g.StoreLog(entry(8, 2, strings.Repeat("l", testSegment))); err == nil || errors.Is(err, ErrUnknown) {
		t.Fatalf("got %v", err)
	}
	check(t, g, 1, 10, "x")
}

func TestFailedWrites(t *testing.T) {
	d := openDevice(t, t.TempDir(), testSegment)
	told := 0
	d.opts.Failed = func(error) { told++ }
	g := openGroup(t, d, 1)
	store(t, g, 1, 10, "x")
	seg := d.segments[0]
	if err := d.writeFailed(seg, &os.PathError{Op: "write", Err: syscall.ENOSPC}); !errors.Is(err, syscall.ENOSPC) ||
		errors.Is(err, ErrUnknown) {
		t.Fatalf("no room: %v", err)
	}
	store(t, g, 11, 12, "x")
	if told != 0 {
		t.Fatal("a full disk counts as one that failed")
	}
	if err := d.writeFailed(seg, &os.PathError{Op: "write", Err: syscall.EIO}); !errors.Is(err, ErrUnknown) {
		t.Fatalf("input/output error: %v", err)
	}
	if err := g.StoreLog(entry(13, 1, "x")); !errors.Is(err, ErrUnknown) {
		t.Fatalf("after it: %v", err)
	}
	if told != 1 {
		t.Fatalf("the owner was notified %d times", told)
	}
	check(t, openGroup(t, reopen(t, d), 1), 1, 12, "x")
}

// TestReadOnly checks that a read-only device has all entries, changes no file, and refuses
// changes.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	d := openDevice(t, dir, testSegment)
	g := openGroup(t, d, 7)
	store(t, g, 1, 400, strings.Repeat("x", 500))
	if err := g.DeleteRange(1, 10); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"LOCK", sparePrefix + "9"} { // one is missing, and a spare file of no use is there
		os.Remove(filepath.Join(dir, name))
	}
	if err := os.WriteFile(filepath.Join(dir, sparePrefix+"9"), []byte("cut off"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := names(t, dir)
	r, err := Open(Options{Dir: dir, SegmentSize: testSegment, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	g = openGroup(t, r, 7)
	check(t, g, 11, 400, strings.Repeat("x", 500))
	if err := g.StoreLog(entry(401, 1, "y")); !errors.Is(err, errReadOnly) {
		t.Error(err)
	}
	if err := g.DeleteRange(11, 20); !errors.Is(err, errReadOnly) {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if after := names(t, dir); !slices.Equal(before, after) {
		t.Errorf("%q has become %q", before, after)
	}
}

// names returns the files of a directory, with their sizes and times.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(e.Name(), info.Size(), info.ModTime()))
	}
	return out
}
