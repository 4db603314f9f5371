package raftlog

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// leave makes a directory of three segments with entries 1 to last in group 1, and deletes those of
// the first segment. It returns the directory.
func leave(t *testing.T) (dir string, last uint64) {
	t.Helper()
	d := openDevice(t, t.TempDir(), testSegment)
	close(d.stop) // no cleaner
	d.done.Wait()
	g := openGroup(t, d, 1)
	pad := strings.Repeat("p", 2000)
	for len(d.segments) < 3 {
		last++
		store(t, g, last, last, pad)
	}
	if err := g.DeleteRange(1, last-3); err != nil {
		t.Fatal(err)
	}
	d.closed = true
	if err := d.closeFiles(); err != nil {
		t.Fatal(err)
	}
	return d.opts.Dir, last
}

// editFile changes a file.
func editFile(t *testing.T, path string, change func([]byte)) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	change(b)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestGivenUpWithoutHeader: releases before L7 wiped the header of a segment before its new name
// was on disk. A power loss left it as the first one of the sequence. Nothing in it is needed. If
// only its first sector is zeros, it is damaged.
func TestGivenUpWithoutHeader(t *testing.T) {
	for _, c := range []struct {
		zeros  int
		number uint64
		ok     bool
	}{{segmentHead, 1, true}, {512, 1, false}, {segmentHead, 2, false}} {
		dir, last := leave(t)
		editFile(t, segmentPath(dir, c.number), func(b []byte) { clear(b[:c.zeros]) })
		for _, readOnly := range []bool{true, false} {
			o := Options{Dir: dir, SegmentSize: testSegment, ReadOnly: readOnly, Logger: slog.New(slog.DiscardHandler)}
			d, err := Open(o)
			if !c.ok {
				if !pgerr.Is(err, pgerr.DataCorrupted) {
					t.Fatalf("%+v: %v", c, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%+v, read only %v: %v", c, readOnly, err)
			}
			check(t, openGroup(t, d, 1), last-2, last, strings.Repeat("p", 2000))
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestSegmentThatCouldNotBeBegun: releases before L7 left the header of a segment that could not be
// begun, and continued in the one before. It is of no use then; one that holds a round is not
// removed.
func TestSegmentThatCouldNotBeBegun(t *testing.T) {
	d := openDevice(t, t.TempDir(), testSegment)
	g := openGroup(t, d, 1)
	store(t, g, 1, 10, "x")
	h := segmentHeader{number: 2, firstRound: d.round, salt: 77}
	s, err := createSegment(osDisk{}, d.opts.Dir, h, testSegment, "")
	if err != nil {
		t.Fatal(err)
	}
	s.f.Close()
	store(t, g, 11, 20, "x")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openDevice(t, d.opts.Dir, testSegment)
	check(t, openGroup(t, d, 1), 1, 20, "x")
	if got := files(t, d.opts.Dir); len(got) != 1 {
		t.Fatal(got)
	}
	d.Close()
	// The same with a frame in it.
	h.firstRound = 5
	if s, err = createSegment(osDisk{}, d.opts.Dir, h, testSegment, ""); err != nil {
		t.Fatal(err)
	}
	b := &batch{}
	if err := b.append(1, entry(21, 1, "y")); err != nil {
		t.Fatal(err)
	}
	var head [frameHead]byte
	putFrame(&head, h.salt, h.firstRound, b.size, 1, b.crcs)
	if err := s.f.write(b.pieces([][]byte{head[:]}), s.end); err != nil {
		t.Fatal(err)
	}
	s.f.Close()
	if _, err := Open(d.opts); !pgerr.Is(err, pgerr.DataCorrupted) ||
		!strings.Contains(err.Error(), "are in 000000000002.log too") {
		t.Fatal(err)
	}
}

// TestSpareHoldsSegment: a spare file with frames of the next segment is refused and kept. When it
// is renamed as the hint says, the entries are there. A spare file with an earlier segment's header
// is of no use, with any content.
func TestSpareHoldsSegment(t *testing.T) {
	dir, last := leave(t)
	spare := filepath.Join(dir, sparePrefix+"1")
	if err := os.Rename(segmentPath(dir, 3), spare); err != nil {
		t.Fatal(err)
	}
	opts := Options{Dir: dir, SegmentSize: testSegment, Logger: slog.New(slog.DiscardHandler)}
	for _, readOnly := range []bool{true, false} {
		opts.ReadOnly = readOnly
		_, err := Open(opts)
		want := "Rename it to 000000000003.log."
		e := pgerr.From(err)
		if !pgerr.Is(err, pgerr.DataCorrupted) || !strings.Contains(e.Hint, want) ||
			!strings.Contains(e.Message, spare) {
			t.Fatalf("read only %v: %v, %q", readOnly, err, e.Hint)
		}
	}
	if err := os.Rename(spare, segmentPath(dir, 3)); err != nil {
		t.Fatal(err)
	}
	// What retire leaves before it wipes the header.
	if err := os.Rename(segmentPath(dir, 1), spare); err != nil {
		t.Fatal(err)
	}
	d := openDevice(t, dir, testSegment)
	check(t, openGroup(t, d, 1), last-2, last, strings.Repeat("p", 2000))
	if slices.Contains(d.spares, spare) {
		t.Fatal("a file with a header is taken for a spare one")
	}
}

// TestLostHeader: a last segment whose first sector was lost is damaged, not a file in which no
// segment was begun.
func TestLostHeader(t *testing.T) {
	dir, _ := leave(t)
	for _, zeros := range []int{segmentHead, 512} {
		to := copyDir(t, dir, "", nil)
		editFile(t, segmentPath(to, 3), func(b []byte) { clear(b[:zeros]) })
		_, err := Open(Options{Dir: to, SegmentSize: testSegment, Logger: slog.New(slog.DiscardHandler)})
		if !pgerr.Is(err, pgerr.DataCorrupted) || !strings.Contains(fmt.Sprint(err), "000000000003.log") {
			t.Fatalf("%d zeros: %v", zeros, err)
		}
	}
}
