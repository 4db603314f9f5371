package operator

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// joiner is common to both joins: it pairs one left row with candidates of the right side.
type joiner struct {
	kind   query.JoinKind
	on     expr.Eval
	nl, nr int
	pair   types.Row // left then right
	c      *Execution
	emit   Emit
}

func (k *Compiler) joiner(kind query.JoinKind, left, right plan.Node, on query.Expr) (joiner, error) {
	nl, nr := len(left.Output()), len(right.Output())
	cond, err := k.Optional(on)
	return joiner{kind: kind, on: cond, nl: nl, nr: nr, pair: make(types.Row, nl+nr)}, err
}

// setLeft starts a left row.
func (j *joiner) setLeft(row types.Row) { copy(j.pair, row) }

// match offers a right row. It reports whether the condition is true, and emits the pair if the
// kind of join returns pairs.
func (j *joiner) match(right types.Row) (bool, error) {
	copy(j.pair[j.nl:], right)
	ok, err := j.on.Holds(&j.c.Ctx, j.pair)
	if err != nil || !ok {
		return false, err
	}
	if j.kind == query.Semi || j.kind == query.Anti {
		return true, nil
	}
	return true, j.emit(j.pair)
}

// endLeft ends a left row. Semi, anti and outer joins emit it now.
func (j *joiner) endLeft(matched bool) error {
	switch {
	case j.kind == query.Semi && matched, j.kind == query.Anti && !matched:
		return j.emit(j.pair[:j.nl])
	case (j.kind == query.Left || j.kind == query.Full) && !matched:
		clear(j.pair[j.nl:])
		return j.emit(j.pair)
	}
	return nil
}

// enough reports whether one match decides the left row.
func (j *joiner) enough() bool { return j.kind == query.Semi || j.kind == query.Anti }

// unmatched emits the right rows that no left row met, for right and full joins.
func (j *joiner) unmatched(rows []types.Row, met []bool) error {
	if j.kind != query.Right && j.kind != query.Full {
		return nil
	}
	clear(j.pair[:j.nl])
	for i, r := range rows {
		if met[i] {
			continue
		}
		copy(j.pair[j.nl:], r)
		if err := j.emit(j.pair); err != nil {
			return err
		}
	}
	return nil
}

// hashJoinOp builds a table of the right side and probes it with the left.
type hashJoinOp struct {
	joiner
	left, right         Op
	leftKeys, rightKeys *keyEncoder
	strict              []bool // by key: null equals nothing
}

func (k *Compiler) hashJoin(n *plan.HashJoin) (Op, error) {
	o := &hashJoinOp{}
	var err error
	if o.left, err = k.Node(n.Left); err != nil {
		return nil, err
	}
	if o.right, err = k.Node(n.Right); err != nil {
		return nil, err
	}
	if o.joiner, err = k.joiner(n.Kind, n.Left, n.Right, n.On); err != nil {
		return nil, err
	}
	if o.leftKeys, err = k.keyEncoder(n.LeftKeys, n.KeyTypes); err != nil {
		return nil, err
	}
	if o.rightKeys, err = k.keyEncoder(n.RightKeys, n.KeyTypes); err != nil {
		return nil, err
	}
	o.strict = make([]bool, len(n.KeyTypes))
	for i := range o.strict {
		o.strict[i] = i >= len(n.NullsEqual) || !n.NullsEqual[i]
	}
	return o, nil
}

// matchable reports whether the encoder's last key, which contains a null, can match.
func (o *hashJoinOp) matchable(e *keyEncoder) bool {
	for i, d := range e.vals {
		if d.K == types.KindNull && o.strict[i] {
			return false
		}
	}
	return true
}

// joinTable is the built side: rows chained by key in their order.
type joinTable struct {
	store memory.Arena
	rows  []types.Row
	next  []int32
	chain map[string]joinChain
	met   []bool
	extra int64
}

type joinChain struct{ first, last int32 }

func (t *joinTable) free() {
	t.store.Mem.Release(t.extra)
	t.store.Free()
}

// Run implements Op.
func (o *hashJoinOp) Run(c *Execution, emit Emit) error {
	o.c, o.emit = c, emit
	t := &joinTable{store: memory.Arena{Mem: c.Mem}, chain: map[string]joinChain{}}
	defer t.free()
	if err := o.build(c, t); err != nil {
		return err
	}
	if len(t.rows) == 0 && (o.kind == query.Inner || o.kind == query.Right || o.kind == query.Semi) {
		return nil
	}
	t.met = make([]bool, len(t.rows))
	err := o.left.Run(c, func(row types.Row) error { return o.probe(c, t, row) })
	if err != nil {
		return err
	}
	return o.unmatched(t.rows, t.met)
}

func (o *hashJoinOp) build(c *Execution, t *joinTable) error {
	return o.right.Run(c, func(row types.Row) error {
		key, null, err := o.rightKeys.encode(c, row)
		if err != nil {
			return err
		}
		linked := !null || o.matchable(o.rightKeys)
		if !linked && o.kind != query.Right && o.kind != query.Full {
			return nil
		}
		kept, err := t.store.Clone(row)
		if err != nil {
			return err
		}
		at := int32(len(t.rows))
		t.rows, t.next = append(t.rows, kept), append(t.next, -1)
		if !linked {
			return nil
		}
		if ch, ok := t.chain[string(key)]; ok {
			t.next[ch.last] = at
			t.chain[string(key)] = joinChain{ch.first, at}
			return nil
		}
		n := int64(len(key)) + memory.MapEntrySize
		if err := c.Mem.Grow(n); err != nil {
			return err
		}
		t.extra += n
		t.chain[string(key)] = joinChain{at, at}
		return nil
	})
}

func (o *hashJoinOp) probe(c *Execution, t *joinTable, row types.Row) error {
	if err := c.Tick(); err != nil {
		return err
	}
	key, null, err := o.leftKeys.encode(c, row)
	if err != nil {
		return err
	}
	o.setLeft(row)
	matched := false
	if !null || o.matchable(o.leftKeys) {
		if ch, ok := t.chain[string(key)]; ok {
			if matched, err = o.follow(t, ch.first); err != nil {
				return err
			}
		}
	}
	return o.endLeft(matched)
}

func (o *hashJoinOp) follow(t *joinTable, at int32) (matched bool, err error) {
	for ; at >= 0; at = t.next[at] {
		ok, err := o.match(t.rows[at])
		if err != nil {
			return false, err
		}
		if ok {
			matched, t.met[at] = true, true
			if o.enough() {
				return true, nil
			}
		}
	}
	return matched, nil
}

// nestLoopOp runs its right side for each left row, or, if the right side has no bindings, pairs
// the left row with its kept rows.
type nestLoopOp struct {
	joiner
	left, right Op
	binds       []bindEval
}

type bindEval struct {
	param int
	value expr.Eval
}

func (k *Compiler) binds(bs []plan.Bind) ([]bindEval, error) {
	out := make([]bindEval, len(bs))
	for i, b := range bs {
		f, err := k.Expr(b.Expr)
		if err != nil {
			return nil, err
		}
		out[i] = bindEval{b.Param, f}
	}
	return out, nil
}

// bind sets the outer parameters from row.
func bind(c *Execution, bs []bindEval, row types.Row) error {
	for _, b := range bs {
		d, err := b.value(&c.Ctx, row)
		if err != nil {
			return err
		}
		c.SetOuter(b.param, d)
	}
	return nil
}

func (k *Compiler) nestLoop(n *plan.NestLoop) (Op, error) {
	o := &nestLoopOp{}
	var err error
	if o.left, err = k.Node(n.Left); err != nil {
		return nil, err
	}
	if o.right, err = k.Node(n.Right); err != nil {
		return nil, err
	}
	if o.joiner, err = k.joiner(n.Kind, n.Left, n.Right, n.On); err != nil {
		return nil, err
	}
	if len(n.Binds) > 0 && (n.Kind == query.Right || n.Kind == query.Full) {
		return nil, pgerr.New(pgerr.InternalError, "lateral join of kind %d", n.Kind)
	}
	o.binds, err = k.binds(n.Binds)
	return o, err
}

// Run implements Op.
func (o *nestLoopOp) Run(c *Execution, emit Emit) error {
	o.c, o.emit = c, emit
	if len(o.binds) > 0 {
		return o.left.Run(c, func(row types.Row) error { return o.lateral(c, row) })
	}
	store := &memory.Arena{Mem: c.Mem}
	defer store.Free()
	rows, err := collect(c, o.right, store)
	if err != nil {
		return err
	}
	met := make([]bool, len(rows))
	err = o.left.Run(c, func(row types.Row) error {
		o.setLeft(row)
		matched := false
		for i, r := range rows {
			if err := c.Tick(); err != nil {
				return err
			}
			ok, err := o.match(r)
			if err != nil {
				return err
			}
			if ok {
				matched, met[i] = true, true
				if o.enough() {
					break
				}
			}
		}
		return o.endLeft(matched)
	})
	if err != nil {
		return err
	}
	return o.unmatched(rows, met)
}

// lateral runs the right side under the left row's values.
func (o *nestLoopOp) lateral(c *Execution, row types.Row) error {
	if err := bind(c, o.binds, row); err != nil {
		return err
	}
	o.setLeft(row)
	matched, stopped := false, false
	err := o.right.Run(c, func(r types.Row) error {
		ok, err := o.match(r)
		if err != nil {
			return err
		}
		matched = matched || ok
		if ok && o.enough() {
			stopped = true
			return ErrStop
		}
		return nil
	})
	if err != nil && !(err == ErrStop && stopped) {
		return err
	}
	return o.endLeft(matched)
}

// collect keeps all rows of an
func collect(c *Execution, op Op, store *memory.Arena) ([]types.Row, error) {
	var rows []types.Row
	err := op.Run(c, func(row types.Row) error {
		r, err := store.Clone(row)
		rows = append(rows, r)
		return err
	})
	return rows, err
}
