package stmt

import (
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/statistics"
)

// plannedFor is what was known of tables when a program was planned.
type plannedFor struct {
	tables []plannedTable
	looked atomic.Int64 // when it was last compared, in nanoseconds since 1970
	stale  atomic.Bool
}

type plannedTable struct {
	table    *catalog.Table
	known    bool
	rows     float64
	analyzed time.Time
}

const (
	lookAgain = time.Second // between two comparisons
	// Tables are alike if the rows of one are up to so many times those of the other, or if both have
	// few: plans of small tables cost little.
	alikeFactor = 2
	fewRows     = 1000
)

// observed returns a function that notes in x what another one knows of tables.
func (x *plannedFor) observed(known func(*catalog.Table) *statistics.Table) func(*catalog.Table) *statistics.Table {
	if known == nil {
		return nil
	}
	x.looked.Store(time.Now().UnixNano())
	return func(t *catalog.Table) *statistics.Table {
		k := known(t)
		for i := range x.tables {
			if x.tables[i].table == t {
				return k
			}
		}
		x.tables = append(x.tables, planned(t, k))
		return k
	}
}

func planned(t *catalog.Table, k *statistics.Table) plannedTable {
	if k == nil {
		return plannedTable{table: t}
	}
	return plannedTable{t, true, k.Rows, k.Analyzed}
}

// Stale reports whether the program was planned for tables of other sizes, or before their last
// ANALYZE, or has to be refused by row_security. It looks at sizes once in a while; now returns a compiler for the present definitions.
func (p *Program) Stale(now func() *Compiler) bool {
	if p.guarded && now().RowSecurityOff {
		return true
	}
	x := p.planned
	if x == nil || x.stale.Load() {
		return x != nil
	}
	at, last := time.Now().UnixNano(), x.looked.Load()
	if at-last < int64(lookAgain) || !x.looked.CompareAndSwap(last, at) {
		return false
	}
	known := now().statistics()
	if known == nil {
		return false
	}
	for _, a := range x.tables {
		if !a.alike(planned(a.table, known(a.table))) {
			x.stale.Store(true)
			return true
		}
	}
	return false
}

// alike reports whether a plan for one of two tables serves for the other.
func (a plannedTable) alike(b plannedTable) bool {
	if a.known != b.known || !a.analyzed.Equal(b.analyzed) {
		return false
	}
	small, large := max(min(a.rows, b.rows), fewRows), max(a.rows, b.rows, fewRows)
	return large <= small*alikeFactor
}
