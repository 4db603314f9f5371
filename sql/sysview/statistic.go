package sysview

import (
	"fmt"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
)

// statistic is what ANALYZE has found of a column of a table, or of an expression in an index.
type statistic struct {
	*statistics.Column
	table     *catalog.Table
	relation  uint32 // the table or the index
	name      string // of the relation
	column    string
	collation uint32
}

// statistics calls f for all that ANALYZE has stored of the database's tables.
func (e *Env) statistics(b *builder, f func(s *statistic) error) error {
	return b.tables(func(t *catalog.Table) error {
		known := e.Analyzed(t)
		if known == nil {
			return nil
		}
		for i := range known.Columns {
			s := &statistic{Column: &known.Columns[i], table: t}
			if !e.name(s) {
				continue
			}
			if err := f(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// name sets whose statistic it is. It reports whether that exists.
func (e *Env) name(s *statistic) bool {
	if s.Index == 0 {
		c := s.table.ColumnByNum(s.Position)
		if c == nil || c.Dropped {
			return false
		}
		s.relation, s.name, s.column, s.collation = s.table.OID, s.table.Name, c.Name, collationOf(c)
		return true
	}
	ix := s.table.Index(s.Index)
	if ix == nil {
		return false
	}
	columns := e.indexColumns(s.table, ix)
	if int(s.Position) > len(columns) {
		return false
	}
	c := columns[s.Position-1]
	s.relation, s.name, s.column, s.collation = ix.OID, ix.Name, c.name, c.coll
	return true
}

// The kinds of statistics in the slots of pg_statistic.
const (
	commonKind      = 1
	boundsKind      = 2
	correlationKind = 3
)

func pgStatistic(b *builder) error {
	if b.secret() {
		return permission("table", "pg_statistic")
	}
	return b.env.statistics(b, func(s *statistic) error {
		r := b.row().oid("starelid", s.relation).int("staattnum", int64(s.Position)).real("stanullfrac", s.NullFrac).
			int("stawidth", s.width()).real("stadistinct", s.Distinct)
		ops, n := pgcatalog.SortOpsOf(s.Type), 0
		slot := func(kind int64, op *pgcatalog.Operator, numbers, values types.Datum) {
			n++
			at := func(column string) string { return fmt.Sprintf("%s%d", column, n) }
			r.int(at("stakind"), kind).oid(at("staop"), op.OID).oid(at("stacoll"), s.collation).
				set(at("stanumbers"), numbers).set(at("stavalues"), values)
		}
		if ops == nil {
			return r.send()
		}
		if len(s.Common) > 0 {
			slot(commonKind, ops.Eq, s.frequencies(), s.common(b.env.Types))
		}
		if len(s.Bounds) > 0 {
			slot(boundsKind, ops.Lt, types.Null, s.list(s.Bounds, b.env.Types))
		}
		if s.Ordered {
			slot(correlationKind, ops.Lt, reals(s.Correlation), types.Null)
		}
		return r.send()
	})
}

// pgStats lists statistics of tables that the role may read.
func pgStats(b *builder) error {
	me := b.env.Role
	return b.env.statistics(b, func(s *statistic) error {
		if me == nil || !me.Owns(b.env.Database, s.table.Owner) {
			return nil
		}
		schema, _ := b.env.SchemaName(s.table.Schema)
		r := b.row().text("schemaname", schema).text("tablename", s.name).text("attname", s.column).
			bool("inherited", false).real("null_frac", s.NullFrac).int("avg_width", s.width()).
			real("n_distinct", s.Distinct).set("most_common_vals", s.common(b.env.Types)).
			set("most_common_freqs", s.frequencies()).set("histogram_bounds", s.list(s.Bounds, b.env.Types))
		if s.Ordered {
			r.real("correlation", s.Correlation)
		}
		return r.send()
	})
}

func (s *statistic) common(env *types.Env) types.Datum {
	values := make([]types.Datum, len(s.Common))
	for i, v := range s.Common {
		values[i] = v.Value
	}
	return s.list(values, env)
}

// list returns values of the column as an array, null if there are none. Arrays are in it as texts,
// because an array of arrays would be one of two dimensions.
func (s *statistic) list(values []types.Datum, env *types.Env) types.Datum {
	switch {
	case len(values) == 0:
		return types.Null
	case types.KindOf(s.Type) != types.KindArray:
		return types.NewList(s.Type, values)
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = types.Output(s.Type, v, env)
	}
	return types.NewTextArray(texts)
}

func (s *statistic) frequencies() types.Datum {
	if len(s.Common) == 0 {
		return types.Null
	}
	list := make([]float64, len(s.Common))
	for i, v := range s.Common {
		list[i] = v.Frac
	}
	return reals(list...)
}

// Bytes of a header of a value of variable size, and up to which size the header is short.
const (
	shortHeader, longHeader = 1, 4
	maxShort                = 126
)

// width returns the average bytes of a value as PostgreSQL stores it: with a header if the size varies.
func (s *statistic) width() int64 {
	if t := pgcatalog.TypeByOID(s.Type); t != nil && t.Len > 0 {
		return int64(t.Len)
	}
	switch {
	case s.NullFrac == 1:
		return 0
	case s.Width > maxShort || s.Index != 0: // what is computed has no short header
		return int64(s.Width + longHeader)
	}
	return int64(s.Width + shortHeader)
}

func reals(list ...float64) types.Datum {
	out := make([]types.Datum, len(list))
	for i, x := range list {
		out[i] = types.NewFloat4(float32(x))
	}
	return types.NewList(types.Float4, out)
}

func (r *record) real(column string, v float64) *record {
	return r.set(column, types.NewFloat4(float32(v)))
}
