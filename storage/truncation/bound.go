package truncation

import (
	"encoding/binary"
	"os"
	"sync"

	"github.com/sherddb/sherd/internal/dirsync"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// bound knows how far the log may be cut for a restart (S2): only below a checkpoint known to be in
// tables, and below the entries whose content is only in the log. It is written to disk before the
// log is cut.
type bound struct {
	path string

	mu sync.Mutex
	// checkpoints not known to be in tables, and the last one that is; ascending; guarded by mu
	marks []Mark
	cut   uint64 // the log was cut at most up to here; guarded by mu
}

// Mark is one checkpoint: everything up to Index was written to Badger before it, and what is open
// then needs the log from First on. While a restart begins with it, Badger may discard what is
// below Watermark.
type Mark struct {
	Index, First     uint64
	Stamp, Watermark txn.Timestamp
}

// File holds the index up to which the log may be gone: format(1) · index(8).
const File = "TRUNCATED"

// read reads the file, and checks that the checkpoint found in the tables, of the entry applied,
// reaches as far as the log was cut, unless a received stream will replace both.
func (d *bound) read(applied uint64, streamed bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, err := os.ReadFile(d.path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if err == nil {
		if len(b) != 9 || b[0] != 1 {
			return damaged("%s is malformed", File)
		}
		d.cut = binary.BigEndian.Uint64(b[1:])
	}
	if applied < d.cut && !streamed {
		return damaged("the tables reach log entry %d, but the log was cut at %d", applied, d.cut)
	}
	return nil
}

func damaged(format string, args ...any) error {
	return pgerr.New(pgerr.DataCorrupted, "the fragment's data is damaged: "+format, args...)
}

func (d *bound) cutAt() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cut
}

func (d *bound) note(m Mark) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.First == 0 {
		m.First = m.Index + 1
	}
	d.marks = append(d.marks, m)
}

func (d *bound) newest() (m Mark, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.marks); n > 0 {
		return d.marks[n-1], true
	}
	return m, false
}

func (d *bound) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.marks = nil
}

// inTables returns the newest checkpoint that is certainly in tables: one whose stamp is below a
// version found in a table. A key of a later entry was written after it, and memtables are flushed
// in order.
func (d *bound) inTables(maxVersion txn.Timestamp) (Mark, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for n < len(d.marks) && d.marks[n].Stamp < maxVersion {
		n++
	}
	if n == 0 {
		return Mark{}, false
	}
	d.marks = d.marks[n-1:]
	return d.marks[0], true
}

// allow returns the largest index up to which the log may be cut, and writes it to disk.
func (d *bound) allow(m Mark, fault func(string)) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	upTo := min(m.Index, m.First-1)
	if upTo <= d.cut {
		return d.cut, nil
	}
	fault("truncate.before")
	b := binary.BigEndian.AppendUint64([]byte{1}, upTo)
	if err := dirsync.WriteFile(d.path, b); err != nil {
		return 0, err
	}
	d.cut = upTo
	fault("truncate.noted")
	return upTo, nil
}
