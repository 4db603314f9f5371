package memory

import (
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// Account counts the memory that one query retains: sorted and joined rows, groups, materialised
// results. The query's goroutines share it.
type Account struct {
	limit int64
	dir   string // of temporary files; "" is the system's
	used  atomic.Int64
}

// New returns an account; limit is in bytes, 0: no limit.
func New(limit int64) *Account { return &Account{limit: limit} }

// WithFiles sets the directory of the query's temporary files.
func (m *Account) WithFiles(dir string) *Account {
	m.dir = dir
	return m
}

// TempFile creates a temporary file for the query.
func (m *Account) TempFile() (*os.File, error) {
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
func (m *Account) Grow(n int64) error {
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
func (m *Account) Release(n int64) {
	if m != nil {
		m.used.Add(-n)
	}
}

// Used returns the number of bytes in use.
func (m *Account) Used() int64 { return m.used.Load() }

// Left returns the number of bytes that may still be added, at least 1; 0: no limit.
func (m *Account) Left() int64 {
	if m == nil || m.limit <= 0 {
		return 0
	}
	return max(m.limit-m.used.Load(), 1)
}

// DatumSize is the size of a datum without its text.
const DatumSize = int64(unsafe.Sizeof(types.Datum{}))
