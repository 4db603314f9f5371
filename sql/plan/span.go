package plan

import (
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// KeySpan says between which primary keys the rows are that a scan of a range table looks for: its
// first columns have one of some values each, and the column behind them is between bounds, or
// begins with a text, or that and the columns after it are between bounds as a row. Its evaluation
// returns ranges of encoded keys.
type KeySpan struct {
	Equal        [][]query.Expr // by column of the key: the values that it may have
	Lo, Hi       query.Expr     // of the next column; nil is open
	LoInc, HiInc bool
	Prefix       query.Expr // of the next column, which is text

	LoRow, HiRow       []query.Expr // of the next columns together, the first first; none is open
	LoRowInc, HiRowInc bool
}

// ranged reports whether a table's rows lie by ranges of their keys.
func ranged(t *catalog.Table) bool { return len(t.Segments) > 0 }

// span finds what the conditions say of the first columns of a range table's key.
func (m *matcher) span(r *Route) {
	if !ranged(m.s.Table) || len(r.Keys) > 0 || r.KeyArray != nil {
		return
	}
	x, tuples := &KeySpan{}, 1
	key := keyPositions(m.s.Table)
	for len(x.Equal) < len(key) {
		list, array := choices(m.conds, m.column(key[len(x.Equal)]))
		if tuples *= len(list); tuples == 0 || tuples > maxKeyTuples || array != nil {
			break
		}
		x.Equal = append(x.Equal, list)
	}
	if len(x.Equal) < len(key) {
		m.spanBounds(x, key[len(x.Equal)])
		m.rowBounds(x, key[len(x.Equal):])
	}
	if len(x.Equal) > 0 || x.Prefix != nil || x.bounded() {
		r.Span = x
	}
}

func (m *matcher) spanBounds(x *KeySpan, col int) {
	lo, hi := m.columnBounds(col)
	if lo != nil {
		x.Lo, x.LoInc = lo.value, lo.inclusive
	}
	if hi != nil {
		x.Hi, x.HiInc = hi.value, hi.inclusive
	}
	if t := m.s.Table.Columns[col].Type; t != types.Text && t != types.VarChar {
		return
	}
	text, pattern := m.begins(func(e query.Expr) bool { return m.position(e) == col })
	if x.Prefix = text; pattern != nil {
		x.Prefix = literalStart(pattern)
	}
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

// rowBounds finds comparisons of rows that begin with the columns of the key; where they go on with
// something else, the bound is of the columns before that, and these may equal it.
func (m *matcher) rowBounds(x *KeySpan, key []int) {
	for _, c := range m.conds {
		r, ok := c.(*query.RowCompare)
		if !ok {
			continue
		}
		op, columns, values := r.Op, r.Left, r.Right
		if m.position(columns[0]) != key[0] {
			op, columns, values = flip(op), values, columns
		}
		as := toUpper
		if op == ">" || op == ">=" {
			as = toLower
		}
		n, exact := 0, true
		var own []query.Expr
		for exact && n < len(columns) && n < len(key) && m.position(columns[n]) == key[n] && known(values[n]) {
			v := m.keyValue(key[n], values[n], as)
			if v == nil {
				break
			}
			exact = v == values[n] // what comes behind a bound that was converted says nothing
			own, n = append(own, v), n+1
		}
		if n == 0 {
			continue
		}
		inclusive := !exact || n < len(columns) || op == ">=" || op == "<="
		if as == toLower {
			x.LoRow, x.LoRowInc = own, inclusive
		} else {
			x.HiRow, x.HiRowInc = own, inclusive
		}
	}
}

// LikePrefix returns the text that all texts begin with that are LIKE a pattern.
func LikePrefix(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '%', '_':
			return b.String()
		case '\\':
			if i++; i == len(pattern) {
				return b.String() // LIKE refuses it
			}
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// narrow reports whether the span likely has a small part of the table's rows. A pattern that only
// the running statement has may begin with %.
func (x *KeySpan) narrow() bool {
	return len(x.Equal) > 0 || x.Prefix != nil && !isLiteralStart(x.Prefix) ||
		(x.Lo != nil || x.LoRow != nil) && (x.Hi != nil || x.HiRow != nil)
}

// bounded reports whether there is a bound at either end.
func (x *KeySpan) bounded() bool {
	return x.Lo != nil || x.Hi != nil || x.LoRow != nil || x.HiRow != nil
}
