package sysview

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/rowsecurity"
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
		if me == nil || !s.readable(me) {
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

// readable reports whether a role may read the column in all rows. Expressions of indexes are for owners.
func (s *statistic) readable(me *privilege.Subject) bool {
	c := s.table.ColumnByNum(s.Position)
	if s.Index != 0 || c == nil {
		return me.Acts(s.table.Owner) && !rowsecurity.Active(s.table, me)
	}
	return me.HasColumn(s.table, c, acl.Select) && !rowsecurity.Active(s.table, me)
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

// extended returns a statistics object of the database and its table, nil if there is none.
func extended(n *Names, oid uint32) (*catalog.Table, *catalog.ExtendedStatistics) {
	if t, x := catalog.ExtendedByOID(n.View, oid); t != nil && t.Database == n.Database.OID {
		return t, x
	}
	return nil, nil
}

// extendedIn returns a function that finds a statistics object in a schema.
func extendedIn(n *Names) func(schema, name string) uint32 {
	return func(schema, name string) uint32 {
		s := n.View.SchemaByName(n.Database.OID, schema)
		if s == nil {
			return 0
		}
		if _, x := catalog.ExtendedByName(n.View, s.OID, name); x != nil {
			return x.OID
		}
		return 0
	}
}

// StatisticsDef returns a statistics object as pg_get_statisticsobjdef does; with columnsOnly, as
// pg_get_statisticsobjdef_columns.
func StatisticsDef(n *Names, oid uint32, columnsOnly bool) (string, bool) {
	t, x := extended(n, oid)
	if t == nil {
		return "", false
	}
	var keys []string
	for _, att := range x.Columns {
		keys = append(keys, columnList(t, []int16{att}))
	}
	for _, text := range x.Expressions {
		if text = n.Expression(t.OID, text, true); callName(text) == "" {
			text = "(" + text + ")"
		}
		keys = append(keys, text)
	}
	columns := strings.Join(keys, ", ")
	if columnsOnly {
		return columns, true
	}
	schema, _ := n.SchemaName(x.Schema)
	out := "CREATE STATISTICS " + n.qualify(schema, x.Name, false)
	if len(x.Kinds) > 0 && len(x.Kinds) < len(catalog.StatisticsKinds) {
		var kinds []string
		for _, k := range x.Kinds {
			kinds = append(kinds, kindNames[k])
		}
		out += " (" + strings.Join(kinds, ", ") + ")"
	}
	schema, _ = n.SchemaName(t.Schema)
	visible := n.first([]string{t.Name}, n.relationIn) == t.OID
	return out + " ON " + columns + " FROM " + n.qualify(schema, t.Name, visible), true
}

var kindNames = map[catalog.StatisticsKind]string{
	catalog.NDistinct: "ndistinct", catalog.Dependencies: "dependencies", catalog.CommonValues: "mcv",
}

// StatisticsExpressions returns the expressions of a statistics object as
// pg_get_statisticsobjdef_expressions does; ok is false if there are none.
func StatisticsExpressions(n *Names, oid uint32) (list []string, ok bool) {
	t, x := extended(n, oid)
	if t == nil {
		return nil, false
	}
	for _, text := range x.Expressions {
		list = append(list, n.Expression(t.OID, text, false))
	}
	return list, len(list) > 0
}

func pgStatisticExt(b *builder) error {
	return b.tables(func(t *catalog.Table) error {
		for i := range t.Statistics {
			x := &t.Statistics[i]
			r := b.row().oid("oid", x.OID).oid("stxrelid", t.OID).text("stxname", x.Name).
				oid("stxnamespace", x.Schema).oid("stxowner", x.Owner).
				int("stxstattarget", int64(x.StatisticsTarget())).
				numbers("stxkeys", x.Columns).set("stxkind", charArray(kindLetters(x)))
			if len(x.Expressions) > 0 {
				r.text("stxexprs", strings.Join(x.Expressions, ", "))
			}
			if err := r.send(); err != nil {
				return err
			}
		}
		return nil
	})
}

// together is what ANALYZE has found of a statistics object.
type together struct {
	*catalog.ExtendedStatistics
	table       *catalog.Table
	analyzed    bool
	several     *statistics.Extended // nil: nothing of several members
	expressions []*statistic         // nil: of that expression, nothing is known
}

// together calls f for the statistics objects.
func (e *Env) together(b *builder, f func(x *together) error) error {
	return b.tables(func(t *catalog.Table) error {
		var known *statistics.Table
		if len(t.Statistics) > 0 {
			known = e.Analyzed(t)
		}
		for i := range t.Statistics {
			x := &together{ExtendedStatistics: &t.Statistics[i], table: t}
			x.several = known.Extended(x.OID)
			x.analyzed = x.several != nil
			for k := range x.Expressions {
				c := known.Column(statistics.Key{Index: x.OID, Position: int16(k + 1)})
				if c == nil {
					x.expressions = append(x.expressions, nil)
					continue
				}
				x.analyzed = true
				coll := collationOf(&catalog.Column{Type: c.Type})
				x.expressions = append(x.expressions, &statistic{Column: c, table: t, collation: coll})
			}
			if err := f(x); err != nil {
				return err
			}
		}
		return nil
	})
}

// number returns a member as pg_ndistinct and pg_dependencies name it: the number of a column, or
// that of an expression below 0.
func (x *together) number(member int) string {
	k := x.several.Members[member].Key
	if k.Index != 0 {
		return strconv.Itoa(-int(k.Position))
	}
	return strconv.Itoa(int(k.Position))
}

func (x *together) numbers(set statistics.Set) string {
	var out []string
	for i := range x.several.Members {
		if set.Has(i) {
			out = append(out, x.number(i))
		}
	}
	return strings.Join(out, ", ")
}

// ndistinct returns the text of a pg_ndistinct, null if there is none.
func (x *together) ndistinct() types.Datum {
	if x.several == nil || len(x.several.Combinations) == 0 {
		return types.Null
	}
	var out []string
	for _, c := range x.several.Combinations {
		out = append(out, fmt.Sprintf(`"%s": %.0f`, x.numbers(c.Members), c.Distinct))
	}
	return types.NewText("{" + strings.Join(out, ", ") + "}")
}

// dependencies returns the text of a pg_dependencies, null if there is none.
func (x *together) dependencies() types.Datum {
	if x.several == nil || len(x.several.Dependencies) == 0 {
		return types.Null
	}
	var out []string
	for _, d := range x.several.Dependencies {
		out = append(out, fmt.Sprintf(`"%s => %s": %f`, x.numbers(d.From), x.number(d.To), d.Degree))
	}
	return types.NewText("{" + strings.Join(out, ", ") + "}")
}

func pgStatisticExtData(b *builder) error {
	if b.secret() {
		return permission("table", "pg_statistic_ext_data")
	}
	return b.env.together(b, func(x *together) error {
		if !x.analyzed {
			return nil
		}
		r := b.row().oid("stxoid", x.OID).bool("stxdinherit", false).set("stxdndistinct", x.ndistinct()).
			set("stxddependencies", x.dependencies())
		if list := x.common(b.env.Types); list != nil {
			r.set("stxdmcv", builtin.CommonRows(list))
		}
		return r.send()
	})
}

// start begins a row of pg_stats_ext or pg_stats_ext_exprs; nil if the role may not read the table.
func (x *together) start(b *builder) *record {
	if me := b.env.Role; me == nil || !me.Acts(x.table.Owner) || rowsecurity.Active(x.table, me) {
		return nil
	}
	schema, _ := b.env.SchemaName(x.table.Schema)
	own, _ := b.env.SchemaName(x.Schema)
	owner := ""
	if r := b.env.View.Role(x.Owner); r != nil {
		owner = r.Name
	}
	r := b.row().text("schemaname", schema).text("tablename", x.table.Name).text("statistics_schemaname", own).
		text("statistics_name", x.Name).text("statistics_owner", owner)
	if x.analyzed {
		r.bool("inherited", false)
	}
	return r
}

func pgStatsExt(b *builder) error {
	return b.env.together(b, func(x *together) error {
		r := x.start(b)
		if r == nil || !x.analyzed {
			return nil
		}
		var names []string
		for _, att := range x.Columns {
			names = append(names, x.table.ColumnByNum(att).Name)
		}
		if names != nil {
			r.texts("attnames", names)
		}
		if list, ok := StatisticsExpressions(&b.env.Names, x.OID); ok {
			r.texts("exprs", list)
		}
		r.set("kinds", charArray(kindLetters(x.ExtendedStatistics))).set("n_distinct", x.ndistinct()).
			set("dependencies", x.dependencies())
		list := x.common(b.env.Types)
		for i, d := range list {
			r.set([]string{
				"most_common_vals", "most_common_val_nulls", "most_common_freqs", "most_common_base_freqs",
			}[i], d)
		}
		return r.send()
	})
}

// common returns the common rows as arrays: the texts of their values and which of them are null, both
// of two dimensions, their shares, and those of independent members; nil if there are none.
func (x *together) common(env *types.Env) []types.Datum {
	if x.several == nil || len(x.several.Common) == 0 {
		return nil
	}
	var values, nulls, shares, base []types.Datum
	for _, c := range x.several.Common {
		for i, v := range c.Values {
			text := types.Null
			if !v.IsNull() {
				text = types.NewText(types.Output(x.several.Members[i].Type, v, env))
			}
			values, nulls = append(values, text), append(nulls, types.NewBool(v.IsNull()))
		}
		shares, base = append(shares, types.NewFloat8(c.Frac)), append(base, types.NewFloat8(c.Base))
	}
	dims := []int32{int32(len(x.several.Common)), int32(len(x.several.Members))}
	return []types.Datum{
		types.NewArray(types.Text, dims, nil, values), types.NewArray(types.Bool, dims, nil, nulls),
		types.NewList(types.Float8, shares), types.NewList(types.Float8, base),
	}
}

func pgStatsExtExprs(b *builder) error {
	return b.env.together(b, func(x *together) error {
		list, _ := StatisticsExpressions(&b.env.Names, x.OID)
		for i, s := range x.expressions {
			r := x.start(b)
			if r == nil || i >= len(list) {
				continue
			}
			r.text("expr", list[i])
			if s != nil {
				r.real("null_frac", s.NullFrac).int("avg_width", s.width()).real("n_distinct", s.Distinct).
					set("most_common_vals", s.common(b.env.Types)).set("most_common_freqs", s.frequencies()).
					set("histogram_bounds", s.list(s.Bounds, b.env.Types))
				if s.Ordered {
					r.real("correlation", s.Correlation)
				}
			}
			if err := r.send(); err != nil {
				return err
			}
		}
		return nil
	})
}

// kindLetters returns what a statistics object computes, as pg_statistic_ext.stxkind.
func kindLetters(x *catalog.ExtendedStatistics) string {
	var out []byte
	for _, k := range x.Kinds {
		out = append(out, byte(k))
	}
	if len(x.Expressions) > 0 {
		out = append(out, 'e')
	}
	return string(out)
}
