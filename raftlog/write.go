package raftlog

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// request is one group's batch on its way to the disk.
type request struct {
	batch *batch
	g     *Group
	done  chan error
}

const (
	maxRound   = 4 << 20 // bytes of a round, unless a single request is larger
	maxRequest = 4 << 20 // bytes of a request, unless a single entry is larger
)

// submit writes r and returns when it is on disk (L1). A caller that finds the device idle writes
// its own round at once. A goroutine writes what gathers meanwhile, until the queue is empty.
func (d *Device) submit(r *request) error {
	d.mu.Lock()
	if err := d.usable(); err != nil {
		d.mu.Unlock()
		return err
	}
	d.queue = append(d.queue, r)
	if d.writing {
		d.mu.Unlock()
		return <-r.done
	}
	d.writing = true
	d.mu.Unlock()
	d.writeRound()
	d.mu.Lock()
	if len(d.queue) > 0 {
		go d.writeOn()
	} else {
		d.writing = false
	}
	d.mu.Unlock()
	return <-r.done
}

// usable reports why the device accepts no writes. The caller holds mu.
func (d *Device) usable() error {
	if d.closed {
		return errClosed
	}
	return d.failed
}

func (d *Device) writeOn() {
	for {
		d.writeRound()
		d.mu.Lock()
		if len(d.queue) == 0 {
			d.writing = false
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
	}
}

// writeRound writes the queued requests, up to maxRound, and answers them.
func (d *Device) writeRound() {
	d.gather()
	d.mu.Lock()
	n, size := 0, 0
	for n < len(d.queue) && (n == 0 || size+d.queue[n].batch.size <= maxRound) {
		size += d.queue[n].batch.size
		n++
	}
	round := d.queue[:n:n]
	d.queue = append([]*request(nil), d.queue[n:]...)
	err := d.failed
	d.mu.Unlock()
	if err == nil && size > 0 {
		err = d.write(round, size)
	}
	d.mu.Lock()
	d.expect = n + len(d.queue) // those answered now may come back at once
	d.mu.Unlock()
	for _, r := range round {
		r.done <- err
	}
}

// gather lets the groups of the last round run, so that those with more to write join this round
// and need not wait for the next.
func (d *Device) gather() {
	for range 12 {
		d.mu.Lock()
		full := len(d.queue) >= d.expect
		d.mu.Unlock()
		if full {
			return
		}
		runtime.Gosched()
	}
}

// write puts the requests on disk as one frame and then applies their changes.
func (d *Device) write(round []*request, size int) error {
	seg, err := d.room(align(int64(frameHead + size)))
	if err != nil {
		return err // refused as a whole (L6)
	}
	crcs := make([][]byte, len(round))
	records := 0
	d.pieces = append(d.pieces[:0], d.head[:])
	for i, r := range round {
		crcs[i] = r.batch.crcs
		records += len(r.batch.edits)
		d.pieces = r.batch.pieces(d.pieces)
	}
	putFrame(&d.head, seg.salt, d.round, size, records, crcs...)
	err = seg.f.write(d.pieces, seg.end)
	clear(d.pieces)
	if err != nil {
		return d.writeFailed(seg, err)
	}
	base := uint32(seg.end + frameHead)
	for _, r := range round {
		if len(r.batch.edits) > 0 {
			r.g.publish(r.batch.edits, seg, base)
		}
		base += uint32(r.batch.size)
	}
	seg.end = align(seg.end + int64(frameHead+size))
	d.round++
	return nil
}

// room returns the segment for the next frame of n bytes.
func (d *Device) room(n int64) (*segment, error) {
	d.mu.Lock()
	seg := d.segments[len(d.segments)-1]
	d.mu.Unlock()
	if seg.end+n <= seg.size {
		return seg, nil
	}
	size, err := d.nextSize(align(segmentHead) + n)
	if err == nil {
		err = d.addSegment(seg.number+1, size)
	}
	if err != nil {
		return nil, err
	}
	d.wakeCleaner()
	return d.room(n)
}

// nextSize returns the size of the next segment, which takes at least need bytes. On a nearly full
// disk it is small, and ENOSPC if the segment would leave less than leftRoom: the databases that
// share the disk write through memory maps, and a process whose map finds no room ends.
func (d *Device) nextSize(need int64) (int64, error) {
	size := max(d.opts.SegmentSize, need)
	d.mu.Lock()
	spare := size == d.opts.SegmentSize && len(d.spares) > 0
	d.mu.Unlock()
	if spare || d.disk.hasRoom(d.opts.Dir, size+tightSegments*d.opts.SegmentSize) {
		return size, nil
	}
	size = max(min(firstSegmentSize, d.opts.SegmentSize), need)
	if !d.disk.hasRoom(d.opts.Dir, size+leftRoom) {
		return 0, &os.PathError{Op: "create a segment in", Path: d.opts.Dir, Err: syscall.ENOSPC}
	}
	return size, nil
}

// writeFailed decides what a failed write means (L6). If there was no room, it wipes the frame's
// header: then the frame is certainly not on disk.
func (d *Device) writeFailed(seg *segment, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		if seg.f.write([][]byte{make([]byte, frameHead)}, seg.end) == nil {
			return err
		}
	}
	err = fmt.Errorf("%w: %w", ErrUnknown, err)
	d.mu.Lock()
	d.failed = err
	d.mu.Unlock()
	d.opts.Logger.Error("log device", "error", err)
	if d.opts.Failed != nil {
		d.opts.Failed(err)
	}
	return err
}
