package operator

import (
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// cteStore holds the rows of a common table expression that are computed so far; scans share it.
type cteStore struct {
	rows spool.List
	// The rows from work on, before those that are being computed, are the input of a recursive
	// expression's next step.
	work, end int
	more      func() error // computes the next rows; nil at the end
	begun     uint64       // how often it was computed
}

// withOp runs its child over common table expressions, which are computed as far as they are read:
// LIMIT ends an endless recursion. Expressions that write run to their end first, in order, whether
// they are read or not; then all parts read the state before the statement (E6).
type withOp struct {
	ctes   []*cteOp
	child  Op
	writes bool // several parts may write, or one may write what another reads
}

type cteOp struct {
	writes   bool
	into     *cteStore
	first    Op
	step     Op
	distinct bool
	types    []types.OID
	seen     memory.KeySet
}

func (k *Compiler) with(n *plan.With) (Op, error) {
	if k.ctes == nil {
		k.ctes = map[int]*cteStore{}
	}
	o := &withOp{writes: modifies(n)}
	for _, p := range n.CTEs {
		cte := &cteOp{into: &cteStore{}, writes: modifies(p.Plan), distinct: p.Distinct, types: colTypes(p.Plan)}
		k.ctes[p.ID] = cte.into
		var err error
		if cte.first, err = k.Node(p.Plan); err != nil {
			return nil, err
		}
		if p.Step != nil {
			if cte.step, err = k.Node(p.Step); err != nil {
				return nil, err
			}
		}
		o.ctes = append(o.ctes, cte)
	}
	var err error
	o.child, err = k.Node(n.Child)
	return o, err
}

// modifies reports whether a plan writes.
func modifies(n plan.Node) bool {
	if _, ok := n.(*plan.Modify); ok {
		return true
	}
	return slices.ContainsFunc(n.Children(), modifies)
}

// Run implements Op.
func (o *withOp) Run(c *Execution, emit Emit) error {
	defer func() {
		for _, cte := range o.ctes {
			cte.into.rows.Free()
			cte.seen.Free()
			*cte.into, cte.seen = cteStore{begun: cte.into.begun}, memory.KeySet{}
		}
	}()
	c.Parted = c.Parted || o.writes
	for _, cte := range o.ctes {
		cte.begin(c)
		for cte.writes && cte.into.more != nil {
			if err := cte.into.more(); err != nil {
				return err
			}
		}
	}
	c.Affected = 0 // the command tag counts only the main statement
	return o.child.Run(c, emit)
}

// begin prepares the store. The first rows are those of the first part; the next ones are the
// result of the recursive step over the last ones, until it is empty.
func (o *cteOp) begin(c *Execution) {
	into := o.into
	*into = cteStore{begun: into.begun + 1}
	into.rows.Begin(c.Mem)
	o.seen = memory.KeySet{Mem: c.Mem}
	op := o.first
	into.more = func() error {
		before := into.rows.Len()
		if err := o.take(c, op); err != nil {
			return err
		}
		into.work, into.end = before, into.rows.Len()
		if op = o.step; op == nil || into.work == into.end {
			into.more = nil
		}
		return nil
	}
}

func (o *cteOp) take(c *Execution, op Op) error {
	var buf []byte
	return op.Run(c, func(row types.Row) error {
		if err := c.Tick(); err != nil {
			return err
		}
		if o.distinct {
			buf = appendRowKey(buf[:0], row, nil, o.types)
			if fresh, err := o.seen.Add(buf); err != nil || !fresh {
				return err
			}
		}
		return o.into.rows.Add(row)
	})
}

// cteScanOp reads a store.
type cteScanOp struct {
	from *cteStore
	work bool
}

func (k *Compiler) cteScan(n *plan.CTEScan) (Op, error) {
	from := k.ctes[n.ID]
	if from == nil {
		return nil, pgerr.New(pgerr.InternalError, "common table expression %q is read outside its WITH", n.Alias)
	}
	return &cteScanOp{from: from, work: n.Work}, nil
}

// Run implements Op.
func (o *cteScanOp) Run(c *Execution, emit Emit) error {
	from, start := o.from, 0
	if o.work {
		start = from.work
	}
	r, err := from.rows.From(start)
	if err != nil {
		return err
	}
	defer r.Close()
	for n := start; !o.work || n < from.end; n++ {
		row, ok, err := r.Next()
		for err == nil && !ok && from.more != nil {
			if err = from.more(); err == nil {
				row, ok, err = r.Next()
			}
		}
		if err != nil || !ok {
			return err
		}
		if err := c.Tick(); err != nil {
			return err
		}
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}
