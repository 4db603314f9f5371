package exec

import (
	"container/heap"
	"sync"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// batch holds rows on their way from a fragment to the gateway, with the memory that they alias.
type batch struct {
	rows   []types.Row
	datums []types.Datum
	bytes  []byte
	err    error // the error after which the fragment sends no more rows
}

const (
	batchRows  = 256
	batchBytes = 64 << 10
	// The first batches of rows that are merged are small, because a LIMIT above may need no more.
	firstBatchRows = 16
	batchRowsStep  = 2
)

// add copies a row and returns its size. If the buffers grow, earlier rows keep the old ones.
func (b *batch) add(row types.Row) int64 {
	at, before := len(b.datums), len(b.bytes)
	b.datums = append(b.datums, row...)
	kept := b.datums[at:len(b.datums):len(b.datums)]
	for i := range kept {
		if s := kept[i].S; s != "" {
			from := len(b.bytes)
			b.bytes = append(b.bytes, s...)
			kept[i].S = aliasString(b.bytes[from:])
		}
	}
	b.rows = append(b.rows, kept)
	return int64(len(b.bytes)-before) + int64(len(row))*memory.DatumSize
}

func (b *batch) full() bool { return len(b.rows) >= batchRows || len(b.bytes) >= batchBytes }

func (b *batch) reset() {
	b.rows, b.datums, b.bytes, b.err = b.rows[:0], b.datums[:0], b.bytes[:0], nil
}

// counter counts rows and bytes sent to the gateway.
type counter struct {
	emit        Emit
	rows, bytes int64
}

func (s *counter) take(row types.Row) error {
	s.rows++
	s.bytes += int64(len(row)) * memory.DatumSize
	for i := range row {
		s.bytes += int64(len(row[i].S))
	}
	return s.emit(row)
}

// stream is a worker's rows at the merge.
type stream struct {
	from *worker
	b    *batch
	next int
	at   int // position among the shares: equal rows are returned in this order
}

func (s *stream) row() types.Row { return s.b.rows[s.next] }

// fetch waits for the next batch; ok is false at the end.
func (s *stream) fetch(w *workers) (ok bool, err error) {
	if s.b != nil {
		w.pool.Put(s.b)
		s.b = nil
	}
	b, open := w.fetch(s.from)
	if !open {
		return false, nil
	}
	s.b, s.next = b, 0
	return b.err == nil, b.err
}

// streams is a heap by the next row of each stream.
type streams struct {
	all  []*stream
	keys operator.Ordering
}

func (h *streams) Len() int      { return len(h.all) }
func (h *streams) Swap(i, j int) { h.all[i], h.all[j] = h.all[j], h.all[i] }
func (h *streams) Push(x any)    { h.all = append(h.all, x.(*stream)) }
func (h *streams) Less(i, j int) bool {
	if c := h.keys.Compare(h.all[i].row(), h.all[j].row()); c != 0 {
		return c < 0
	}
	return h.all[i].at < h.all[j].at
}
func (h *streams) Pop() any {
	last := h.all[len(h.all)-1]
	h.all = h.all[:len(h.all)-1]
	return last
}

// merge emits the fragments' sorted rows in order.
func (w *workers) merge(keys operator.Ordering, emit Emit) error {
	h := &streams{keys: keys}
	for i, p := range w.all {
		s := &stream{from: p, at: i}
		ok, err := s.fetch(w)
		if err != nil {
			return err
		}
		if ok {
			h.all = append(h.all, s)
		}
	}
	heap.Init(h)
	for len(h.all) > 0 {
		s := h.all[0]
		if err := emit(s.row()); err != nil {
			return err
		}
		if s.next++; s.next == len(s.b.rows) {
			ok, err := s.fetch(w)
			if err != nil {
				return err
			}
			if !ok {
				heap.Pop(h)
				continue
			}
		}
		heap.Fix(h, 0)
	}
	return nil
}

// Analysis collects what EXPLAIN ANALYZE shows.
type Analysis struct {
	Steps operator.Work // of a measured program; tasks on other nodes do not report theirs

	mu      sync.Mutex
	gathers map[plan.Node][]FragmentWork // guarded by mu
	merged  map[plan.Node]Merged         // guarded by mu
}

// Merged is what a Merge did with the rows of its input.
type Merged struct{ Inserted, Updated, Deleted, Skipped int64 }

// MergedBy returns what a Merge did.
func (a *Analysis) MergedBy(n *plan.Merge) Merged {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.merged[n]
}

func (a *Analysis) addMerged(n *plan.Merge, m Merged) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.merged == nil {
		a.merged = map[plan.Node]Merged{}
	}
	a.merged[n] = m
}

// FragmentWork is what one fragment did for one Gather or Modify, summed over repetitions.
type FragmentWork struct {
	Fragment shardmap.FragmentID
	Buckets  shardmap.BucketSet
	Result
	Sent, Bytes int64 // to the gateway
	Loops       int
}

// Of returns the work done for a node, in the order in which the fragments were reached.
func (a *Analysis) Of(n plan.Node) []FragmentWork {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gathers[n]
}

func (a *Analysis) add(n plan.Node, s shardmap.Share, r Result, sent counter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gathers == nil {
		a.gathers = map[plan.Node][]FragmentWork{}
	}
	list := a.gathers[n]
	for i := range list {
		if w := &list[i]; w.Fragment == s.Fragment {
			w.Rows += r.Rows
			w.Affected += r.Affected
			w.Elapsed += r.Elapsed
			w.Sent += sent.rows
			w.Bytes += sent.bytes
			w.Loops++
			w.Buckets = w.Buckets.Union(s.Buckets)
			return
		}
	}
	a.gathers[n] = append(list, FragmentWork{
		Fragment: s.Fragment, Buckets: s.Buckets, Result: r, Sent: sent.rows, Bytes: sent.bytes, Loops: 1,
	})
}
