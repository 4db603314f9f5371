package tablestats

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/statistics"
)

// Known returns what is known of tables.
type Known struct{ Sizes *Sizes }

// Of returns what is known of a table; nil: nothing.
func (k Known) Of(view *catalog.View, t *catalog.Table) *statistics.Table {
	d := view.Database(t.Database)
	if d == nil {
		return nil
	}
	var out *statistics.Table
	if size, ok := k.Sizes.Of(d, t.StorageID); ok {
		out = out.Sized(float64(size.Rows), float64(size.Bytes))
	}
	return out
}
