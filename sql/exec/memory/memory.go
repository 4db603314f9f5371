package memory

import (
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// Limits bounds what a query uses.
type Limits struct {
	Query int64 // bytes that it may retain; 0: no limit
	Work  int64 // of them, bytes of one operation before it writes files (work_mem); 0: no limit
	Hash  int64 // likewise, of an operation with a hash table (hash_mem_multiplier); 0: no limit
	Files int64 // bytes of its temporary files (temp_file_limit); negative: no limit
}

// Share is a kind of operation, which determines what it may retain.
type Share uint8

// The shares of operations that keep rows, and of those that keep a hash table.
const (
	Work Share = iota
	Hash
)

// batch is what an operation may retain even if the rest of the query leaves it nothing. A quarter
// of the query's limit and the operation's share bound it.
const batch = 1 << 20

// Account counts the memory that one query retains: sorted and joined rows, groups, materialised
// results. The query's goroutines share it. The account of an operation counts in its query's too.
type Account struct {
	limit  int64
	used   atomic.Int64
	query  *Account // of an operation
	sure   int64    // of an operation: what the query does not refuse
	excess bool     // of an operation: its limit does not count now

	limits  Limits // of a query
	dir     string // of temporary files; "" is the system's
	written atomic.Int64
}

// New returns an account of a query without other limits; limit is in bytes, 0: no limit.
func New(limit int64) *Account { return Limited(Limits{Query: limit, Files: -1}) }

// Limited returns an account of a query.
func Limited(l Limits) *Account { return &Account{limit: l.Query, limits: l} }

// WithFiles sets the directory of the query's temporary files.
func (m *Account) WithFiles(dir string) *Account {
	m.dir = dir
	return m
}

// Begin makes m, which is new, the account of an operation of a query.
func (m *Account) Begin(query *Account, share Share) {
	if m.query = query; query == nil {
		return
	}
	if m.limit = query.limits.Work; share == Hash {
		m.limit = query.limits.Hash
	}
	m.sure = batch
	for _, bound := range []int64{m.limit, query.limit / 4} {
		if bound > 0 {
			m.sure = min(m.sure, bound)
		}
	}
}

// Size returns the bytes that an operation may retain, or its query if that is less; 0: no limit.
func (m *Account) Size() int64 {
	if m.query == nil || m.query.limit == 0 || m.limit > 0 && m.limit < m.query.limit {
		return m.limit
	}
	return m.query.limit
}

// Exceed calls fn, in which only the query's limit counts: an operation keeps at least one row,
// however small its share is.
func (m *Account) Exceed(fn func() error) error {
	m.excess = true
	err := fn()
	m.excess = false
	return err
}

// Limits returns the limits of a query as they are for a part of it that runs elsewhere.
func (m *Account) Limits() Limits {
	if m == nil {
		return Limits{Files: -1}
	}
	l := m.limits
	l.Query = m.Left()
	return l
}

// TempFile creates a temporary file for the query.
func (m *Account) TempFile() (*os.File, error) {
	if m = m.root(); m == nil {
		return TempFile("")
	}
	return TempFile(m.dir)
}

// root returns the account of the query.
func (m *Account) root() *Account {
	if m != nil && m.query != nil {
		return m.query
	}
	return m
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

// GrowFiles adds n bytes of temporary files, or returns 53400.
func (m *Account) GrowFiles(n int64) error {
	if m = m.root(); m == nil {
		return nil
	}
	limit := m.limits.Files
	if m.written.Add(n) <= limit || limit < 0 {
		return nil
	}
	m.written.Add(-n)
	return pgerr.New(pgerr.ConfigurationLimitExceeded,
		"temporary file size exceeds temp_file_limit (%dkB)", limit>>10)
}

// ReleaseFiles subtracts n bytes of temporary files.
func (m *Account) ReleaseFiles(n int64) {
	if m = m.root(); m != nil {
		m.written.Add(-n)
	}
}

// Files returns the number of bytes in temporary files.
func (m *Account) Files() int64 { return m.root().written.Load() }

// Grow adds n bytes, or returns 53200, for which IsFull is true.
func (m *Account) Grow(n int64) error {
	if m == nil {
		return nil
	}
	used := m.used.Add(n)
	if m.limit > 0 && used > m.limit && !m.excess {
		m.used.Add(-n)
		return tooMuch(m.limit)
	}
	switch {
	case m.query == nil:
	case used <= m.sure:
		m.query.used.Add(n)
	default:
		if err := m.query.Grow(n); err != nil {
			m.used.Add(-n)
			return err
		}
	}
	return nil
}

func tooMuch(limit int64) error {
	return pgerr.New(pgerr.OutOfMemory, "out of memory").
		WithDetail("The query would keep more than %d MB of rows.", limit>>20).
		WithHint("Raise work_mem, or let the query keep fewer rows: narrow it, or give ORDER BY a LIMIT.")
}

// IsFull reports whether an error is that of an account that has no room.
func IsFull(err error) bool { return err != nil && pgerr.Is(err, pgerr.OutOfMemory) }

// Force adds n bytes, such as those of a file's buffer, even if they exceed the limit.
func (m *Account) Force(n int64) { m.Release(-n) }

// Release subtracts n bytes.
func (m *Account) Release(n int64) {
	if m != nil {
		m.used.Add(-n)
		m.query.Release(n)
	}
}

// Used returns the number of bytes in use.
func (m *Account) Used() int64 { return m.used.Load() }

// Left returns the number of bytes that may still be added, at least 1; 0: no limit.
func (m *Account) Left() int64 {
	if m == nil {
		return 0
	}
	used, left := m.used.Load(), m.query.Left()
	if left > 0 {
		left = max(left, m.sure-used)
	}
	if m.limit <= 0 || left > 0 && left < m.limit-used {
		return left
	}
	return max(m.limit-used, 1)
}

// DatumSize is the size of a datum without its text.
const DatumSize = int64(unsafe.Sizeof(types.Datum{}))

// RowSize is how many bytes a row takes in a list, besides its values.
const RowSize = 24
