package plan

import (
	"strings"

	"github.com/sherddb/sherd/sql/plan/pattern"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// under finds with what the text begins that rows are hashed by, where the table has rules for
// prefixes: those under one are in its buckets alone. The text is the primary key of a table
// without anchors, its columns joined by "/", or what a trusted policy places by. An id with an
// anchor is hashed by that, whatever the id begins with, so of a collection's ids nothing follows
// unless they are said to have no "$".
func (m *matcher) under(r *Route) {
	t := m.s.Table
	if len(t.Prefixes) == 0 || len(r.Keys) > 0 || r.KeyArray != nil || len(r.Content) > 0 {
		return
	}
	if key := keyPositions(t); len(key) > 0 && !placedByPolicy(t) && (!t.Anchors || m.noAnchor(key[0])) {
		m.underKey(r, key)
	}
	if !r.ByPrefix() && trustedPlain(t) {
		m.underContent(r)
	}
	for _, e := range r.Under {
		if c, ok := e.(*query.Const); ok && !c.Value.IsNull() {
			if _, ok := t.Prefixes.Under(c.Value.S + r.UnderEnd); !ok { // these may lie anywhere
				r.Under, r.UnderEnd = nil, ""
				return
			}
		}
	}
}

func (m *matcher) underKey(r *Route, key []int) {
	if !textLike(m.s.Table.Columns[key[0]].Type) {
		return
	}
	if len(key) > 1 {
		if list, array := choices(m.conds, m.column(key[0])); array == nil && len(list) > 0 &&
			len(list) <= maxKeyTuples {
			r.Under, r.UnderEnd = list, "/"
			return
		}
	}
	if m.beginning(r, func(e query.Expr) bool { return m.position(e) == key[0] }); !r.ByPrefix() {
		m.between(r, key[0])
	}
}

// beginning takes what the conditions say of how something begins.
func (m *matcher) beginning(r *Route, is func(query.Expr) bool) {
	if text, pattern := m.begins(is); text != nil {
		r.Under = []query.Expr{text}
	} else if r.UnderLike = pattern; pattern == nil {
		r.Under = m.beginnings(is)
	}
}

// beginnings returns the texts that something may begin with, where each arm of an OR says with
// which; none where no OR does.
func (m *matcher) beginnings(is func(query.Expr) bool) []query.Expr {
	for _, c := range m.conds {
		or, ok := c.(*query.Or)
		if !ok || len(or.Args) > maxKeyTuples {
			continue
		}
		var list []query.Expr
		for _, arm := range or.Args {
			text, pattern := (&matcher{m.s, Conjuncts(arm)}).begins(is)
			if pattern != nil {
				text = literalStart(pattern)
			}
			if text == nil {
				break
			}
			list = append(list, text)
		}
		if len(list) == len(or.Args) {
			return list
		}
	}
	return nil
}

// underContent looks at a policy's first field, which what is hashed begins with. A number may be
// hashed without what it begins with, -0.0 as 0: so nothing follows from a text that begins with
// "-" (package exec).
func (m *matcher) underContent(r *Route) {
	f := m.s.Table.Policy.Fields[0]
	m.beginning(r, func(e query.Expr) bool {
		return e.Type() == types.Text && m.isField(e, f, true) ||
			m.isPolicyColumn(e, f) && textLike(m.s.Table.Columns[m.position(e)].Type)
	})
}

func textConst(text string) query.Expr {
	return &query.Const{T: query.Of(types.Text), Value: types.NewText(text)}
}

// begins returns the text that something begins with by the conditions: LIKE, ^@, starts_with, and
// regular expressions that are anchored.
// Of a LIKE whose pattern only the running statement has it returns the pattern, if nothing else is
// known; both are nil where the conditions do not say.
func (m *matcher) begins(is func(query.Expr) bool) (text, open query.Expr) {
	longest := ""
	for _, c := range m.conds {
		call, ok := c.(*query.Call)
		if !ok || len(call.Args) != 2 || !is(call.Args[0]) || !textLike(call.Args[1].Type()) {
			continue
		}
		like, regex := call.Op == "~~", call.Op == "~"
		if !like && !regex && call.Op != "^@" && (call.Op != "" || call.Proc.Src != "text_starts_with") {
			continue
		}
		k, ok := call.Args[1].(*query.Const)
		switch {
		case !ok && (regex || !known(call.Args[1])):
		case !ok && like:
			open = call.Args[1]
		case !ok && longest == "":
			text = call.Args[1]
		case !ok || k.Value.IsNull():
		default:
			begin := k.Value.S
			switch {
			case like:
				begin = pattern.LikePrefix(begin)
			case regex:
				begin = pattern.RegexPrefix(begin)
			}
			if len(begin) > len(longest) {
				longest, text = begin, textConst(begin)
			}
		}
	}
	if text != nil {
		open = nil
	}
	return text, open
}

// between takes the bounds of a column, where what lies within them begins alike.
func (m *matcher) between(r *Route, col int) {
	lo, hi := m.columnBounds(columnAt(m.s.Table, col))
	if lo == nil || hi == nil || !textLike(lo.value.Type()) || !textLike(hi.value.Type()) {
		return
	}
	from, ok := lo.value.(*query.Const)
	to, ok2 := hi.value.(*query.Const)
	switch {
	case !ok || !ok2:
		r.UnderFrom, r.UnderTo, r.UnderToInc = lo.value, hi.value, hi.inclusive
	case from.Value.IsNull() || to.Value.IsNull():
	default:
		if text := CommonStart(from.Value.S, to.Value.S, hi.inclusive); text != "" {
			r.Under = []query.Expr{textConst(text)}
		}
	}
}

// CommonStart returns the longest text that all texts from lo up to hi begin with, by their bytes:
// the first text behind all that begin with it is not before hi.
func CommonStart(lo, hi string, inclusive bool) string {
	for n := len(lo); n > 0; n-- {
		behind := []byte(lo[:n])
		if behind[n-1]++; behind[n-1] == 0 {
			continue
		}
		if c := strings.Compare(hi, string(behind)); c < 0 || c == 0 && !inclusive {
			return lo[:n]
		}
	}
	return ""
}

// noAnchor reports whether the conditions say of a column that there is no "$" in it.
func (m *matcher) noAnchor(col int) bool {
	for _, c := range m.conds {
		call, ok := c.(*query.Call)
		if !ok || len(call.Args) != 2 || call.Op != "!~~" || m.position(call.Args[0]) != col {
			continue
		}
		if pattern, ok := call.Args[1].(*query.Const); ok && !pattern.Value.IsNull() &&
			pattern.Value.S == "%$%" && textLike(pattern.OID) {
			return true
		}
	}
	return false
}
