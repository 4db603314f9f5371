package raftlog

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// segment is one file of the device.
type segment struct {
	segmentHeader
	f    file
	size int64        // of the file
	end  int64        // position of the next frame; only the writer uses it
	live atomic.Int64 // bytes of records that are still needed

	use sync.RWMutex // held for reading while an entry is read, for writing while the file is retired
}

const (
	segmentSuffix = ".log"
	sparePrefix   = "spare-"
)

func segmentPath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%012d%s", number, segmentSuffix))
}

// segmentNumber returns the number in a segment's file name.
func segmentNumber(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && len(digits) == 12
}

// createSegment makes the segment's file, from a spare one if a path is given, and puts its header
// on disk. If this fails it removes the file: smaller requests may still fit into the segment
// before, and would get the round that the header names.
func createSegment(disk disk, dir string, h segmentHeader, size int64, spare string) (s *segment, err error) {
	path := segmentPath(dir, h.number)
	if spare == "" {
		err = makeFile(disk, path, size)
	} else {
		err = disk.rename(spare, path)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			disk.remove(path) // if it comes back after a power loss, or cannot be removed, see loadSegment
		}
	}()
	// All other segments without a spare file are not filled with zeros.
	if spare == "" && size <= firstSegmentSize {
		if err := fillZeros(disk, path, size, nil); err != nil {
			return nil, err
		}
	}
	f, err := disk.open(path, false)
	if err != nil {
		return nil, err
	}
	if err = f.write([][]byte{h.encode()}, 0); err == nil {
		err = disk.syncDir(dir)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &segment{segmentHeader: h, f: f, size: size, end: align(segmentHead)}, nil
}

// makeFile makes a file of zeros whose blocks are reserved. If this fails it removes the file.
func makeFile(disk disk, path string, size int64) error {
	f, err := disk.create(path)
	if err != nil {
		return err
	}
	err = f.reserve(size)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		disk.remove(path)
	}
	return err
}

// fillZeros writes all blocks of the file in small portions and syncs each: a large portion would
// delay the commits that share the disk.
func fillZeros(disk disk, path string, size int64, stop <-chan struct{}) error {
	f, err := disk.open(path, false)
	if err != nil {
		return err
	}
	zeros := make([]byte, min(size, 1<<20))
	for off := int64(0); off < size && err == nil; off += int64(len(zeros)) {
		select {
		case <-stop:
			err = os.ErrClosed
		default:
			err = f.write([][]byte{zeros[:min(int64(len(zeros)), size-off)]}, off)
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (s *segment) path() string { return s.f.Name() }

// read returns the record at p; the caller holds s.use.
func (s *segment) read(p place) ([]byte, error) {
	b := make([]byte, p.size)
	if _, err := s.f.ReadAt(b, int64(p.off)); err != nil {
		return nil, err
	}
	if _, _, size, err := splitRecord(b); err != nil || size != len(b) {
		return nil, damaged(s.path(), "the record at %d does not match its checksum", p.off)
	}
	return b, nil
}
