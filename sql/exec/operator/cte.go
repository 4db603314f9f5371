package operator

import (
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// cteStore holds the rows of a common table expression that are computed so far; scans share it.
type cteStore struct {
	store memory.Arena
	rows  []types.Row
	work  []types.Row  // input of a recursive expression's next step
	more  func() error // computes the next rows; nil at the end
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
			cte.into.store.Free()
			cte.into.rows, cte.into.work, cte.into.more = nil, nil, nil
			cte.seen.Free()
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
	into.store = memory.Arena{Mem: c.Mem}
	into.rows, into.work = nil, nil
	o.seen = memory.KeySet{Mem: c.Mem}
	op := o.first
	into.more = func() error {
		rows, err := o.take(c, op)
		if err != nil {
			return err
		}
		into.rows, into.work = append(into.rows, rows...), rows
		if op = o.step; op == nil || len(rows) == 0 {
			into.more = nil
		}
		return nil
	}
}

func (o *cteOp) take(c *Execution, op Op) ([]types.Row, error) {
	var rows []types.Row
	var buf []byte
	err := op.Run(c, func(row types.Row) error {
		if err := c.Tick(); err != nil {
			return err
		}
		if o.distinct {
			buf = appendRowKey(buf[:0], row, nil, o.types)
			if fresh, err := o.seen.Add(buf); err != nil || !fresh {
				return err
			}
		}
		r, err := o.into.store.Clone(row)
		rows = append(rows, r)
		return err
	})
	return rows, err
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
	if o.work {
		return emitAll(c, o.from.work, emit)
	}
	for i := 0; ; i++ {
		for i >= len(o.from.rows) {
			if o.from.more == nil {
				return nil
			}
			if err := o.from.more(); err != nil {
				return err
			}
		}
		if err := c.Tick(); err != nil {
			return err
		}
		if err := emit(o.from.rows[i]); err != nil {
			return err
		}
	}
}
