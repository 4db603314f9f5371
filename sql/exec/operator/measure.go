package operator

import (
	"sync"
	"time"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// Measure says what programs count of the work of their steps.
type Measure uint8

// Measures.
const (
	Unmeasured Measure = iota
	Counted            // rows and runs
	Timed              // also times
)

// Work is what steps did. It is safe for concurrent use.
type Work struct {
	mu    sync.Mutex
	steps map[plan.Node]*StepWork // guarded by mu
}

// StepWork is what one step did, summed over the times that it ran.
type StepWork struct {
	Loops   int64
	Rows    int64         // that it returned
	Removed int64         // that its condition removed
	Startup time.Duration // until the first row of each run
	Total   time.Duration // with the steps below it, without those above it
	Sort    SortWork      // of a sort: the run that took most
}

// SortWork is how a sort worked.
type SortWork struct {
	Method string // as EXPLAIN of PostgreSQL names it; "": it did not sort
	Bytes  int64
	Disk   bool  // the bytes are of a file, not of memory
	Groups int64 // of an incremental sort: how many it has sorted
	Sum    int64 // of an incremental sort: bytes of all groups
}

// most returns the work that took more, with the groups of both.
func (w SortWork) most(other SortWork) SortWork {
	groups, sum := w.Groups+other.Groups, w.Sum+other.Sum
	if other.Disk != w.Disk && other.Disk || other.Disk == w.Disk && other.Bytes > w.Bytes {
		w = other
	}
	w.Groups, w.Sum = groups, sum
	return w
}

// Of returns what a step did.
func (w *Work) Of(n plan.Node) StepWork {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.steps[n]; s != nil {
		return *s
	}
	return StepWork{}
}

func (w *Work) add(n plan.Node, more StepWork) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.steps == nil {
		w.steps = map[plan.Node]*StepWork{}
	}
	s := w.steps[n]
	if s == nil {
		s = &StepWork{}
		w.steps[n] = s
	}
	s.Loops += more.Loops
	s.Rows += more.Rows
	s.Removed += more.Removed
	s.Startup += more.Startup
	s.Total += more.Total
	s.Sort = s.Sort.most(more.Sort)
}

// Filtering is an operator that counts the rows that its condition removes.
type Filtering interface {
	// Removed is how many rows it has removed since it was compiled.
	Removed() int64
}

// Sorting is an operator that sorts rows.
type Sorting interface {
	// Sorted is how it has sorted in its last run.
	Sorted() SortWork
}

// measuredOp counts what another operator does.
type measuredOp struct {
	node  plan.Node
	op    Op
	timed bool
}

// Run implements Op.
func (o *measuredOp) Run(c *Execution, emit Emit) error {
	if c.Work == nil {
		return o.op.Run(c, emit)
	}
	s := StepWork{Loops: 1}
	removed := o.removed()
	take := func(row types.Row) error {
		s.Rows++
		return emit(row)
	}
	if o.timed {
		start, above := time.Now(), time.Duration(0) // above: in the steps that take the rows
		take = func(row types.Row) error {
			now := time.Now()
			if s.Rows++; s.Rows == 1 {
				s.Startup = now.Sub(start)
			}
			err := emit(row)
			above += time.Since(now)
			return err
		}
		defer func() {
			s.Total = time.Since(start) - above
			if s.Rows == 0 {
				s.Startup = s.Total
			}
			c.Work.add(o.node, s)
		}()
	} else {
		defer func() { c.Work.add(o.node, s) }()
	}
	err := o.op.Run(c, take)
	s.Removed = o.removed() - removed
	if sort, ok := o.op.(Sorting); ok {
		s.Sort = sort.Sorted()
	}
	return err
}

func (o *measuredOp) removed() int64 {
	if f, ok := o.op.(Filtering); ok {
		return f.Removed()
	}
	return 0
}
