package raftlog

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"syscall"
)

// simDisk is a disk in memory that separates what a process sees from what a power loss leaves:
// names are lost until their directory is synced, bytes until their write has returned. The step of
// a planned fault fails or is the last of the process.
type simDisk struct {
	names   map[string]*simFile // as a process sees them
	durable map[string]*simFile // after a power loss
	pending []renaming          // changes in names and not in durable, in the order of a journal
	step    int
	at      int // the step at which fault happens
	fault   fault
	dead    bool
}

// renaming changes the name of file to to; an empty name stands for creation or removal.
type renaming struct {
	from, to string
	file     *simFile
}

// simFile is a file's content in the page cache and on the disk, and the writes that are not
// synced.
type simFile struct {
	cache, disk []byte
	dirty       []simWrite
}

type simWrite struct {
	off  int64
	data []byte
}

// part returns that many halves of the write, in whole sectors: a sector is written or not.
func (w simWrite) part(halves int) []byte {
	if halves == 2 {
		return w.data
	}
	const sector = 512
	end := (w.off + int64(len(w.data)*halves/2)) / sector * sector
	return w.data[:max(end-w.off, 0)]
}

type fault int

const (
	killBefore fault = iota // the process dies before the step
	killAfter               // after the step, which is made without its sync
	// the step fails; the page cache holds a write and considers it written, but the disk does not
	ioError
	noSpace // the step fails; half of a write is on the disk
)

var faults = []fault{killBefore, killAfter, ioError, noSpace}

func (f fault) String() string {
	return []string{"killed before", "killed after", "I/O error at", "no space at"}[f]
}

var errKilled = errors.New("killed")

func newSimDisk() *simDisk {
	return &simDisk{names: map[string]*simFile{}, durable: map[string]*simFile{}}
}

// begin counts a step. If act is set the step is made, and then fails with err if that is not nil.
func (d *simDisk) begin() (act bool, err error) {
	if d.dead {
		return false, errKilled
	}
	if d.step++; d.step != d.at {
		return true, nil
	}
	switch d.fault {
	case ioError:
		return false, syscall.EIO
	case noSpace:
		return false, syscall.ENOSPC
	}
	d.dead = true
	return d.fault == killAfter, errKilled
}

func (d *simDisk) change(r renaming) {
	if r.from != "" {
		delete(d.names, r.from)
	}
	if r.to != "" {
		d.names[r.to] = r.file
	}
	d.pending = append(d.pending, r)
}

func (d *simDisk) lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

func (d *simDisk) list(string) ([]string, error) {
	return slices.Sorted(maps.Keys(d.names)), nil
}

func (d *simDisk) read(path string) ([]byte, error) {
	f := d.names[filepath.Base(path)]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	return slices.Clone(f.cache), nil
}

func (d *simDisk) create(path string) (file, error) {
	act, err := d.begin()
	if act {
		d.change(renaming{to: filepath.Base(path), file: &simFile{}})
	}
	if err != nil {
		return nil, err
	}
	return d.handle(path)
}

func (d *simDisk) open(path string, readOnly bool) (file, error) {
	if !readOnly {
		if _, err := d.begin(); err != nil {
			return nil, err
		}
	}
	return d.handle(path)
}

func (d *simDisk) handle(path string) (file, error) {
	f := d.names[filepath.Base(path)]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	return &simHandle{d, f, path}, nil
}

func (d *simDisk) rename(from, to string) error {
	act, err := d.begin()
	if act {
		from, to = filepath.Base(from), filepath.Base(to)
		d.change(renaming{from, to, d.names[from]})
	}
	return err
}

func (d *simDisk) remove(path string) error {
	act, err := d.begin()
	if act {
		d.change(renaming{from: filepath.Base(path)})
	}
	return err
}

func (d *simDisk) syncDir(string) error {
	if _, err := d.begin(); err != nil {
		return err
	}
	d.pending, d.durable = nil, maps.Clone(d.names)
	return nil
}

func (d *simDisk) hasRoom(string, int64) bool { return true }

// afterKill returns the disk as the next process finds it: nothing on it is lost.
func (d *simDisk) afterKill() *simDisk { return d.image(len(d.pending), true, 0) }

// afterPowerLoss lists what the disk may hold after a power loss: a prefix of the name changes, and
// all, one half or none of the bytes that were not synced.
func (d *simDisk) afterPowerLoss() (list []*simDisk) {
	dirty := false
	for _, f := range d.names {
		dirty = dirty || len(f.dirty) > 0
	}
	for n := range len(d.pending) + 1 {
		list = append(list, d.image(n, false, 0))
		if dirty {
			list = append(list, d.image(n, false, 1), d.image(n, false, 2))
		}
	}
	return list
}

// image copies the disk with the first n changes of names and halves halves of the bytes that were
// not synced, or with the page cache.
func (d *simDisk) image(n int, cache bool, halves int) *simDisk {
	to, copies := newSimDisk(), map[*simFile]*simFile{}
	file := func(f *simFile) *simFile {
		if f == nil || copies[f] != nil {
			return copies[f]
		}
		c := &simFile{disk: slices.Clone(f.disk)}
		if cache {
			c.cache, c.dirty = slices.Clone(f.cache), slices.Clone(f.dirty)
		} else {
			for _, w := range f.dirty {
				n := len(w.part(halves)) // of the current page cache
				copy(c.disk[w.off:], f.cache[w.off:w.off+int64(n)])
			}
			c.cache = slices.Clone(c.disk)
		}
		copies[f] = c
		return c
	}
	for name, f := range d.durable {
		to.names[name] = file(f)
	}
	to.durable = maps.Clone(to.names)
	for _, r := range d.pending[:n] {
		to.change(renaming{r.from, r.to, file(r.file)})
	}
	if !cache {
		to.durable, to.pending = maps.Clone(to.names), nil
	}
	return to
}

type simHandle struct {
	d    *simDisk
	f    *simFile
	path string
}

func (h *simHandle) Name() string { return h.path }

func (h *simHandle) Close() error { return nil }

func (h *simHandle) size() (int64, error) { return int64(len(h.f.cache)), nil }

func (h *simHandle) ReadAt(b []byte, off int64) (int, error) {
	if off >= int64(len(h.f.cache)) {
		return 0, io.EOF
	}
	n := copy(b, h.f.cache[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (h *simHandle) reserve(size int64) error {
	act, err := h.d.begin()
	if act {
		h.f.cache = append(h.f.cache, make([]byte, size-int64(len(h.f.cache)))...)
	}
	if err == nil {
		h.f.disk = append(h.f.disk, make([]byte, size-int64(len(h.f.disk)))...)
	} else if act {
		h.f.cache = h.f.cache[:0] // the length is not on the disk
	}
	return err
}

func (h *simHandle) write(pieces [][]byte, off int64) error {
	w := simWrite{off, slices.Concat(pieces...)}
	act, err := h.d.begin()
	switch {
	case err == nil:
		copy(h.f.cache[off:], w.data)
		copy(h.f.disk[off:], w.data)
	case err == syscall.EIO:
		copy(h.f.cache[off:], w.data)
	case err == syscall.ENOSPC:
		copy(h.f.cache[off:], w.part(1))
		copy(h.f.disk[off:], w.part(1))
	case act:
		copy(h.f.cache[off:], w.data)
		h.f.dirty = append(h.f.dirty, w)
	}
	return err
}
