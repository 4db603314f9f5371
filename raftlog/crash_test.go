package raftlog

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// copyDir copies a device's files with one of them replaced.
func copyDir(t *testing.T, from, replaced string, content []byte) string {
	t.Helper()
	to := t.TempDir()
	names, err := filepath.Glob(filepath.Join(from, "*"+segmentSuffix))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		b := content
		if n != replaced {
			if b, err = os.ReadFile(n); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(n)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// TestTornTail cuts the last segment at every byte of its last frames, and puts zeros or the
// content of the file's previous use after the cut. Entries of whole frames are there, later ones
// are not, and writing continues.
func TestTornTail(t *testing.T) {
	d := openDevice(t, t.TempDir(), 8<<10)
	g := openGroup(t, d, 1)
	ends := []int64{d.segments[0].end}
	for i := uint64(1); i <= 6; i++ {
		store(t, g, i, i, "x")
		ends = append(ends, d.segments[0].end)
	}
	path := d.segments[0].path()
	dir := d.opts.Dir
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := ends[3]; cut <= ends[6]; cut++ {
		last := uint64(0)
		for i, end := range ends {
			if end-frameAlign < cut && frameEnd(whole, ends, i) <= cut {
				last = uint64(i)
			}
		}
		for _, fill := range []byte{0, 0xa5} {
			b := append([]byte(nil), whole...)
			for i := cut; i < int64(len(b)); i++ {
				b[i] = fill
			}
			c := openDevice(t, copyDir(t, dir, path, b), 8<<10)
			cg := openGroup(t, c, 1)
			// The fill may happen to be what was there: then the frame is whole.
			if l, _ := cg.LastIndex(); l > last && fill == 0 {
				last = l
			}
			check(t, cg, 1, last, "x")
			store(t, cg, last+1, last+3, "x")
			check(t, openGroup(t, reopen(t, c), 1), 1, last+3, "x")
		}
	}
}

// frameEnd is where frame i ends without padding.
func frameEnd(b []byte, ends []int64, i int) int64 {
	if i == 0 {
		return ends[0]
	}
	n := int64(b[ends[i-1]+16]) | int64(b[ends[i-1]+17])<<8
	return ends[i-1] + frameHead + n
}

// TestDamage flips each byte of frames that others follow: opening refuses it with the file's name
// and never reads past it.
func TestDamage(t *testing.T) {
	d := openDevice(t, t.TempDir(), 4<<10)
	g := openGroup(t, d, 1)
	store(t, g, 1, 3, "x")
	from, to := int64(segmentHead), d.segments[0].end
	used := len(d.segments)
	store(t, g, 4, 100, strings.Repeat("x", 100))
	path := d.segments[0].path()
	if len(d.segments) == used {
		t.Fatal("one segment only")
	}
	dir := d.opts.Dir
	d.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(0); at < to; at++ {
		if at == from {
			continue
		}
		b := append([]byte(nil), whole...)
		b[at] ^= 0xff
		if padding(b, at) {
			continue
		}
		c, err := Open(
			Options{Dir: copyDir(t, dir, path, b), SegmentSize: 4 << 10, Logger: slog.New(slog.DiscardHandler)},
		)
		if err == nil {
			c.Close()
		}
		if !pgerr.Is(err, pgerr.DataCorrupted) || !strings.Contains(fmt.Sprint(err), filepath.Base(path)) {
			t.Fatalf("byte %d of %d: %v", at, to, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "000000000002.log")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir, SegmentSize: 4 << 10}); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Fatalf("a file is missing: %v", err)
	}
}

// padding reports whether the byte at position at is a reserved byte of a header or follows a
// frame.
func padding(b []byte, at int64) bool {
	for off := int64(segmentHead); off < int64(len(b)); {
		f := int64(b[off+16]) | int64(b[off+17])<<8
		if at >= off && at < off+frameHead {
			return at >= off+28
		}
		if at >= off+frameHead+f && at < align(off+frameHead+f) {
			return true
		}
		if off = align(off + frameHead + f); at < off {
			return false
		}
	}
	return false
}

// TestUnusedSegment checks that a file in which no segment was begun is not damage.
func TestUnusedSegment(t *testing.T) {
	for _, size := range []int{0, 8 << 10} {
		d := openDevice(t, t.TempDir(), 8<<10)
		store(t, openGroup(t, d, 1), 1, 5, "x")
		d.Close()
		if err := os.WriteFile(segmentPath(d.opts.Dir, 2), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		d = openDevice(t, d.opts.Dir, 8<<10)
		g := openGroup(t, d, 1)
		check(t, g, 1, 5, "x")
		store(t, g, 6, 200, "x")
		check(t, openGroup(t, reopen(t, d), 1), 1, 200, "x")
	}
}
