package plan

import (
	"testing"

	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// TestEntailedBy: what one comparison is said to entail of another holds for every number, and every
// comparison entails itself.
func TestEntailedBy(t *testing.T) {
	holds := map[string]func(x, y int64) bool{
		"=": func(x, y int64) bool { return x == y }, "<>": func(x, y int64) bool { return x != y },
		"<": func(x, y int64) bool { return x < y }, "<=": func(x, y int64) bool { return x <= y },
		">": func(x, y int64) bool { return x > y }, ">=": func(x, y int64) bool { return x >= y },
	}
	number := func(n int64) *query.Const { return &query.Const{T: query.Of(types.Int4), Value: types.NewInt(n)} }
	for own, mine := range holds {
		for op, theirs := range holds {
			for v := int64(-2); v <= 2; v++ {
				for limit := int64(-2); limit <= 2; limit++ {
					said := entailedBy(own, number(v), op, number(limit))
					for x := int64(-5); x <= 5 && said; x++ {
						if mine(x, v) && !theirs(x, limit) {
							t.Errorf("x %s %d does not entail x %s %d: %d", own, v, op, limit, x)
							break
						}
					}
					if own == op && v == limit && own != "<>" && !said {
						t.Errorf("x %s %d does not entail itself", own, v)
					}
				}
			}
		}
	}
}
