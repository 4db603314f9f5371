package raftlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// fullDisk is the disk of the operating system with as much free space as a test says.
type fullDisk struct {
	osDisk
	free atomic.Int64
}

func (d *fullDisk) hasRoom(_ string, n int64) bool { return d.free.Load() > n }

func openFull(t *testing.T, disk *fullDisk, dir string) *Device {
	t.Helper()
	d, err := openOn(disk, Options{Dir: dir, SegmentSize: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestTightDisk: on a nearly full disk a device removes its spare files and begins small segments,
// down to what must be left for others. Then it refuses entries until there is room, and keeps all
// that it has taken.
func TestTightDisk(t *testing.T) {
	disk := &fullDisk{}
	disk.free.Store(1 << 40)
	dir := t.TempDir()
	d := openFull(t, disk, dir)
	g := openGroup(t, d, 1)
	if err := d.makeSpare(); err != nil {
		t.Fatal(err)
	}
	spares := func() int {
		files, err := filepath.Glob(filepath.Join(dir, sparePrefix+"*"))
		if err != nil || len(files) != len(d.spares) {
			t.Fatalf("files %v, %v, known %v", files, err, d.spares)
		}
		return len(files)
	}
	if err := d.dropSpares(); err != nil || spares() != 1 {
		t.Fatalf("with room on the disk there are %d spare files, %v", spares(), err)
	}
	disk.free.Store(leftRoom + firstSegmentSize + 1)
	d.opts.SegmentSize = 64 << 20 // of which two do not fit
	if err := d.dropSpares(); err != nil || spares() != 0 {
		t.Fatalf("on a full disk there are %d spare files, %v", spares(), err)
	}

	value := strings.Repeat("x", 1<<20)
	index := uint64(0)
	until := func(segments int) {
		for len(d.segments) < segments {
			index++
			store(t, g, index, index, value)
		}
	}
	until(3)
	for _, s := range d.segments[1:] {
		if s.size != firstSegmentSize {
			t.Errorf("segment %d has %d bytes", s.number, s.size)
		}
	}
	disk.free.Add(-1)
	var err error
	for n := 0; err == nil && n < 10; n++ {
		if err = g.StoreLog(entry(index+1, 1, fmt.Sprint(value, index+1))); err == nil {
			index++
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrUnknown) || len(d.segments) != 3 {
		t.Fatalf("with %d segments: %v", len(d.segments), err)
	}
	if _, err := os.Stat(segmentPath(dir, 4)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the refused segment is there: %v", err)
	}
	disk.free.Store(1 << 40)
	until(4)
	if s := d.segments[3]; s.size != d.opts.SegmentSize {
		t.Errorf("with room again a segment has %d bytes", s.size)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, openGroup(t, openFull(t, disk, dir), 1), 1, index, value)
}

// TestNoSpareOnTightDisk: a segment that is not needed any more is removed if the disk is nearly
// full.
func TestNoSpareOnTightDisk(t *testing.T) {
	for free, want := range map[int64]int{1 << 40: 1, 1 << 20: 0} {
		disk := &fullDisk{}
		disk.free.Store(1 << 40)
		d := openFull(t, disk, t.TempDir())
		d.opts.SegmentSize = firstSegmentSize
		g := openGroup(t, d, 1)
		store(t, g, 1, 4, strings.Repeat("x", 1<<20))
		disk.free.Store(free)
		if err := g.DeleteRange(1, 4); err != nil {
			t.Fatal(err)
		}
		if err := d.giveUp(); err != nil {
			t.Fatal(err)
		}
		if len(d.spares) != want {
			t.Errorf("with %d bytes free %d spare files are kept", free, len(d.spares))
		}
	}
}
