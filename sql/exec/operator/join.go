package operator

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/spool"
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

// match offers a right row. It reports whether the condition is true, and emits the pair, or the
// right row, if the kind of join returns that.
func (j *joiner) match(right types.Row) (bool, error) {
	copy(j.pair[j.nl:], right)
	ok, err := j.on.Holds(&j.c.Ctx, j.pair)
	if err != nil || !ok {
		return false, err
	}
	switch j.kind {
	case query.Semi, query.Anti, query.RightAnti:
		return true, nil
	case query.RightSemi:
		return true, j.emit(right)
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

// unmatched emits the right rows that no left row met, for right, full and right anti joins.
func (j *joiner) unmatched(rows []types.Row, met []bool) error {
	if !j.keepsRight() {
		return nil
	}
	clear(j.pair[:j.nl])
	for i, r := range rows {
		if met[i] {
			continue
		}
		if j.kind != query.RightAnti {
			copy(j.pair[j.nl:], r)
			r = j.pair
		}
		if err := j.emit(r); err != nil {
			return err
		}
	}
	return nil
}

// keepsRight reports whether right rows that meet no left row are part of the result.
func (j *joiner) keepsRight() bool {
	return j.kind == query.Right || j.kind == query.Full || j.kind == query.RightAnti
}

// once reports whether a right row that has met a left one needs no other.
func (j *joiner) once() bool { return j.kind == query.RightSemi || j.kind == query.RightAnti }

// keepsLeft reports whether left rows that meet no right row are part of the result.
func (j *joiner) keepsLeft() bool {
	return j.kind == query.Left || j.kind == query.Full || j.kind == query.Anti
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
	right := &spool.List{}
	right.Begin(c.Mem)
	defer right.Free()
	if err := o.right.Run(c, right.Add); err != nil {
		return err
	}
	if right.InFile() {
		return o.inBlocks(c, right)
	}
	rows := right.InMemory()
	met := make([]bool, len(rows))
	err := o.left.Run(c, func(row types.Row) error {
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
