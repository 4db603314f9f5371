package stmt

import (
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/statistics"
)

// TestStale: a program is planned again if a table has twice the rows, and more than a few, or was
// analyzed since.
func TestStale(t *testing.T) {
	table := &catalog.Table{OID: 20000}
	now := &statistics.Table{Rows: 5}
	c := &Compiler{Cache: &Cache{
		Statistics: func(*catalog.View, *catalog.Table) *statistics.Table { return now },
	}}
	made := func() *Program {
		x := &plannedFor{}
		x.observed(c.statistics())(table)
		return &Program{planned: x}
	}
	stale := func(p *Program) bool {
		p.planned.looked.Store(0) // long ago
		return p.Stale(func() *Compiler { return c })
	}
	p := made()
	now = &statistics.Table{Rows: 1900}
	if stale(p) {
		t.Error("1,900 rows instead of 5 are taken for many")
	}
	now = &statistics.Table{Rows: 2100}
	if p.Stale(func() *Compiler { return c }) {
		t.Error("it looked again at once")
	}
	if !stale(p) {
		t.Error("2,100 rows instead of 5 are taken for few")
	}
	now = &statistics.Table{Rows: 5}
	if !p.Stale(func() *Compiler { return c }) {
		t.Error("a stale program is not stale any more")
	}
	now = &statistics.Table{Rows: 1e6}
	p = made()
	now = &statistics.Table{Rows: 4e5}
	if !stale(p) {
		t.Error("a table that shrank")
	}
	p = made()
	now = &statistics.Table{Rows: 4e5, Analyzed: time.Now()}
	if !stale(p) {
		t.Error("a table that was analyzed")
	}
	p = made()
	if now = nil; !stale(p) {
		t.Error("nothing is known any more")
	}
	if (&Program{}).Stale(func() *Compiler { return c }) {
		t.Error("a program that was planned without tables")
	}
}
