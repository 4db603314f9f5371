package exec

import (
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// Memory counts the memory that one query retains: sorted and joined rows, groups, materialised
// results. The query's goroutines share it.
type Memory struct {
	limit int64
	dir   string // of temporary files; "" is the system's
	used  atomic.Int64
}

// NewMemory returns an account; limit is in bytes, 0: no limit.
func NewMemory(limit int64) *Memory { return &Memory{limit: limit} }

// WithFiles sets the directory of the query's temporary files.
func (m *Memory) WithFiles(dir string) *Memory {
	m.dir = dir
	return m
}

// tempFile creates a temporary file for the query.
func (m *Memory) tempFile() (*os.File, error) {
	if m == nil {
		return TempFile("")
	}
	return TempFile(m.dir)
}

// TempFile creates a temporary file in a directory, which it creates if necessary; "" is the
// system's. The file is unlinked at once, so a crash leaves nothing.
func TempFile(dir string) (*os.File, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(dir, "sherd-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Grow adds n bytes, or returns 53200.
func (m *Memory) Grow(n int64) error {
	if m == nil {
		return nil
	}
	if used := m.used.Add(n); m.limit > 0 && used > m.limit {
		m.used.Add(-n)
		return pgerr.New(pgerr.OutOfMemory, "out of memory").
			WithDetail("The query would keep more than %d MB of rows.", m.limit>>20).
			WithHint("Raise work_mem, or let the query keep fewer rows: narrow it, or give ORDER BY a LIMIT.")
	}
	return nil
}

// Release subtracts n bytes.
func (m *Memory) Release(n int64) {
	if m != nil {
		m.used.Add(-n)
	}
}

// Used returns the number of bytes in use.
func (m *Memory) Used() int64 { return m.used.Load() }

// Left returns the number of bytes that may still be added, at least 1; 0: no limit.
func (m *Memory) Left() int64 {
	if m == nil || m.limit <= 0 {
		return 0
	}
	return max(m.limit-m.used.Load(), 1)
}

const (
	datumSize   = int64(unsafe.Sizeof(types.Datum{}))
	firstDatums = 64       // of an arena's first slab
	slabDatums  = 2048     // of its later ones
	firstBytes  = 1 << 10  // of an arena's first chunk of text
	slabBytes   = 64 << 10 // of its later ones
)

// arena keeps copies of rows, datums in slabs and their text in chunks, so that a retained row
// needs no allocation of its own.
type arena struct {
	mem    *Memory
	exact  bool // for one row: allocates no more than it needs
	datums []types.Datum
	bytes  []byte
	taken  int64
}

// row returns space for n datums.
func (a *arena) row(n int) (types.Row, error) {
	if len(a.datums) < n {
		size := a.size(n, firstDatums, slabDatums, a.taken == 0)
		if err := a.grow(int64(size) * datumSize); err != nil {
			return nil, err
		}
		a.datums = make([]types.Datum, size)
	}
	r := a.datums[:n:n]
	a.datums = a.datums[n:]
	return r, nil
}

// size returns how much to allocate if need is requested.
func (a *arena) size(need, first, later int, isFirst bool) int {
	switch {
	case a.exact:
		return need
	case isFirst:
		return max(need, first)
	}
	return max(need, later)
}

// clone copies a row and the memory that its datums alias.
func (a *arena) clone(row types.Row) (types.Row, error) {
	r, err := a.row(len(row))
	if err != nil {
		return nil, err
	}
	for i, d := range row {
		if d.S != "" {
			if d.S, err = a.text(d.S); err != nil {
				return nil, err
			}
		}
		r[i] = d
	}
	return r, nil
}

// datum copies the memory that d aliases.
func (a *arena) datum(d types.Datum) (types.Datum, error) {
	if d.S == "" {
		return d, nil
	}
	s, err := a.text(d.S)
	d.S = s
	return d, err
}

func (a *arena) text(s string) (string, error) {
	if len(a.bytes) < len(s) {
		size := a.size(len(s), firstBytes, slabBytes, a.taken <= firstDatums*datumSize)
		if err := a.grow(int64(size)); err != nil {
			return "", err
		}
		a.bytes = make([]byte, size)
	}
	n := copy(a.bytes, s)
	out := unsafe.String(unsafe.SliceData(a.bytes), n)
	a.bytes = a.bytes[n:]
	return out, nil
}

func (a *arena) grow(n int64) error {
	if err := a.mem.Grow(n); err != nil {
		return err
	}
	a.taken += n
	return nil
}

// free returns the memory to the account. The rows must not be used any more.
func (a *arena) free() {
	a.mem.Release(a.taken)
	*a = arena{mem: a.mem}
}
