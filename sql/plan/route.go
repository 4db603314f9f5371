package plan

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// route reads from the conditions on one table which buckets can hold rows that meet them
// (docs/design/placement.md). Conditions are over the scan's Slots.
func (p *planner) route(s *Scan, conds []query.Expr) Route {
	r := Route{Table: s.Table}
	for _, c := range conds {
		if k, ok := c.(*query.Const); ok && (k.Value.IsNull() || !k.Value.Bool()) {
			r.Never = true
		}
	}
	m := matcher{s: s, conds: conds}
	m.keys(&r)
	m.content(&r)
	m.span(&r)
	m.under(&r)
	m.bucketInterval(&r)
	return r
}

// matcher looks through the conditions on a scan.
type matcher struct {
	s     *Scan
	conds []query.Expr
}

// position returns the table column that e reads, -1 for anything else.
func (m *matcher) position(e query.Expr) int {
	if sl, ok := bare(e).(*query.Slot); ok && sl.N < len(m.s.Slots) {
		return m.s.Slots[sl.N]
	}
	return -1
}

// known reports whether e has its value before the scan begins.
func known(e query.Expr) bool {
	return !query.Contains(e, func(x query.Expr) bool {
		switch n := x.(type) {
		case *query.Slot, *SubPlan, *query.SubColumn:
			return true
		case *query.Call:
			return n.Proc.Volatility == 'v' || n.Proc.RetSet
		}
		return false
	})
}

// keys finds equality on the whole primary key.
func (m *matcher) keys(r *Route) {
	cols := keyPositions(m.s.Table)
	if len(cols) == 0 {
		return
	}
	if len(cols) == 1 {
		list, array := choices(m.conds, m.column(cols[0]))
		switch {
		case array != nil:
			r.KeyArray = array
		case len(list) == 1:
			r.Keys = [][]query.Expr{list}
		case len(list) > 1:
			r.KeyArray = arrayOf(m.s.Table.Columns[cols[0]].Type, list)
		}
		return
	}
	key := make([]wanted, len(cols))
	for i, c := range cols {
		key[i] = m.column(c)
	}
	r.Keys = tuples(m.conds, key)
	if or := tuplesOfOr(m.conds, key); len(or) > 0 && len(or) < len(r.Keys) {
		r.Keys = or
	}
}

// maxKeyTuples bounds the combinations of key columns' values that are worth routing by.
const maxKeyTuples = 256

// tuples returns the values that a composite key may have under conds: every combination of its
// columns' values, or, where an OR says so, those of each of its arms.
func tuples(conds []query.Expr, key []wanted) [][]query.Expr {
	out := [][]query.Expr{nil}
	for _, w := range key {
		list, _ := choices(conds, w)
		var next [][]query.Expr
		for _, t := range out {
			for _, v := range list {
				next = append(next, append(slices.Clip(t), v))
			}
		}
		if out = next; len(out) == 0 || len(out) > maxKeyTuples {
			return tuplesOfOr(conds, key)
		}
	}
	return out
}

func tuplesOfOr(conds []query.Expr, key []wanted) [][]query.Expr {
	for i, c := range conds {
		or, ok := c.(*query.Or)
		if !ok {
			continue
		}
		var out [][]query.Expr
		others := slices.Concat(conds[:i], conds[i+1:])
		for _, arm := range or.Args {
			t := tuples(append(Conjuncts(arm), others...), key)
			if len(t) == 0 || len(out)+len(t) > maxKeyTuples {
				out = nil
				break
			}
			out = append(out, t...)
		}
		if out != nil {
			return out
		}
	}
	return nil
}

// wanted recognises conditions on one thing: a column or a policy's field.
type wanted struct {
	equal func(*query.Call) query.Expr    // the value that it must equal
	any   func(*query.ArrayOp) query.Expr // the array one of whose elements it must be
}

// choices returns the values that a thing may have under conds: a list of expressions, or one array
// whose length is not known. Equality comes before IN, IN before OR.
func choices(conds []query.Expr, w wanted) (list []query.Expr, array query.Expr) {
	for _, c := range conds {
		if call, ok := c.(*query.Call); ok && len(call.Args) == 2 {
			if v := w.equal(call); v != nil {
				return []query.Expr{v}, nil
			}
		}
	}
	for _, c := range conds {
		a, ok := c.(*query.ArrayOp)
		if !ok || a.All || a.Op != "=" || !known(a.Array) {
			continue
		}
		array := w.any(a)
		if array == nil {
			continue
		}
		if lit, ok := array.(*query.Array); ok && !lit.Multi {
			return lit.Elems, nil
		}
		if elems, ok := constantElements(array); ok {
			return elems, nil
		}
		return nil, array
	}
	for _, c := range conds {
		if or, ok := c.(*query.Or); ok {
			if list := choicesOfOr(or, w); list != nil {
				return list, nil
			}
		}
	}
	return nil, nil
}

func choicesOfOr(or *query.Or, w wanted) []query.Expr {
	var out []query.Expr
	for _, arm := range or.Args {
		list, _ := choices(Conjuncts(arm), w)
		if len(list) == 0 || len(out)+len(list) > maxKeyTuples {
			return nil
		}
		out = append(out, list...)
	}
	return out
}

// constantElements takes a constant array apart, where it is short and one-dimensional.
func constantElements(e query.Expr) ([]query.Expr, bool) {
	c, ok := e.(*query.Const)
	if !ok || c.Value.K != types.KindArray {
		return nil, false
	}
	a, err := types.ArrayOf(c.Value)
	if err != nil || a.Len() == 0 || a.Len() > maxKeyTuples {
		return nil, false
	}
	var out []query.Expr
	for i := range a.Len() {
		out = append(out, &query.Const{T: query.Of(types.ElemOf(c.OID)), Value: a.At(i)})
	}
	return out, true
}

func arrayOf(elem types.OID, es []query.Expr) query.Expr {
	return &query.Array{T: query.Of(types.ArrayTypeOf(elem)), Elem: elem, Elems: es}
}

// column wants `column = value` and `column = ANY (array)`, with values that are encoded as the
// column's own.
func (m *matcher) column(col int) wanted {
	return wanted{
		equal: func(c *query.Call) query.Expr {
			if c.Op != "=" {
				return nil
			}
			for i, side := range c.Args {
				v := c.Args[1-i]
				if m.position(side) != col || !known(v) {
					continue
				}
				if v = m.keyValue(col, v, toEqual); v != nil {
					return v
				}
			}
			return nil
		},
		any: func(a *query.ArrayOp) query.Expr {
			if m.position(a.Left) != col {
				return nil
			}
			return m.keyElements(col, a.Array)
		},
	}
}

func (m *matcher) valueType(col int) types.OID {
	t := m.s.Table.Columns[col].Type
	if t == types.VarChar {
		return types.Text
	}
	return t
}

// keyLike reports whether values of type oid, compared with the column, are encoded as the column's
// own values are.
func (m *matcher) keyLike(col int, oid types.OID) bool {
	t := m.valueType(col)
	return t == oid || oid == m.s.Table.Columns[col].Type ||
		integer(t) && integer(oid) && t > 0 && width(oid) <= width(t)
}

func width(oid types.OID) int {
	switch oid {
	case types.Int2:
		return 2
	case types.Int4:
		return 4
	}
	return 8
}

// content finds conditions that bind every field of a trusted policy.
func (m *matcher) content(r *Route) {
	t := m.s.Table
	if !trusted(t) {
		return
	}
	values := make([][]query.Expr, len(t.Policy.Fields))
	arrays := make([]query.Expr, len(t.Policy.Fields))
	var ranges []FieldRange
	for i, f := range t.Policy.Fields {
		values[i], arrays[i] = choices(m.conds, m.field(f))
		if len(values[i]) > 0 || arrays[i] != nil {
			continue
		}
		bounds, ok := m.fieldRange(f)
		if !ok {
			return
		}
		if ranges == nil {
			ranges = make([]FieldRange, len(t.Policy.Fields))
		}
		ranges[i] = bounds
	}
	r.Content, r.ContentArray, r.ContentRange = values, arrays, ranges
}

// ofContent returns the conditions that set values of the policy's fields.
func (m *matcher) ofContent() (out []query.Expr) {
	for _, c := range m.conds {
		for _, f := range m.s.Table.Policy.Fields {
			if list, array := choices([]query.Expr{c}, m.field(f)); len(list) > 0 || array != nil {
				out = append(out, c)
				break
			}
		}
	}
	return out
}

// field wants equality on a policy's field: of its text or, under a function, of what its text is
// cast to.
func (m *matcher) field(f shardmap.Field) wanted {
	return wanted{
		equal: func(c *query.Call) query.Expr { return m.fieldEquals(c, f) },
		any: func(a *query.ArrayOp) query.Expr {
			switch {
			case a.Left.Type() == types.Text && types.ElemOf(a.Array.Type()) == types.Text &&
				m.isField(a.Left, f, true):
				return a.Array
			case m.isPolicyColumn(a.Left, f):
				return m.keyElements(m.position(a.Left), a.Array)
			}
			return m.castElements(a, f)
		},
	}
}

// fieldEquals reads `doc ->> 'F' = v`, `doc -> 'F' = v`, `doc @> '{"F": v}'` and `column = v`.
func (m *matcher) fieldEquals(c *query.Call, f shardmap.Field) query.Expr {
	if len(c.Args) != 2 {
		return nil
	}
	if c.Op == "@>" && c.Proc.Src == "jsonb_contains" && m.isDocument(c.Args[0]) {
		return contained(c.Args[1], f.Path)
	}
	if c.Op != "=" {
		return nil
	}
	for i, side := range c.Args {
		v := c.Args[1-i]
		if !known(v) {
			continue
		}
		switch {
		case side.Type() == types.Text && v.Type() == types.Text && m.isField(side, f, true):
			return v
		case side.Type() == types.JSONB && v.Type() == types.JSONB && m.isField(side, f, false):
			return v
		case m.isPolicyColumn(side, f):
			if v = m.keyValue(m.position(side), v, toEqual); v != nil {
				return v
			}
		default:
			if v = m.castOf(side, f).value(v, toEqual); v != nil {
				return v
			}
		}
	}
	return nil
}

func (m *matcher) isPolicyColumn(e query.Expr, f shardmap.Field) bool {
	pos := m.position(e)
	if pos < 0 || policyColumn(m.s.Table, f) != pos {
		return false
	}
	t := m.s.Table.Columns[pos].Type
	return t != types.JSONB && t != types.BPChar // character(n) is placed without its padding
}

func (m *matcher) isDocument(e query.Expr) bool {
	pos := m.position(e)
	return pos >= 0 && pos == documentPosition(m.s.Table)
}

// isField reports whether e reads f's path from the document, as text or as jsonb.
func (m *matcher) isField(e query.Expr, f shardmap.Field, text bool) bool {
	if policyColumn(m.s.Table, f) >= 0 {
		return false
	}
	path, isText, base := DocumentPath(e)
	return base != nil && isText == text && m.isDocument(base) && equalPaths(path, f.Path)
}

// isPolicyField is the same for a condition that still has Vars.
func isPolicyField(l *level, e query.Expr, rel, field int) bool {
	t := l.q.Rels[rel].Table
	f := t.Policy.Fields[field]
	if pos := policyColumn(t, f); pos >= 0 {
		return t.Columns[pos].Type != types.JSONB && isColumn(e, varKey{rel, pos})
	}
	path, text, base := DocumentPath(e)
	return base != nil && text && documentPosition(t) >= 0 &&
		isColumn(base, varKey{rel, documentPosition(t)}) && equalPaths(path, f.Path)
}

// policyColumn returns the position of the column that a policy field names, -1 where it is a path
// into the document.
func policyColumn(t *catalog.Table, f shardmap.Field) int {
	if len(f.Path) != 1 {
		return -1
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.Dropped && c.Name == f.Path[0] {
			return i
		}
	}
	return -1
}

func documentPosition(t *catalog.Table) int {
	for i := range t.Columns {
		if t.Columns[i].AttNum == t.Document && t.Document > 0 {
			return i
		}
	}
	return -1
}

func equalPaths(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
