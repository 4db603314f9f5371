package tablestats

import (
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
)

// Known returns what is known of tables: their sizes now, and what their last ANALYZE has stored in
// the catalog. It is safe for concurrent use.
type Known struct {
	Sizes *Sizes

	mu      sync.Mutex
	decoded map[catalog.OID]decoded
}

// decoded is the statistics of a table, for a state of its definition.
type decoded struct {
	from  *catalog.Statistics
	table *catalog.Table
	stats *statistics.Table
}

// maxDecoded bounds what is kept decoded.
const maxDecoded = 2048

// Of returns what is known of a table; nil: nothing.
func (k *Known) Of(view *catalog.View, t *catalog.Table) *statistics.Table {
	d := view.Database(t.Database)
	if d == nil {
		return nil
	}
	out := k.analyzed(view, t)
	if size, ok := k.Sizes.Of(d, t.StorageID); ok {
		out = out.Sized(float64(size.Rows), float64(size.Bytes))
	}
	return out
}

// analyzed returns what the last ANALYZE of a table has found; nil: there was none.
func (k *Known) analyzed(view *catalog.View, t *catalog.Table) *statistics.Table {
	stored := catalog.StatisticsOf(view, t.OID)
	if stored == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if d, ok := k.decoded[t.OID]; ok && d.from == stored && d.table == t {
		return d.stats
	}
	if k.decoded == nil || len(k.decoded) >= maxDecoded {
		k.decoded = map[catalog.OID]decoded{}
	}
	stats := Stored(view, t)
	k.decoded[t.OID] = decoded{stored, t, stats}
	return stats
}

// Stored returns what the catalog has of a table, without columns and expressions that it does not
// have any more, or that have another type now; nil: it was never analyzed. Damaged statistics are
// as none.
func Stored(view *catalog.View, t *catalog.Table) *statistics.Table {
	s := catalog.StatisticsOf(view, t.OID)
	if s == nil {
		return nil
	}
	out, err := statistics.Decode(s.Encoded)
	if err != nil {
		return nil
	}
	return out.Merge(&statistics.Table{
		Rows: out.Rows, Bytes: out.Bytes, Analyzed: out.Analyzed, AnalyzedRows: out.AnalyzedRows,
		Manual: out.Manual, Automatic: out.Automatic, Written: out.Written,
	}, appliesTo(t))
}

// LastAnalysis is Stored without columns. It costs little.
func LastAnalysis(view *catalog.View, t *catalog.Table) *statistics.Table {
	s := catalog.StatisticsOf(view, t.OID)
	if s == nil {
		return nil
	}
	out, err := statistics.DecodeHead(s.Encoded)
	if err != nil {
		return nil
	}
	return out
}

// appliesTo reports whether statistics are of columns, expressions and statistics objects of a table.
func appliesTo(t *catalog.Table) statistics.Applies {
	return statistics.Applies{
		Column:   func(c *statistics.Column) bool { return isIn(t, c.Key, c.Type) },
		Extended: func(x *statistics.Extended) bool { return extends(t, x) },
	}
}

// isIn reports whether a table has a column, or an expression in an index or a statistics object.
func isIn(t *catalog.Table, k statistics.Key, oid types.OID) bool {
	if k.Index == 0 {
		col := t.ColumnByNum(k.Position)
		return col != nil && !col.Dropped && types.KindOf(col.Type) == types.KindOf(oid) && col.Type == oid
	}
	if x := t.Index(k.Index); x != nil {
		return k.Position >= 1 && int(k.Position) <= len(x.Columns) && x.Columns[k.Position-1] == 0
	}
	x := t.Extended(k.Index)
	return x != nil && k.Position >= 1 && int(k.Position) <= len(x.Expressions)
}

// extends reports whether a table has a statistics object with these members.
func extends(t *catalog.Table, x *statistics.Extended) bool {
	of := t.Extended(x.Object)
	if of == nil || len(x.Members) != len(of.Columns)+len(of.Expressions) {
		return false
	}
	for i, k := range Members(of) {
		if x.Members[i].Key != k || !isIn(t, k, x.Members[i].Type) {
			return false
		}
	}
	return true
}

// Members returns the columns and the expressions of a statistics object, as statistics name them.
func Members(x *catalog.ExtendedStatistics) (out []statistics.Key) {
	for _, n := range x.Columns {
		out = append(out, statistics.Key{Position: n})
	}
	for i := range x.Expressions {
		out = append(out, statistics.Key{Index: x.OID, Position: int16(i + 1)})
	}
	return out
}

// Run is a run of ANALYZE on a table.
type Run struct {
	Found     *statistics.Table
	Part      bool // of some columns only, as the client said
	Automatic bool // no client asked for it
}

// Merged returns what the catalog is to have of a table after a run of ANALYZE: what that has found,
// and what was known of columns that it has not read, or found no rows of.
func (r Run) Merged(view *catalog.View, t *catalog.Table) *catalog.Statistics {
	found := *r.Found
	before := Stored(view, t)
	if before != nil {
		found.Manual, found.Automatic = before.Manual, before.Automatic
	}
	if r.Part { // the other columns are as old as they were
		found.AnalyzedRows, found.Written = 0, nil
		if before != nil {
			found.AnalyzedRows, found.Written = before.AnalyzedRows, before.Written
		}
	}
	if r.Automatic {
		found.Automatic = found.Automatic.Next(found.Analyzed)
	} else {
		found.Manual = found.Manual.Next(found.Analyzed)
	}
	all := before.Merge(&found, appliesTo(t))
	return &catalog.Statistics{Table: t.OID, Encoded: all.Encode()}
}
