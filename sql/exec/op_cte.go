package exec

import (
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// cteStore is the materialised rows of a common table expression; scans share it.
type cteStore struct {
	store arena
	rows  []Row
	work  []Row // what the step of a recursive one reads
}

// withOp materialises its expressions in order, then runs its child.
type withOp struct {
	ctes  []*cteOp
	child Op
}

type cteOp struct {
	into     *cteStore
	first    Op
	step     Op
	distinct bool
	types    []types.OID
}

func (k *compiler) with(n *plan.With) (Op, error) {
	if k.ctes == nil {
		k.ctes = map[int]*cteStore{}
	}
	if err := oneWriter(n); err != nil {
		return nil, err
	}
	o := &withOp{}
	for _, p := range n.CTEs {
		cte := &cteOp{into: &cteStore{}, distinct: p.Distinct, types: colTypes(p.Plan)}
		k.ctes[p.ID] = cte.into
		var err error
		if cte.first, err = k.node(p.Plan); err != nil {
			return nil, err
		}
		if p.Step != nil {
			if cte.step, err = k.node(p.Step); err != nil {
				return nil, err
			}
		}
		o.ctes = append(o.ctes, cte)
	}
	var err error
	o.child, err = k.node(n.Child)
	return o, err
}

// oneWriter refuses a WITH that writes a table which another of its parts uses: both would have to see the state before the statement.
func oneWriter(n *plan.With) error {
	parts := n.Children()
	for i, p := range parts {
		for _, m := range modifies(p) {
			for j, other := range parts {
				if i != j && (readsTable(other, m.Table.OID) || writesTable(other, m.Table.OID)) {
					return unsupported("WITH cannot write table %q and use it elsewhere in the statement yet", m.Table.Name)
				}
			}
		}
	}
	return nil
}

func modifies(n plan.Node) (out []*plan.Modify) {
	if m, ok := n.(*plan.Modify); ok {
		out = append(out, m)
	}
	for _, c := range n.Children() {
		out = append(out, modifies(c)...)
	}
	return out
}

func writesTable(n plan.Node, table uint32) bool {
	for _, m := range modifies(n) {
		if m.Table.OID == table {
			return true
		}
	}
	return false
}

// Run implements Op.
func (o *withOp) Run(c *Ctx, emit Emit) error {
	defer func() {
		for _, cte := range o.ctes {
			cte.into.store.free()
			cte.into.rows, cte.into.work = nil, nil
		}
	}()
	for _, cte := range o.ctes {
		if err := cte.fill(c); err != nil {
			return err
		}
	}
	c.Affected = 0 // the command tag counts the main statement alone
	return o.child.Run(c, emit)
}

// fill runs the first part, then the step over its last rows until it gives none.
func (o *cteOp) fill(c *Ctx) error {
	o.into.store = arena{mem: c.Mem}
	o.into.rows = nil
	seen := &keySet{mem: c.Mem}
	defer seen.free()
	rows, err := o.take(c, o.first, seen)
	if err != nil {
		return err
	}
	o.into.rows = rows
	for o.step != nil && len(rows) > 0 {
		o.into.work = rows
		if rows, err = o.take(c, o.step, seen); err != nil {
			return err
		}
		o.into.rows = append(o.into.rows, rows...)
	}
	return nil
}

func (o *cteOp) take(c *Ctx, op Op, seen *keySet) ([]Row, error) {
	var rows []Row
	var buf []byte
	err := op.Run(c, func(row Row) error {
		if err := c.tick(); err != nil {
			return err
		}
		if o.distinct {
			buf = appendRowKey(buf[:0], row, nil, o.types)
			if fresh, err := seen.add(buf); err != nil || !fresh {
				return err
			}
		}
		r, err := o.into.store.clone(row)
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

func (k *compiler) cteScan(n *plan.CTEScan) (Op, error) {
	from := k.ctes[n.ID]
	if from == nil {
		return nil, internal("common table expression %q is read outside its WITH", n.Alias)
	}
	return &cteScanOp{from: from, work: n.Work}, nil
}

// Run implements Op.
func (o *cteScanOp) Run(c *Ctx, emit Emit) error {
	if o.work {
		return emitAll(c, o.from.work, emit)
	}
	return emitAll(c, o.from.rows, emit)
}
