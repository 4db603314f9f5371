package deparse

import (
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/query"
)

// writeWindows writes the WINDOW clause.
func writeWindows(d *deparser, q *query.Query) {
	first := true
	for i := range q.Windows {
		w := &q.Windows[i]
		if w.Form == nil || w.Form.Name == "" {
			continue
		}
		if first {
			d.line(" WINDOW ", -stepOut, stepOut, 1)
		} else {
			d.put(", ")
		}
		first = false
		d.put(builtin.QuoteIdent(w.Form.Name), " AS ")
		writeWindow(d, w)
	}
}

func writeWindowCall(d *deparser, c *query.WindowCall) {
	d.put(d.procName(c.Proc), "(")
	if c.Star {
		d.put("*")
	}
	d.list(c.Args)
	d.put(")")
	d.filter(c.Filter)
	if len(d.queries) == 0 {
		d.put(" OVER (?)")
		return
	}
	d.put(" OVER ")
	w := &d.queries[len(d.queries)-1].q.Windows[c.Window]
	if w.Form != nil && w.Form.Name != "" {
		d.put(builtin.QuoteIdent(w.Form.Name))
		return
	}
	writeWindow(d, w)
}

// writeWindow writes a window's definition (get_rule_windowspec).
func writeWindow(d *deparser, w *query.Window) {
	d.put("(")
	space := ""
	form := w.Form
	if form == nil {
		form = &query.WindowForm{}
	}
	if form.Ref != "" {
		d.put(builtin.QuoteIdent(form.Ref))
		space = " "
	}
	if len(w.Partition) > 0 && form.Ref == "" {
		d.put(space, "PARTITION BY ")
		for i, e := range w.Partition {
			d.comma(i)
			d.sortKey(e)
		}
		space = " "
	}
	if len(w.Order) > 0 && !form.Copied {
		d.put(space, "ORDER BY ")
		for i, o := range w.Order {
			d.comma(i)
			d.sortKey(o.Expr)
			d.direction(o.Desc, o.NullsFirst)
		}
		space = " "
	}
	writeFrame(d, &w.Frame, space)
	d.put(")")
}

// Bits of Frame.Options, as FRAMEOPTION_* of PostgreSQL.
const (
	frameNonDefault     = 0x00001
	frameRange          = 0x00002
	frameRows           = 0x00004
	frameGroups         = 0x00008
	frameBetween        = 0x00010
	frameExcludeCurrent = 0x08000
	frameExcludeGroup   = 0x10000
	frameExcludeTies    = 0x20000
)

// frameBounds are the bits of the bounds, and their words: of the start and of the end.
var frameBounds = [2][]struct {
	bit  int
	word string // after an offset, if the word begins with a space
}{
	{{0x20, "UNBOUNDED PRECEDING"}, {0x80, "UNBOUNDED FOLLOWING"}, {0x200, "CURRENT ROW"}, {0x800, " PRECEDING"},
		{0x2000, " FOLLOWING"}},
	{{0x40, "UNBOUNDED PRECEDING"}, {0x100, "UNBOUNDED FOLLOWING"}, {0x400, "CURRENT ROW"}, {0x1000, " PRECEDING"},
		{0x4000, " FOLLOWING"}},
}

func writeFrame(d *deparser, f *query.Frame, space string) {
	o := f.Options
	if o&frameNonDefault == 0 {
		return
	}
	d.put(space)
	switch {
	case o&frameRange != 0:
		d.put("RANGE ")
	case o&frameRows != 0:
		d.put("ROWS ")
	case o&frameGroups != 0:
		d.put("GROUPS ")
	}
	if o&frameBetween != 0 {
		d.put("BETWEEN ")
	}
	writeFrameBound(d, o, 0, f.Start)
	if o&frameBetween != 0 {
		d.put(" AND ")
		writeFrameBound(d, o, 1, f.End)
	}
	switch {
	case o&frameExcludeCurrent != 0:
		d.put(" EXCLUDE CURRENT ROW")
	case o&frameExcludeGroup != 0:
		d.put(" EXCLUDE GROUP")
	case o&frameExcludeTies != 0:
		d.put(" EXCLUDE TIES")
	}
}

func writeFrameBound(d *deparser, options, side int, offset query.Expr) {
	for _, b := range frameBounds[side] {
		if options&b.bit == 0 {
			continue
		}
		if b.word[0] == ' ' {
			d.expr(offset, false)
		}
		d.put(b.word)
		return
	}
}

// writeGrouping writes GROUPING(…).
func writeGrouping(d *deparser, g *query.Grouping) {
	if len(d.queries) == 0 {
		d.put("GROUPING")
		return
	}
	d.put("GROUPING(")
	for i, k := range g.Args {
		d.comma(i)
		d.expr(d.queries[len(d.queries)-1].q.GroupBy[k], true)
	}
	d.put(")")
}
