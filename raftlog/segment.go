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
	f    *os.File
	size int64        // of the file
	end  int64        // where the next frame goes; the writer's
	live atomic.Int64 // bytes of records that are still needed

	use sync.RWMutex // held for reading while an entry is read, for writing while the file is given up
}

const (
	segmentSuffix = ".log"
	sparePrefix   = "spare-"
)

func segmentPath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%012d%s", number, segmentSuffix))
}

// segmentNumber gives the number in a segment's file name.
func segmentNumber(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && len(digits) == 12
}

// createSegment makes the segment's file, from a spare one if a path is given, and puts its header on disk.
func createSegment(dir string, h segmentHeader, size int64, spare string) (*segment, error) {
	path := segmentPath(dir, h.number)
	if spare == "" {
		if err := makeFile(path, size); err != nil {
			return nil, err
		}
		if size <= firstSegmentSize { // the others that find no spare file go without zeros
			if err := fillZeros(path, size, nil); err != nil {
				return nil, err
			}
		}
	} else if err := os.Rename(spare, path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err = writeSynced(f, [][]byte{h.encode()}, 0); err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &segment{segmentHeader: h, f: f, size: size, end: align(segmentHead)}, nil
}

// makeFile makes a file of zeros whose blocks are reserved. What cannot be made is removed.
func makeFile(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err = reserve(f, size); err == nil {
		err = f.Sync() // the length must be there before syncing data alone may be relied on
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(path)
	}
	return err
}

// fillZeros writes all blocks of the file, in small portions, each synced: a large one would hold up the commits that share
// the disk. A file that is not filled is removed.
func fillZeros(path string, size int64, stop <-chan struct{}) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	zeros := make([]byte, min(size, 1<<20))
	for off := int64(0); off < size && err == nil; off += int64(len(zeros)) {
		select {
		case <-stop:
			err = os.ErrClosed
		default:
			err = writeSynced(f, [][]byte{zeros[:min(int64(len(zeros)), size-off)]}, off)
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(path)
	}
	return err
}

func (s *segment) path() string { return s.f.Name() }

// read gives the record at p; the caller holds s.use.
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

// writeThenSync is writeSynced in two steps.
func writeThenSync(f *os.File, pieces [][]byte, off int64) error {
	for _, p := range pieces {
		if _, err := f.WriteAt(p, off); err != nil {
			return err
		}
		off += int64(len(p))
	}
	return syncData(f)
}

// skip leaves out the first n bytes of pieces.
func skip(pieces [][]byte, n int) [][]byte {
	for len(pieces) > 0 && n >= len(pieces[0]) {
		n -= len(pieces[0])
		pieces = pieces[1:]
	}
	if n > 0 {
		pieces[0] = pieces[0][n:]
	}
	return pieces
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
