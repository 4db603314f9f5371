package raftlog

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// load finds the files and reads the segments.
func (d *Device) load() error {
	names, err := d.disk.list(d.opts.Dir)
	if err != nil {
		return err
	}
	var numbers []uint64
	var spares []string
	for _, name := range names {
		if n, ok := segmentNumber(name); ok {
			numbers = append(numbers, n)
		} else if strings.HasPrefix(name, sparePrefix) {
			spares = append(spares, filepath.Join(d.opts.Dir, name))
		}
	}
	slices.Sort(numbers)
	if err := d.loadSegments(numbers); err != nil {
		return err
	}
	for _, path := range spares {
		if err := d.loadSpare(path); err != nil {
			return err
		}
	}
	if !d.opts.ReadOnly {
		if err := d.secure(); err != nil {
			return err
		}
	}
	for id, g := range d.groups {
		if err := g.x.settle(); err != nil {
			return pgerr.New(pgerr.DataCorrupted, "the log in %s is damaged: group %d: %v", d.opts.Dir, id, err)
		}
		if g.empty() {
			delete(d.groups, id)
		}
	}
	return nil
}

// secure puts on disk what was found (L3). The header and the last frame of the last segment are written once
// more: their write may have failed in a process before this one. The page cache still holds such pages then,
// and takes them for written, so that a sync alone would return without an error. All frames before were synced
// before the last one was begun (L1). Files that were made or renamed right before a process ended may have
// their names in memory only.
func (d *Device) secure() error {
	if n := len(d.segments); n > 0 {
		s := d.segments[n-1]
		if err := s.f.write([][]byte{s.encode()}, 0); err != nil {
			return err
		}
		if len(d.lastFrame) > 0 {
			if err := s.f.write([][]byte{d.lastFrame}, d.lastFrameAt); err != nil {
				return err
			}
		}
	}
	d.lastFrame = nil
	return d.disk.syncDir(d.opts.Dir)
}

func (d *Device) loadSegments(numbers []uint64) error {
	for i, n := range numbers {
		if i > 0 && n != numbers[i-1]+1 {
			return damaged(segmentPath(d.opts.Dir, n-1), "the file is missing")
		}
		if err := d.loadSegment(n, i == len(numbers)-1); err != nil {
			return err
		}
	}
	return nil
}

// loadSegment reads segment n. One that holds no log is removed (unused).
func (d *Device) loadSegment(n uint64, last bool) error {
	path := segmentPath(d.opts.Dir, n)
	b, err := d.disk.read(path)
	if err != nil {
		return err
	}
	h, ok := decodeSegmentHeader(b)
	if d.unused(n, b, last) {
		return d.remove(path)
	}
	if !ok || h.number != n {
		return damaged(path, "its header is malformed or of a format this release does not know")
	}
	if len(d.segments) > 0 && h.firstRound != d.round {
		before := d.segments[len(d.segments)-1].path()
		if h.firstRound < d.round {
			return damaged(before, "rounds %d to %d are in %s too", h.firstRound, d.round-1, filepath.Base(path))
		}
		return damaged(before, "rounds %d to %d are missing or malformed", d.round, h.firstRound-1)
	}
	f, err := d.disk.open(path, d.opts.ReadOnly)
	if err != nil {
		return err
	}
	s := &segment{segmentHeader: h, f: f, size: int64(len(b)), end: align(segmentHead)}
	d.segments = append(d.segments, s)
	d.round = h.firstRound
	return d.replay(s, b)
}

// unused reports whether the file in the place of segment n, with content b, holds nothing of the log:
//
//   - the last one has no header, or the header of a segment that was given up: it was made, or made of a spare
//     file, and not begun. What follows the header's place then is zeros or frames of earlier rounds. Anything
//     else is a segment whose header was lost;
//   - the last one has a header but no frame, and the segment before it has the round that it was to begin with:
//     beginning it failed after its header was written, and smaller rounds went on in the one before;
//   - one before all others has a wiped header in front of its first frame: it was given up, with nothing alive in
//     it, and a power loss undid its renaming. Releases before L7 left this. Damage takes whole sectors, and the
//     frame with the header.
func (d *Device) unused(n uint64, b []byte, last bool) bool {
	h, ok := decodeSegmentHeader(b)
	if ok && h.number == n {
		return last && len(d.segments) > 0 && h.firstRound < d.round && !laterFrame(frames(b), h.salt, 0)
	}
	wiped := allZero(b[:min(len(b), segmentHead)])
	round, begun := firstFrame(b)
	if last {
		return wiped && allZero(b) || (wiped || ok && h.number < n) && begun && round < d.round
	}
	return wiped && begun && len(d.segments) == 0
}

// frames is the part of a segment's file behind its header.
func frames(b []byte) []byte { return b[min(align(segmentHead), int64(len(b))):] }

// firstFrame returns the round in the header of the first frame of a segment's file. Without the salt it cannot
// be checked further.
func firstFrame(b []byte) (round uint64, ok bool) {
	b = frames(b)
	if len(b) < frameHead || binary.LittleEndian.Uint32(b) != frameMagic || b[4] != formatByte || !allZero(b[5:8]) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[8:]), true
}

// remove removes a file that holds nothing; secure syncs the directory.
func (d *Device) remove(path string) error {
	if d.opts.ReadOnly {
		return nil
	}
	return d.disk.remove(path)
}

// replay applies the frames of s, and leaves s.end and d.round behind the last.
func (d *Device) replay(s *segment, b []byte) error {
	d.lastFrame = nil
	for {
		f, ok := readFrame(b[min(s.end, int64(len(b))):], s.salt)
		if !ok || f.round != d.round {
			break
		}
		for i := range f.edits {
			e := &f.edits[i]
			if err := d.group(e.group).x.apply(e, s, uint32(s.end+frameHead)); err != nil {
				return damaged(s.path(), "round %d, group %d: %v", f.round, e.group, err)
			}
		}
		d.lastFrame, d.lastFrameAt = b[s.end:s.end+int64(f.size)], s.end
		s.end = align(s.end + int64(f.size))
		d.round++
	}
	// A torn frame is of this round, and none of the next was begun before it was whole (L2).
	if laterFrame(b[min(s.end, int64(len(b))):], s.salt, d.round+1) {
		return damaged(s.path(), "round %d at %d is malformed, and later ones follow it", d.round, s.end)
	}
	return nil
}

// loadSpare takes over a spare file if it is of use.
func (d *Device) loadSpare(path string) error {
	f, err := d.disk.open(path, true)
	if err != nil {
		return err
	}
	b := make([]byte, segmentHead)
	_, rerr := f.ReadAt(b, 0) // one that is too short is of no use
	size, err := f.size()
	f.Close()
	if err != nil {
		return err
	}
	if rerr == nil && allZero(b) && size == d.opts.SegmentSize && len(d.spares) < maxSpares {
		if n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), sparePrefix)); err == nil {
			d.nextFile = max(d.nextFile, n)
		}
		d.spares = append(d.spares, path)
		return nil
	}
	if h, ok := decodeSegmentHeader(b); ok {
		if err := d.checkSpare(path, h); err != nil {
			return err
		}
	}
	return d.remove(path)
}

// checkSpare refuses a spare file with entries that may have been acknowledged: those of a segment that was not
// given up. Its renaming to that segment's name has been undone by a power loss. Releases before L3 spoke of
// names could go on after a kill without syncing it.
func (d *Device) checkSpare(path string, h segmentHeader) error {
	if len(d.segments) > 0 && h.number < d.segments[0].number {
		return nil
	}
	b, err := d.disk.read(path)
	if err != nil {
		return err
	}
	if !laterFrame(frames(b), h.salt, 0) {
		return nil // it was not begun
	}
	refused := pgerr.New(pgerr.DataCorrupted, "log file %s holds entries of segment %d, which is missing", path, h.number)
	if n := len(d.segments); n > 0 && h.number == d.segments[n-1].number+1 && h.firstRound == d.round {
		name := filepath.Base(segmentPath(d.opts.Dir, h.number))
		return refused.WithHint("A power loss has undone the renaming of this file. Rename it to %s.", name)
	}
	return refused
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
