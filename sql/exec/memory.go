package exec

import (
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// Memory counts what one query retains: sorted and joined rows, groups, materialised results. It is shared by the query's goroutines.
type Memory struct {
	limit int64
	dir   string // of temporary files; "" is the system's
	used  atomic.Int64
}

// NewMemory makes an account; limit is in bytes, 0 is none.
func NewMemory(limit int64) *Memory { return &Memory{limit: limit} }

// WithFiles says in which directory the query's temporary files are.
func (m *Memory) WithFiles(dir string) *Memory {
	m.dir = dir
	return m
}

// tempFile makes a temporary file of the query.
func (m *Memory) tempFile() (*os.File, error) {
	if m == nil {
		return TempFile("")
	}
	return TempFile(m.dir)
}

// TempFile makes a temporary file in a directory, which is made when needed; "" is the system's. It loses its name at once, so that a crash leaves nothing.
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

// Grow takes n bytes, or refuses with 53200.
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

// Release gives n bytes back.
func (m *Memory) Release(n int64) {
	if m != nil {
		m.used.Add(-n)
	}
}

// Used is the number of bytes taken.
func (m *Memory) Used() int64 { return m.used.Load() }

// Left is the number of bytes that may be taken yet, at least 1; 0 is no limit.
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

// arena keeps copies of rows: datums in slabs, their text in chunks, so that a retained row costs no allocation of its own.
type arena struct {
	mem    *Memory
	exact  bool // holds one row: takes no more than it needs
	datums []types.Datum
	bytes  []byte
	taken  int64
}

// row makes room for n datums.
func (a *arena) row(n int) (Row, error) {
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

// size is how much to take where need is asked for.
func (a *arena) size(need, first, later int, isFirst bool) int {
	switch {
	case a.exact:
		return need
	case isFirst:
		return max(need, first)
	}
	return max(need, later)
}

// clone copies a row and what its datums alias.
func (a *arena) clone(row Row) (Row, error) {
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

// datum copies what d aliases.
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

// free gives the memory back to the account; the rows must not be used any more.
func (a *arena) free() {
	a.mem.Release(a.taken)
	*a = arena{mem: a.mem}
}
