package raftlog

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

const (
	maxSpares     = 2
	tightSegments = 2        // with fewer of them free the disk is nearly full
	leftRoom      = 32 << 20 // that no segment takes
	roomLook      = time.Second
)

func (d *Device) wakeCleaner() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// clean removes segments that are no longer needed and keeps files ready for new ones, in the
// background. It removes the files again when the disk is nearly full.
func (d *Device) clean() {
	defer d.done.Done()
	look := time.NewTicker(roomLook)
	defer look.Stop()
	for first := true; ; first = false {
		if err := d.giveUp(); err != nil {
			d.opts.Logger.Warn("log device: could not remove a segment", "error", err)
		}
		if !first || d.crowded() { // a device with few writes needs no second file
			if err := d.makeSpare(); err != nil {
				d.opts.Logger.Debug("log device: no spare file", "error", err)
			}
		}
		for kicked := false; !kicked; {
			select {
			case <-d.stop:
				return
			case <-d.kick:
				kicked = true
			case <-look.C:
				if err := d.dropSpares(); err != nil {
					d.opts.Logger.Warn("log device: could not remove a spare file", "error", err)
				}
			}
		}
	}
}

// tight reports whether the disk is nearly full.
func (d *Device) tight() bool {
	return !d.disk.hasRoom(d.opts.Dir, tightSegments*d.opts.SegmentSize)
}

// dropSpares removes the spare files if the disk is nearly full.
func (d *Device) dropSpares() error {
	d.mu.Lock()
	n := len(d.spares)
	d.mu.Unlock()
	if n == 0 || !d.tight() {
		return nil
	}
	d.mu.Lock()
	spares := d.spares
	d.spares = nil
	d.mu.Unlock()
	var errs []error
	for _, path := range spares {
		errs = append(errs, d.disk.remove(path))
	}
	return errors.Join(errs...)
}

// crowded reports whether the active segment is the small first one, so that the next is needed
// soon.
func (d *Device) crowded() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.segments[len(d.segments)-1].size < d.opts.SegmentSize
}

// giveUp removes the oldest segments as long as nothing in them is needed (L4), or so little that
// it is cheaper to append it again.
func (d *Device) giveUp() error {
	d.giving.Lock()
	defer d.giving.Unlock()
	for {
		s, worth := d.oldest()
		if s == nil {
			return nil
		}
		if s.live.Load() > 0 {
			if !worth {
				return nil
			}
			if err := d.evacuate(s); err != nil {
				return err
			}
		}
		if err := d.retire(s); err != nil {
			return err
		}
	}
}

// oldest returns the oldest segment unless it is the active one. It reports whether it is worth
// moving what is still needed in it: this is little, or the device is several times larger than all
// that is needed.
func (d *Device) oldest() (s *segment, worth bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.segments) < 2 || d.closed || d.failed != nil {
		return nil, false
	}
	s = d.segments[0]
	var size, live int64
	for _, x := range d.segments {
		size += x.size
		live += x.live.Load()
	}
	few := len(d.segments) > 2 && s.live.Load() < s.size/8
	return s, few || size > 3*live+4*d.opts.SegmentSize
}

// evacuate appends again what is still needed in s.
func (d *Device) evacuate(s *segment) error {
	d.mu.Lock()
	groups := make([]*Group, 0, len(d.groups))
	for _, g := range d.groups {
		groups = append(groups, g)
	}
	d.mu.Unlock()
	slices.SortFunc(groups, func(a, b *Group) int { return cmp.Compare(a.id, b.id) })
	for _, g := range groups {
		for {
			more, err := g.evacuate(s)
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
	}
	return nil
}

// evacuate moves what the group has in s, up to the size of a request; it reports whether there may
// be more.
func (g *Group) evacuate(s *segment) (more bool, err error) {
	g.order.Lock() // nothing changes until what is read here is on disk again
	defer g.order.Unlock()
	b := &g.next
	g.mu.RLock()
	for key, v := range g.x.values {
		if v.seg == s {
			b.set(g.id, []byte(key), v.bytes)
		}
	}
	for i, p := range g.x.places {
		if p.seg != s {
			continue
		}
		if b.size > 0 && b.size+int(p.size) > maxRequest {
			more = true
			break
		}
		var record []byte
		if record, err = s.read(p); err != nil {
			break
		}
		b.again(g.id, g.x.first+uint64(i), record)
	}
	g.mu.RUnlock()
	if err != nil || b.size == 0 {
		b.reset()
		return false, err
	}
	return more, g.submit()
}

// retire removes the oldest segment, in which nothing is needed, from the device; its file may be
// reused.
func (d *Device) retire(s *segment) error {
	d.mu.Lock()
	if d.segments[0] != s || s.live.Load() != 0 {
		d.mu.Unlock()
		return fmt.Errorf("segment %d is needed", s.number)
	}
	// A spare file must begin with zeros or with a frame, so that opening can see that no segment
	// was begun in it (unused).
	keep := len(d.spares) < maxSpares && s.size == d.opts.SegmentSize && s.end > align(segmentHead)
	d.mu.Unlock()
	keep = keep && !d.tight()
	s.use.Lock() // waits for readers of entries that have just been deleted
	defer s.use.Unlock()
	spare := d.sparePath()
	if err := d.leave(s.path(), spare, keep); err != nil {
		return err
	}
	d.mu.Lock()
	d.segments = d.segments[1:]
	d.mu.Unlock()
	defer s.f.Close()
	// Sync before the header is wiped: a power loss that undoes the renaming must find a whole
	// segment (L7).
	if err := d.disk.syncDir(d.opts.Dir); err != nil || !keep {
		return err
	}
	// Wipe the old header: opening must not report damage if a new segment is made of this file and
	// does not get its own header.
	if err := s.f.write([][]byte{make([]byte, segmentHead)}, 0); err != nil {
		return errors.Join(err, d.disk.remove(spare))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spares = append(d.spares, spare)
	return nil
}

// leave removes the file from the sequence.
func (d *Device) leave(path, spare string, keep bool) error {
	if keep {
		return d.disk.rename(path, spare)
	}
	return d.disk.remove(path)
}

func (d *Device) sparePath() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nextFile++
	return filepath.Join(d.opts.Dir, fmt.Sprint(sparePrefix, d.nextFile))
}

// makeSpare prepares one file for the next segment, unless the disk is nearly full.
func (d *Device) makeSpare() error {
	d.mu.Lock()
	n := len(d.spares)
	d.mu.Unlock()
	if n > 0 || !d.disk.hasRoom(d.opts.Dir, 8*d.opts.SegmentSize) {
		return nil
	}
	path := d.sparePath()
	err := makeFile(d.disk, path, d.opts.SegmentSize)
	if err != nil {
		return err
	}
	if err = fillZeros(d.disk, path, d.opts.SegmentSize, d.stop); err == nil {
		err = d.disk.syncDir(d.opts.Dir)
	}
	if err != nil {
		return errors.Join(err, d.disk.remove(path))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spares = append(d.spares, path)
	return nil
}
