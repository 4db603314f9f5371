package raftlog

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/sherddb/sherd/internal/pgerr"
)

// ErrUnknown marks the error of a call that left open whether its entries are on disk (L6).
var ErrUnknown = errors.New("the log could not be written and what is in it is not known")

// errClosed is the answer of a closed device.
var errClosed = errors.New("the log device is closed")

var errReadOnly = errors.New("the log device is open for reading only")

const (
	defaultSegmentSize = 64 << 20
	firstSegmentSize   = 4 << 20 // begun at once; the next one is made ready meanwhile
)

// Options say what Open opens. Dir is required.
type Options struct {
	Dir         string
	SegmentSize int64        // of a file; default 64 MiB
	Logger      *slog.Logger // default slog.Default()
	// ReadOnly reads what is there and changes nothing, not even a lock: that nobody else writes is the caller's part. Calls that would change a log fail.
	ReadOnly bool
}

// Device is one open log device. All methods may be called concurrently.
type Device struct {
	opts Options
	lock *os.File
	salt func() uint64

	giving   sync.Mutex // held while segments are given up; before mu
	mu       sync.Mutex
	queue    []*request        // guarded by mu
	writing  bool              // somebody writes rounds; guarded by mu
	failed   error             // guarded by mu
	segments []*segment        // oldest first, the last is written to; guarded by mu
	groups   map[uint64]*Group // every group that has anything; guarded by mu
	closed   bool              // guarded by mu
	spares   []string          // guarded by mu
	expect   int               // requests of the last round and those that waited then; guarded by mu
	nextFile int               // names spares; guarded by mu

	round  uint64 // of the next frame; the writer's
	head   [frameHead]byte
	pieces [][]byte

	kick chan struct{} // the cleaner has something to look at
	stop chan struct{}
	done sync.WaitGroup
}

// Open opens the device in o.Dir, creating it where there is none, and reads what it holds.
func Open(o Options) (*Device, error) {
	if o.Dir == "" {
		return nil, errors.New("raftlog: Dir is required")
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = defaultSegmentSize
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	d := &Device{opts: o, salt: randomSalt, groups: map[uint64]*Group{}, kick: make(chan struct{}, 1), stop: make(chan struct{})}
	if err := d.open(); err != nil {
		d.closeFiles()
		return nil, fmt.Errorf("log device %s: %w", o.Dir, err)
	}
	if o.ReadOnly {
		d.failed = errReadOnly
		return d, nil
	}
	d.done.Add(1)
	go d.clean()
	return d, nil
}

func randomSalt() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

func (d *Device) open() error {
	if d.opts.ReadOnly {
		return d.load()
	}
	if err := os.MkdirAll(d.opts.Dir, 0o700); err != nil {
		return err
	}
	if err := d.takeLock(); err != nil {
		return err
	}
	if err := d.load(); err != nil {
		return err
	}
	d.round = max(d.round, 1)
	if len(d.segments) == 0 {
		return d.addSegment(1, min(firstSegmentSize, d.opts.SegmentSize))
	}
	return nil
}

func (d *Device) takeLock() error {
	f, err := os.OpenFile(filepath.Join(d.opts.Dir, "LOCK"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	d.lock = f
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return pgerr.New(pgerr.ObjectInUse, "log directory %s is in use by another process", d.opts.Dir)
	}
	return nil
}

// addSegment begins a segment of at least size bytes. Called by the writer or before there is one.
func (d *Device) addSegment(number uint64, size int64) error {
	spare := ""
	if size == d.opts.SegmentSize {
		d.mu.Lock()
		if n := len(d.spares); n > 0 { // removed from the list even if it fails: then it is looked at again at the next start
			spare, d.spares = d.spares[n-1], d.spares[:n-1]
		}
		d.mu.Unlock()
	}
	s, err := createSegment(d.opts.Dir, segmentHeader{number: number, firstRound: d.round, salt: d.salt()}, size, spare)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.segments = append(d.segments, s)
	d.mu.Unlock()
	return nil
}

// load finds the files and reads the segments.
func (d *Device) load() error {
	entries, err := os.ReadDir(d.opts.Dir)
	if err != nil {
		return err
	}
	var numbers []uint64
	for _, e := range entries {
		path := filepath.Join(d.opts.Dir, e.Name())
		if n, ok := segmentNumber(e.Name()); ok {
			numbers = append(numbers, n)
		} else if strings.HasPrefix(e.Name(), sparePrefix) && !d.opts.ReadOnly {
			if err := d.keepSpare(path); err != nil {
				return err
			}
		}
	}
	slices.Sort(numbers)
	if err := d.loadSegments(numbers); err != nil {
		return err
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

// keepSpare takes over a spare file if it is of use.
func (d *Device) keepSpare(path string) error {
	b := make([]byte, segmentHead)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.ReadFull(f, b)
	st, serr := f.Stat()
	f.Close()
	if err != nil || serr != nil || !allZero(b) || st.Size() != d.opts.SegmentSize || len(d.spares) == maxSpares {
		return os.Remove(path)
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), sparePrefix)); err == nil {
		d.nextFile = max(d.nextFile, n)
	}
	d.spares = append(d.spares, path)
	return nil
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
	if len(d.segments) == 0 || d.opts.ReadOnly {
		return nil
	}
	// L3: a frame of a process that died may be in the page cache alone.
	return syncData(d.segments[len(d.segments)-1].f)
}

// loadSegment reads segment n. A last one without a header was never used: it is removed.
func (d *Device) loadSegment(n uint64, last bool) error {
	path := segmentPath(d.opts.Dir, n)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	h, ok := decodeSegmentHeader(b)
	if !ok && last && allZero(b[:min(len(b), segmentHead)]) {
		if d.opts.ReadOnly {
			return nil
		}
		return errors.Join(os.Remove(path), syncDir(d.opts.Dir))
	}
	if !ok || h.number != n {
		return damaged(path, "its header is malformed or of a format this release does not know")
	}
	if len(d.segments) > 0 && h.firstRound != d.round {
		return damaged(d.segments[len(d.segments)-1].path(), "rounds %d to %d are missing or malformed", d.round, h.firstRound-1)
	}
	mode := os.O_RDWR
	if d.opts.ReadOnly {
		mode = os.O_RDONLY
	}
	f, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return err
	}
	s := &segment{segmentHeader: h, f: f, size: int64(len(b)), end: align(segmentHead)}
	d.segments = append(d.segments, s)
	d.round = h.firstRound
	return d.replay(s, b)
}

// replay applies the frames of s, and leaves s.end and d.round behind the last.
func (d *Device) replay(s *segment, b []byte) error {
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
		s.end = align(s.end + int64(f.size))
		d.round++
	}
	// A torn frame is of this round, and none of the next was begun before it was whole (L2).
	if laterFrame(b[min(s.end, int64(len(b))):], s.salt, d.round+1) {
		return damaged(s.path(), "round %d at %d is malformed, and later ones follow it", d.round, s.end)
	}
	return nil
}

// group gives the group of that number. Called with mu held or before the device is in use.
func (d *Device) group(id uint64) *Group {
	g := d.groups[id]
	if g == nil {
		g = &Group{d: d, id: id, x: index{values: map[string]value{}}}
		d.groups[id] = g
	}
	return g
}

// Group opens the log of group id, which may be open once only.
func (d *Device) Group(id uint64) (*Group, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	g := d.group(id)
	if g.open {
		return nil, pgerr.New(pgerr.ObjectInUse, "log of group %d is open already", id)
	}
	g.open = true
	return g, nil
}

// Groups gives the numbers of all groups that have a log here, ascending.
func (d *Device) Groups() []uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var ids []uint64
	for id, g := range d.groups {
		if !g.empty() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, cmp.Compare)
	return ids
}

// Forget deletes the log of a group that is not open.
func (d *Device) Forget(id uint64) error {
	g, err := d.Group(id)
	if err != nil {
		return err
	}
	defer g.Close()
	if g.empty() {
		return nil
	}
	g.order.Lock()
	defer g.order.Unlock()
	g.next.forget(id)
	return g.submit()
}

// Close waits for what is being written and closes the files. Later calls fail.
func (d *Device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	d.mu.Unlock()
	close(d.stop)
	d.done.Wait()
	d.drain()
	return d.closeFiles()
}

// drain waits until nobody writes; no request comes any more.
func (d *Device) drain() {
	r := &request{batch: &batch{}, done: make(chan error, 1)}
	d.mu.Lock()
	if !d.writing {
		d.mu.Unlock()
		return
	}
	d.queue = append(d.queue, r)
	d.mu.Unlock()
	<-r.done
}

func (d *Device) closeFiles() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, s := range d.segments {
		s.use.Lock()
		errs = append(errs, s.f.Close())
		s.use.Unlock()
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close())
	}
	return errors.Join(errs...)
}

func damaged(path, format string, args ...any) error {
	return pgerr.New(pgerr.DataCorrupted, "log file %s is damaged: "+format, append([]any{path}, args...)...)
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
