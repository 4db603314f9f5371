package tablestats

import (
	"github.com/sherddb/sherd/sql/statistics"
)

// Total is what a fragment has of a table, which is named by its storage id.
type Total struct {
	Fragment, Storage uint32
	Size
	// Written is how many of its rows transactions have written since a replica leads the fragment, in
	// a Raft term. The term is 0 if the leader does not know.
	Written int64
	Term    uint64
}

// Sum returns the size of a table in all fragments.
func Sum(totals []Total) (out Size) {
	for _, x := range totals {
		out.Rows, out.Bytes = out.Rows+x.Rows, out.Bytes+x.Bytes
	}
	return out
}

// Counters returns what the fragments count of the writes to a table.
func Counters(totals []Total) (out []statistics.Counter) {
	for _, x := range totals {
		if x.Term != 0 {
			out = append(out, statistics.Counter{
				Fragment: x.Fragment, Storage: x.Storage, Term: x.Term, Rows: x.Written,
			})
		}
	}
	return out
}

// Changed returns how many rows of a table have been inserted, updated or deleted since all of it was
// analyzed, at least: what fragments have counted, but no fewer than it has more or fewer rows now.
// A fragment does not know what was written between the analysis and a change of its leader. analyzed
// may be nil: the table never was.
func Changed(analyzed *statistics.Table, totals []Total) int64 {
	var rows, written int64
	counted := map[uint32]statistics.Counter{} // by fragment
	if analyzed != nil {
		rows = int64(analyzed.AnalyzedRows)
		for _, c := range analyzed.Written {
			counted[c.Fragment] = c
		}
	}
	for _, x := range totals {
		n := x.Written
		if c := counted[x.Fragment]; c.Term == x.Term && c.Storage == x.Storage {
			n -= c.Rows
		}
		written += max(n, 0)
	}
	if rows > 0 && len(counted) == 0 { // it is not known what was written before the analysis
		written = 0
	}
	if rows = Sum(totals).Rows - rows; rows < 0 {
		rows = -rows
	}
	return max(rows, written)
}
