package plan

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
)

// KeySpan says which primary keys a scan looks for: the first columns have one of some values each,
// and those behind them are bounded. Its evaluation returns ranges of encoded keys.
type KeySpan struct {
	Equal [][]query.Expr // by column of the key: the values that it may have
	KeyBounds
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
