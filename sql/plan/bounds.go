package plan

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// KeyBounds bounds the columns of a key, or of an index, that follow those that have values. The
// first of them is between bounds, or begins with a text, or it and the ones behind it are between
// bounds as a row. A bounded column is not null.
type KeyBounds struct {
	Lo, Hi       query.Expr // of the first column; nil is open
	LoInc, HiInc bool
	Prefix       query.Expr // of the first column, which is text

	LoRow, HiRow       []query.Expr // of the first columns together; none is open
	LoRowInc, HiRowInc bool
	NotNull            bool // the first column is not null; older nodes do not know it
}

// bounded reports whether there is a bound at either end.
func (b *KeyBounds) bounded() bool { return b.lower() || b.upper() }

func (b *KeyBounds) lower() bool { return b.Lo != nil || b.LoRow != nil }
func (b *KeyBounds) upper() bool { return b.Hi != nil || b.HiRow != nil }

// open reports whether nothing is bounded.
func (b *KeyBounds) open() bool { return !b.bounded() && b.Prefix == nil && !b.NotNull }

// begins reports whether a text is known that the column begins with. A pattern that only the
// running statement has may begin with %.
func (b *KeyBounds) begins() bool { return b.Prefix != nil && !isLiteralStart(b.Prefix) }

// keyColumn is a column of a key or an index.
type keyColumn struct {
	expr                      query.Expr // over the table's columns
	desc, nullsFirst, notNull bool
}

// keyColumns returns the columns of the primary key.
func keyColumns(t *catalog.Table) []keyColumn {
	var out []keyColumn
	for _, i := range keyPositions(t) {
		out = append(out, keyColumn{expr: columnAt(t, i), notNull: true})
	}
	return out
}

// columnAt returns column i of a table, as indexes have it.
func columnAt(t *catalog.Table, i int) *query.Var {
	c := &t.Columns[i]
	return &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Col: i, Name: c.Name}
}

// bounds finds what the conditions say of the columns of a key together.
func (m *matcher) bounds(columns []keyColumn) KeyBounds {
	var b KeyBounds
	if len(columns) == 0 {
		return b
	}
	first := columns[0].expr
	lo, hi := m.columnBounds(first)
	if lo != nil {
		b.Lo, b.LoInc = lo.value, lo.inclusive
	}
	if hi != nil {
		b.Hi, b.HiInc = hi.value, hi.inclusive
	}
	if textLike(first.Type()) {
		text, pattern := m.begins(func(e query.Expr) bool { return m.isKey(e, first) })
		if b.Prefix = text; pattern != nil {
			b.Prefix = literalStart(pattern)
		}
	}
	m.rowBounds(&b, columns)
	b.NotNull = !columns[0].notNull && m.isNull(first, false)
	return b
}

type bound struct {
	value     query.Expr
	inclusive bool
}

// columnBounds finds range conditions on a column of a key.
func (m *matcher) columnBounds(key query.Expr) (lo, hi *bound) {
	for _, c := range m.conds {
		call, ok := c.(*query.Call)
		if !ok || len(call.Args) != 2 {
			continue
		}
		op, side, v := call.Op, call.Args[0], call.Args[1]
		if !m.isKey(side, key) {
			op, side, v = flip(op), v, side
		}
		if op == "" || !m.isKey(side, key) || !known(v) {
			continue
		}
		own := func(as narrowing) query.Expr { return m.indexValue(key, v, as) }
		if b := boundOf(op, v, toLower, own); b != nil {
			lo = tighter(lo, b, 1)
		}
		if b := boundOf(op, v, toUpper, own); b != nil {
			hi = tighter(hi, b, -1)
		}
	}
	return lo, hi
}

// boundOf returns the bound that a comparison with v is, as the column's own values; nil where it
// is none of that side. One that had to be converted is inclusive.
func boundOf(op string, v query.Expr, as narrowing, own func(narrowing) query.Expr) *bound {
	if as == toLower && op != ">" && op != ">=" || as == toUpper && op != "<" && op != "<=" {
		return nil
	}
	value := own(as)
	if value == nil {
		return nil
	}
	return &bound{value, value != v || op == ">=" || op == "<="}
}

// tighter chooses between two bounds: of constants the one that admits less, else the first.
func tighter(a, b *bound, sign int) *bound {
	if a == nil {
		return b
	}
	x, ok := a.value.(*query.Const)
	y, also := b.value.(*query.Const)
	if ok && also && !x.Value.IsNull() && !y.Value.IsNull() && sign*types.Compare(x.OID, x.Value, y.Value) < 0 {
		return b
	}
	return a
}

func flip(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return ""
}

// isNull reports whether the conditions say that a key is null, or that it is not.
func (m *matcher) isNull(key query.Expr, null bool) bool {
	return slices.ContainsFunc(m.conds, func(c query.Expr) bool {
		test, ok := c.(*query.NullTest)
		return ok && !test.Row && test.Not != null && m.isKey(test.Arg, key)
	})
}

// rowBounds finds comparisons of rows that begin with the columns of a key. If they go on with
// something else, or in another direction, the bound is of the columns before that, and these may
// equal it.
func (m *matcher) rowBounds(b *KeyBounds, columns []keyColumn) {
	for _, c := range m.conds {
		op, left, right := comparedRows(c)
		if len(left) < 2 {
			continue
		}
		if !m.isKey(left[0], columns[0].expr) {
			op, left, right = flip(op), right, left
		}
		as := toUpper
		if op == ">" || op == ">=" {
			as = toLower
		}
		own, exact := m.rowValues(columns, left, right, as)
		if len(own) == 0 {
			continue
		}
		inclusive := !exact || len(own) < len(left) || op == ">=" || op == "<="
		if as == toLower {
			b.LoRow, b.LoRowInc = own, inclusive
		} else {
			b.HiRow, b.HiRowInc = own, inclusive
		}
	}
}

// rowValues returns the values that the first columns of a key are compared with. What comes behind
// a value that was converted says nothing; exact is false then.
func (m *matcher) rowValues(
	columns []keyColumn, left, right []query.Expr, as narrowing,
) (own []query.Expr, exact bool) {
	exact = true
	for n := range min(len(columns), len(left)) {
		if !m.isKey(left[n], columns[n].expr) || !known(right[n]) || columns[n].desc != columns[0].desc {
			break
		}
		v := m.indexValue(columns[n].expr, right[n], as)
		if v == nil {
			break
		}
		own = append(own, v)
		if exact = v == right[n]; !exact {
			break
		}
	}
	return own, exact
}

// comparedRows takes a comparison of rows apart: (a, b) > (x, y), or what says the same in parts: a
// > x OR a = x AND b > y. left is nil for anything else. A comparison of single values is one of
// rows with one column.
func comparedRows(c query.Expr) (op string, left, right []query.Expr) {
	switch n := c.(type) {
	case *query.RowCompare:
		return n.Op, n.Left, n.Right
	case *query.Call:
		if flip(n.Op) != "" && len(n.Args) == 2 {
			return n.Op, n.Args[:1], n.Args[1:]
		}
	case *query.Or:
		for i, arm := range n.Args {
			first, ok := arm.(*query.Call)
			if !ok || first.Op != "<" && first.Op != ">" || len(first.Args) != 2 {
				continue
			}
			others := slices.Concat(n.Args[:i], n.Args[i+1:])
			if op, left, right = expandedRow(first, others); left != nil {
				return op, left, right
			}
		}
	}
	return "", nil, nil
}

// expandedRow is comparedRows of an OR of first and of arms that each say that first's sides are
// equal.
func expandedRow(first *query.Call, arms []query.Expr) (op string, left, right []query.Expr) {
	rest := make([]query.Expr, len(arms))
	for i, arm := range arms {
		members := Conjuncts(arm)
		equal := slices.IndexFunc(members, func(e query.Expr) bool { return equates(e, first.Args[0], first.Args[1]) })
		if equal < 0 || len(members) < 2 {
			return "", nil, nil
		}
		rest[i] = Conjunction(slices.Concat(members[:equal], members[equal+1:]))
	}
	behind := rest[0]
	if len(rest) > 1 {
		behind = &query.Or{Args: rest}
	}
	op, left, right = comparedRows(behind)
	if left == nil {
		return "", nil, nil
	}
	if op[0] != first.Op[0] {
		if op, left, right = flip(op), right, left; op[0] != first.Op[0] {
			return "", nil, nil
		}
	}
	return op, slices.Concat(first.Args[:1], left), slices.Concat(first.Args[1:], right)
}

// equates reports whether e says that a and b are equal.
func equates(e, a, b query.Expr) bool {
	c, ok := e.(*query.Call)
	if !ok || c.Op != "=" || len(c.Args) != 2 {
		return false
	}
	return query.Equal(c.Args[0], a) && query.Equal(c.Args[1], b) ||
		query.Equal(c.Args[0], b) && query.Equal(c.Args[1], a)
}

// literalStart returns what a pattern begins with that stands for itself, as an expression over it:
// nodes of all releases evaluate that, and would take the pattern itself for the text. It ends
// before an escape too, behind which there may be more of it.
func literalStart(pattern query.Expr) query.Expr {
	return &query.Call{
		T: query.Of(types.Text), Proc: pgcatalog.ProcByOID(substringByRegex),
		Args: []query.Expr{pattern, textConst(`^[^%_\\]*`)},
	}
}

const substringByRegex = 2073 // substring(text, text)

// isLiteralStart reports whether an expression is one of a pattern that may begin with anything.
func isLiteralStart(e query.Expr) bool {
	c, ok := e.(*query.Call)
	return ok && c.Proc.OID == substringByRegex
}

// KeySpan says which primary keys a scan looks for: the first columns have one of some values each,
// and those behind them are bounded. Its evaluation returns ranges of encoded keys.
type KeySpan struct {
	Equal [][]query.Expr // by column of the key: the values that it may have
	KeyBounds
	Arms  []IndexKeys  // if there are some: the keys of each of them, and not those that the rest names
	Conds []query.Expr // of Arms: what the keys are found by, for EXPLAIN
}

// ranged reports whether a table's rows lie by ranges of their keys.
func ranged(t *catalog.Table) bool { return len(t.Segments) > 0 }

// span finds what the conditions say of the first columns of a range table's key.
func (m *matcher) span(r *Route) {
	if !ranged(m.s.Table) || len(r.Keys) > 0 || r.KeyArray != nil {
		return
	}
	x, tuples := &KeySpan{}, 1
	key := keyColumns(m.s.Table)
	for len(x.Equal) < len(key) {
		list, array := choices(m.conds, m.indexKey(key[len(x.Equal)].expr))
		if tuples *= len(list); tuples == 0 || tuples > maxKeyTuples || array != nil {
			break
		}
		x.Equal = append(x.Equal, list)
	}
	x.KeyBounds = m.bounds(key[len(x.Equal):])
	if len(x.Equal) > 0 || !x.open() {
		r.Span = x
	}
}

// narrow reports whether the span likely has a small part of the table's rows.
func (x *KeySpan) narrow() bool { return len(x.Equal) > 0 || x.begins() || x.lower() && x.upper() }
