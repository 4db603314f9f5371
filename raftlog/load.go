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
		if err := g.x.checkComplete(); err != nil {
			return pgerr.New(pgerr.DataCorrupted, "the log in %s is damaged: group %d: %v", d.opts.Dir, id, err)
		}
		if g.empty() {
			delete(d.groups, id)
		}
	}
	return nil
}

// secure puts on disk what was found (L3). It writes the header and the last frame of the last
// segment once more: a previous process may have failed to write them. The page cache then still
// holds such pages and considers them written, so a sync alone would succeed. All earlier frames
// were synced before the last one was begun (L1). The directory is synced because files that were
// created or renamed right before a process ended may have their names in memory only.
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

// loadSegment reads segment n. If it holds no log, it is removed (unused).
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

// unused reports whether the file of segment n, with content b, holds nothing of the log. There are
// three cases:
//
//   - The last segment has no header, or the header of a retired segment: the file was created, or
//     made of a spare file, and no segment was begun in it. Zeros or frames of earlier rounds then
//     follow the header. Anything else is a segment whose header was lost.
//   - The last segment has a header but no frame, and the segment before it has the round that this
//     one was to begin with: it failed after its header was written, and smaller rounds were
//     written to the one before.
//   - A segment before all others has a wiped header in front of its first frame: it was retired
//     because nothing in it was needed, and a power loss undid its renaming. Releases before L7
//     left such files. Damage destroys whole sectors, and so the frame together with the header.
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

// frames returns the part of a segment's file after its header.
func frames(b []byte) []byte { return b[min(align(segmentHead), int64(len(b))):] }

// firstFrame returns the round in the header of the first frame of a segment's file. It cannot
// check the frame further because it does not know the salt.
func firstFrame(b []byte) (round uint64, ok bool) {
	b = frames(b)
	if len(b) < frameHead || binary.LittleEndian.Uint32(b) != frameMagic || b[4] != formatByte || !allZero(b[5:8]) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[8:]), true
}

// remove removes a file that holds nothing of the log; secure syncs the directory.
func (d *Device) remove(path string) error {
	if d.opts.ReadOnly {
		return nil
	}
	return d.disk.remove(path)
}

// replay applies the frames of s, and leaves s.end and d.round after the last one.
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
	// A torn frame has this round, and no frame of the next round was begun before it was whole
	// (L2).
	if laterFrame(b[min(s.end, int64(len(b))):], s.salt, d.round+1) {
		return damaged(s.path(), "round %d at %d is malformed, and later ones follow it", d.round, s.end)
	}
	return nil
}

// loadSpare adds a spare file to the list if it can be used, and removes it otherwise.
func (d *Device) loadSpare(path string) error {
	f, err := d.disk.open(path, true)
	if err != nil {
		return err
	}
	b := make([]byte, segmentHead)
	_, rerr := f.ReadAt(b, 0) // a file that is too short is of no use
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

// checkSpare refuses a spare file with entries that may have been acknowledged, because their
// segment was not retired: a power loss has undone the renaming of the spare file to that segment.
// Releases whose L3 did not include names could go on after a kill without syncing that renaming.
func (d *Device) checkSpare(path string, h segmentHeader) error {
	if len(d.segments) > 0 && h.number < d.segments[0].number {
		return nil
	}
	b, err := d.disk.read(path)
	if err != nil {
		return err
	}
	if !laterFrame(frames(b), h.salt, 0) {
		return nil // the segment was not begun
	}
	refused := pgerr.New(
		pgerr.DataCorrupted, "log file %s holds entries of segment %d, which is missing", path, h.number,
	)
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
