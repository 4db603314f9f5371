package counts

import (
	"maps"
	"sync"
)

// Written counts the rows that transactions have written here, by table, since this replica leads. It
// is no part of the state machine: the next leader begins at 0. A row counts again each time that it
// is inserted, updated or deleted, even if its transaction is undone after that. It is safe for
// concurrent use.
type Written struct {
	mu   sync.Mutex
	term uint64
	rows map[uint32]int64
}

// Add counts the rows of a write set of a leader's term.
func (w *Written) Add(term uint64, d *BucketDeltas) {
	if len(d.rows) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if term < w.term {
		return
	}
	if w.rows == nil || term > w.term || len(w.rows) > maxWritten {
		w.term, w.rows = term, map[uint32]int64{}
	}
	for _, x := range d.rows {
		w.rows[x.table] += x.rows
	}
}

// maxWritten bounds the tables, among them dropped ones. With more, all counts begin at 0 again.
const maxWritten = 100_000

// In returns the rows that were written in a term, by table; of one table only, unless table is 0.
func (w *Written) In(term uint64, table uint32) map[uint32]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case term != w.term:
		return nil
	case table != 0:
		return map[uint32]int64{table: w.rows[table]}
	}
	return maps.Clone(w.rows)
}

// tableRows are rows of a table.
type tableRows struct {
	table uint32
	rows  int64
}

// wrote counts a row of a table. The rows of a write set are mostly of one table, or sorted by table.
func (d *BucketDeltas) wrote(table uint32) {
	for i := len(d.rows) - 1; i >= 0; i-- {
		if d.rows[i].table == table {
			d.rows[i].rows++
			return
		}
	}
	d.rows = append(d.rows, tableRows{table, 1})
}
