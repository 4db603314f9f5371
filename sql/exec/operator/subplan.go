package operator

import (
	"bytes"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// subPlan is a subquery in an expression. An uncorrelated one keeps its result for the execution; a
// correlated one keeps the results for the outer values that it has met.
type subPlan struct {
	kind   query.SubLinkKind
	op     Op
	binds  []bindEval
	test   expr.Eval
	elem   types.OID // SubArray
	stacks bool      // SubArray: the values are arrays, which become one with a further dimension
	reads  subReads
	fixed  bool     // uncorrelated
	memo   *subMemo // nil: each row runs it
	run    uint64   // the execution whose result is kept
	of     []byte   // what the kept result depends on: subReads.appendTo
	now    []byte
	value  types.Datum
	list   *spool.List // of the execution
	hashed *hashedSub
}

func (k *Compiler) subPlan(n *plan.SubPlan) (expr.Eval, error) {
	s := &subPlan{kind: n.Kind, elem: types.ElemOf(n.Type())}
	s.stacks = n.Kind == query.SubArray && n.Plan.Output()[0].Type == n.Type()
	var err error
	if s.op, err = k.Node(n.Plan); err != nil {
		return nil, err
	}
	if s.binds, err = k.binds(n.Binds); err != nil {
		return nil, err
	}
	if s.test, err = k.Optional(n.Test); err != nil {
		return nil, err
	}
	s.reads = k.subReads(n)
	s.fixed = len(n.Binds) == 0 && len(s.reads.outers) == 0
	if (s.fixed || n.Kind == query.SubExists) && len(n.HashLeft) > 0 {
		if s.hashed, err = k.hashedSub(n); err != nil {
			return nil, err
		}
	}
	if !s.fixed && s.hashed == nil && !n.Volatile && n.Kind != query.SubRow {
		if s.memo, err = k.subMemo(n, s.reads); err != nil {
			return nil, err
		}
	}
	eval := s.single
	switch {
	case n.Kind == query.SubAny || n.Kind == query.SubAll:
		eval = s.compareAll
	case n.Kind == query.SubExists && s.hashed != nil:
		eval = s.member
	}
	k.Own(s)
	k.AtEnd(s.free)
	return func(c *expr.Ctx, row types.Row) (types.Datum, error) { return eval(c.Owner.(*Execution), row) }, nil
}

// free returns the memory of an execution to the query's account.
func (s *subPlan) free() {
	if s.list != nil {
		s.list.Free()
	}
	if s.memo != nil {
		s.memo.free()
	}
	if s.hashed != nil {
		s.hashed.set.Free()
		s.hashed.store.Free()
	}
}

// start binds the values that the subquery reads from the row. again reports whether an earlier
// result is kept.
func (s *subPlan) start(c *Execution, row types.Row) (again bool, err error) {
	if s.fixed && s.isKept(c) {
		return true, nil
	}
	return false, bind(c, s.binds, row)
}

// isKept reports whether the kept result is that of now.
func (s *subPlan) isKept(c *Execution) bool {
	s.now = s.reads.appendTo(s.now[:0], c)
	return s.run == c.Run && bytes.Equal(s.now, s.of)
}

// kept has the result, which has just been computed, kept for what isKept was asked for last.
func (s *subPlan) kept(c *Execution) { s.run, s.of = c.Run, append(s.of[:0], s.now...) }

// single evaluates the kinds that reduce the subquery to one value.
func (s *subPlan) single(c *Execution, row types.Row) (types.Datum, error) {
	again, err := s.start(c, row)
	if err != nil {
		return types.Null, err
	}
	if s.kind == query.SubRow {
		return s.rowTest(c, row, again)
	}
	if again {
		return s.value, nil
	}
	if s.memo != nil {
		if d, ok, err := s.memo.find(c, row); ok || err != nil {
			return d, err
		}
	}
	switch s.kind {
	case query.SubExists:
		s.value, err = s.exists(c)
	case query.SubScalar:
		s.value, err = s.scalar(c)
	default:
		s.value, err = s.array(c)
	}
	switch {
	case err != nil:
	case s.fixed:
		s.kept(c)
	case s.memo != nil:
		s.memo.keep(c, s.value)
	}
	return s.value, err
}

func (s *subPlan) exists(c *Execution) (types.Datum, error) {
	found := false
	err := s.op.Run(c, func(types.Row) error {
		found = true
		return ErrStop
	})
	if err != nil && !(err == ErrStop && found) {
		return types.Null, err
	}
	return types.NewBool(found), nil
}

func tooManyRows() error {
	return pgerr.New(pgerr.CardinalityViolation, "more than one row returned by a subquery used as an expression")
}

func (s *subPlan) scalar(c *Execution) (types.Datum, error) {
	n, value := 0, types.Null
	err := s.op.Run(c, func(row types.Row) error {
		if n++; n > 1 {
			return tooManyRows()
		}
		value = row[0].Clone()
		return nil
	})
	return value, err
}

func (s *subPlan) array(c *Execution) (types.Datum, error) {
	var vals []types.Datum
	err := s.op.Run(c, func(row types.Row) error {
		vals = append(vals, row[0].Clone())
		return nil
	})
	if err != nil || !s.stacks || len(vals) == 0 {
		return types.NewList(s.elem, vals), err
	}
	return builtin.StackArrays(vals)
}

// load runs the subquery and keeps its rows.
func (s *subPlan) load(c *Execution) error {
	if s.list != nil {
		s.list.Free()
	}
	s.list = &spool.List{}
	s.list.Begin(c.Mem)
	return s.op.Run(c, s.list.Add)
}

// rowTest is (a, b) op (SELECT …).
func (s *subPlan) rowTest(c *Execution, row types.Row, again bool) (types.Datum, error) {
	if !again {
		if err := s.load(c); err != nil {
			return types.Null, err
		}
		if s.fixed {
			s.kept(c)
		}
	}
	switch s.list.Len() {
	case 0:
		return types.Null, nil
	case 1:
		r, err := s.list.From(0)
		if err != nil {
			return types.Null, err
		}
		defer r.Close()
		sub, _, err := r.Next()
		if err != nil {
			return types.Null, err
		}
		return s.tested(c, sub, row)
	}
	return types.Null, tooManyRows()
}

// tested evaluates the test with a row of the subquery in the place of SubColumn.
func (s *subPlan) tested(c *Execution, sub, row types.Row) (types.Datum, error) {
	saved := c.Columns
	c.Columns = sub
	d, err := s.test(&c.Ctx, row)
	c.Columns = saved
	return d, err
}

// compareAll is op ANY and op ALL: three-valued over all rows of the subquery.
func (s *subPlan) compareAll(c *Execution, row types.Row) (types.Datum, error) {
	again, err := s.start(c, row)
	if err != nil {
		return types.Null, err
	}
	if !s.fixed {
		return s.compareStream(c, row)
	}
	if !again {
		if err := s.load(c); err != nil {
			return types.Null, err
		}
		if s.hashed != nil {
			if err := s.hashed.build(c, s.list); err != nil {
				return types.Null, err
			}
		}
		s.kept(c)
	}
	if s.hashed != nil {
		return s.probe(c, row)
	}
	return s.overList(c, row)
}

// decisive is the test's value that decides: true for ANY, false for ALL.
func (s *subPlan) decisive() bool { return s.kind == query.SubAny }

func (s *subPlan) over(c *Execution, rows []types.Row, row types.Row) (types.Datum, error) {
	null := false
	for _, r := range rows {
		d, err := s.tested(c, r, row)
		switch {
		case err != nil:
			return types.Null, err
		case d.IsNull():
			null = true
		case d.Bool() == s.decisive():
			return d, nil
		}
	}
	if null {
		return types.Null, nil
	}
	return types.NewBool(!s.decisive()), nil
}

// overList is over for all kept rows.
func (s *subPlan) overList(c *Execution, row types.Row) (types.Datum, error) {
	d, err := s.over(c, s.list.InMemory(), row)
	if err != nil || !s.list.InFile() || !d.IsNull() && d.Bool() == s.decisive() {
		return d, err
	}
	null := d.IsNull()
	r, err := s.list.From(len(s.list.InMemory()))
	if err != nil {
		return types.Null, err
	}
	defer r.Close()
	for {
		if err := c.Tick(); err != nil {
			return types.Null, err
		}
		sub, ok, err := r.Next()
		switch {
		case err != nil:
			return types.Null, err
		case !ok && null:
			return types.Null, nil
		case !ok:
			return types.NewBool(!s.decisive()), nil
		}
		d, err := s.tested(c, sub, row)
		switch {
		case err != nil:
			return types.Null, err
		case d.IsNull():
			null = true
		case d.Bool() == s.decisive():
			return d, nil
		}
	}
}

// compareStream is compareAll of a correlated subquery.
func (s *subPlan) compareStream(c *Execution, row types.Row) (types.Datum, error) {
	if s.memo == nil {
		return s.stream(c, row)
	}
	d, ok, err := s.memo.find(c, row)
	if ok || err != nil {
		return d, err
	}
	if d, err = s.stream(c, row); err == nil {
		s.memo.keep(c, d)
	}
	return d, err
}

// stream tests the rows of a correlated subquery as they arrive.
func (s *subPlan) stream(c *Execution, row types.Row) (types.Datum, error) {
	null, decided := false, false
	err := s.op.Run(c, func(r types.Row) error {
		d, err := s.tested(c, r, row)
		switch {
		case err != nil:
			return err
		case d.IsNull():
			null = true
		case d.Bool() == s.decisive():
			decided = true
			return ErrStop
		}
		return nil
	})
	switch {
	case decided && (err == ErrStop || err == nil):
		return types.NewBool(s.decisive()), nil
	case err != nil || null:
		return types.Null, err
	}
	return types.NewBool(!s.decisive()), nil
}

// probe looks the row's values up; rows with nulls on either side are tested one by one.
func (s *subPlan) probe(c *Execution, row types.Row) (types.Datum, error) {
	key, null, err := s.hashed.left.encode(c, row)
	if err != nil {
		return types.Null, err
	}
	if null {
		return s.overList(c, row)
	}
	if s.hashed.set.Has(key) {
		return types.NewBool(true), nil
	}
	return s.over(c, s.hashed.nulls, row)
}

// member evaluates a hashed EXISTS: whether a row of the subquery has the values of the row.
func (s *subPlan) member(c *Execution, row types.Row) (types.Datum, error) {
	key, null, err := s.hashed.left.encode(c, row)
	if err != nil || null {
		return types.NewBool(false), err
	}
	if !s.isKept(c) {
		s.hashed.begin(c)
		if err := s.op.Run(c, s.hashed.addKey); err != nil {
			return types.Null, err
		}
		s.kept(c)
	}
	return types.NewBool(s.hashed.set.Has(key)), nil
}
