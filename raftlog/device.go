package raftlog

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	"github.com/sherddb/sherd/internal/pgerr"
)

// ErrUnknown marks the error of a call after which it is unknown whether its entries are on disk
// (L6).
var ErrUnknown = errors.New("the log could not be written and what is in it is not known")

// errClosed is returned by a closed device.
var errClosed = errors.New("the log device is closed")

var errReadOnly = errors.New("the log device is open for reading only")

const (
	defaultSegmentSize = 64 << 20
	firstSegmentSize   = 4 << 20 // small, to be ready at once; the next file is prepared meanwhile
)

// Options are the options of Open. Dir is required.
type Options struct {
	Dir         string
	SegmentSize int64        // of a file; default 64 MiB
	Logger      *slog.Logger // default slog.Default()
	// ReadOnly reads the device and changes nothing, not even a lock: the caller makes sure that no
	// other process writes. Calls that would change a log fail.
	ReadOnly bool
	// Failed, if set, is called when the device accepts no more writes because one has failed (L6).
	// It must not block.
	Failed func(error)
}

// Device is one open log device. All methods may be called concurrently.
type Device struct {
	opts Options
	disk disk
	lock io.Closer
	salt func() uint64

	giving   sync.Mutex // held while segments are removed; before mu
	mu       sync.Mutex
	queue    []*request        // guarded by mu
	writing  bool              // a goroutine writes rounds; guarded by mu
	failed   error             // guarded by mu
	segments []*segment        // oldest first, the last is active; guarded by mu
	groups   map[uint64]*Group // every group that has any record; guarded by mu
	closed   bool              // guarded by mu
	spares   []string          // guarded by mu
	expect   int               // requests in the last round and those that waited for the next; guarded by mu
	nextFile int               // names spares; guarded by mu

	lastFrame   []byte // the last frame found, and its position; while the device is opened
	lastFrameAt int64

	round  uint64 // of the next frame; only the writer uses it
	head   [frameHead]byte
	pieces [][]byte

	kick chan struct{} // wakes the cleaner
	stop chan struct{}
	done sync.WaitGroup
}

// Open opens the device in o.Dir, creates it if it does not exist, and reads its contents.
func Open(o Options) (*Device, error) {
	d, err := openOn(osDisk{}, o)
	if err == nil && !o.ReadOnly {
		d.done.Add(1)
		go d.clean()
	}
	return d, err
}

// openOn is Open on the given disk, without the cleaner.
func openOn(disk disk, o Options) (*Device, error) {
	if o.Dir == "" {
		return nil, errors.New("raftlog: Dir is required")
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = defaultSegmentSize
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	d := &Device{
		opts: o, disk: disk, salt: randomSalt, groups: map[uint64]*Group{}, kick: make(chan struct{}, 1),
		stop: make(chan struct{}),
	}
	if err := d.open(); err != nil {
		d.closeFiles()
		return nil, fmt.Errorf("log device %s: %w", o.Dir, err)
	}
	if o.ReadOnly {
		d.failed = errReadOnly
	}
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
	lock, err := d.disk.lock(d.opts.Dir)
	if errors.Is(err, errInUse) {
		return pgerr.New(pgerr.ObjectInUse, "log directory %s is in use by another process", d.opts.Dir)
	}
	if err != nil {
		return err
	}
	d.lock = lock
	if err := d.load(); err != nil {
		return err
	}
	d.round = max(d.round, 1)
	if len(d.segments) == 0 {
		return d.addSegment(1, min(firstSegmentSize, d.opts.SegmentSize))
	}
	return nil
}

// addSegment begins a segment of at least size bytes. Only the writer calls it, or openOn before
// there is a writer.
func (d *Device) addSegment(number uint64, size int64) error {
	spare := ""
	if size == d.opts.SegmentSize {
		d.mu.Lock()
		// The file leaves the list even if it cannot be used: then the next start checks it again.
		if n := len(d.spares); n > 0 {
			spare, d.spares = d.spares[n-1], d.spares[:n-1]
		}
		d.mu.Unlock()
	}
	s, err := createSegment(
		d.disk, d.opts.Dir, segmentHeader{number: number, firstRound: d.round, salt: d.salt()}, size, spare,
	)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.segments = append(d.segments, s)
	d.mu.Unlock()
	return nil
}

// group returns the group with number id. The caller holds mu, or the device is not in use yet.
func (d *Device) group(id uint64) *Group {
	g := d.groups[id]
	if g == nil {
		g = &Group{d: d, id: id, x: index{values: map[string]value{}}}
		d.groups[id] = g
	}
	return g
}

// Group opens the log of group id. A log can be open only once.
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

// Groups returns the numbers of all groups that have a log here, ascending.
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

// Close waits for pending writes and closes the files. Later calls fail.
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

// drain waits until the writer stops; no requests arrive any more.
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
