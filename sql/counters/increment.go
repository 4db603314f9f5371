package counters

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// increment is a statement that only adds to counters of the one document that it names: an UPDATE
// without RETURNING, or the DO UPDATE of an INSERT whose row would be the document. It adds to one
// part if the document is split and the sum is certain to fit. Otherwise the statement runs as it
// is.
type increment struct {
	table   *catalog.Table
	key     query.Expr
	adds    []addition
	notNull []query.Expr // of an INSERT: must not be null, which is checked before the conflict
	program *stmt.Program
}

// addition is what is added to one counter.
type addition struct {
	counter  int // position in Hot.Counters
	amount   query.Expr
	negative bool
	whole    bool        // the amount has to be a whole number
	limit    types.OID   // the narrowest type on the way, 0 for numeric
	most     types.Datum // its largest value
}

// findIncrement notes whether the program is an increment.
func (s *step) findIncrement(view *catalog.View, p *stmt.Program) error {
	inc := incrementOf(p.Query, p.Plan.Root)
	if inc == nil || len(s.tables) != 1 || s.tables[0].def.OID != inc.table.OID {
		return nil
	}
	for i := range inc.adds {
		inc.adds[i].most = largest(inc.adds[i].limit)
	}
	var err error
	if inc.program, err = incrementProgram(view, s.tables[0], inc.adds); err == nil {
		s.increment = inc
	}
	return err
}

// largest is the largest value of a type, and for numeric a value larger than any counter.
func largest(oid types.OID) types.Datum {
	switch oid {
	case types.Int2:
		return types.NumericFromInt(math.MaxInt16)
	case types.Int4:
		return types.NumericFromInt(math.MaxInt32)
	case types.Int8:
		return types.NumericFromInt(math.MaxInt64)
	}
	d, _ := types.ParseNumeric("1e100")
	return d
}

// incrementProgram adds to a part. No part may hold more of a counter than its share of the range
// that the document's own number leaves. So the sum fits, whatever the other parts hold.
func incrementProgram(view *catalog.View, t *splitTable, adds []addition) (*stmt.Program, error) {
	var set, where []string
	params := []types.OID{types.Int8, types.Numeric}
	for _, a := range adds {
		n := len(params)
		params = append(params, types.Numeric, types.Numeric)
		set = append(set, fmt.Sprintf("c%d = c%d + $%d", a.counter, a.counter, n+1))
		where = append(where,
			fmt.Sprintf(" AND abs(c%d + $%d) * $2 <= $%d - abs(b%d)", a.counter, n+1, n+2, a.counter))
	}
	text := fmt.Sprintf("UPDATE %s SET %s WHERE k = $1%s",
		stmt.TableName(view, t.parts), strings.Join(set, ", "), strings.Join(where, ""))
	return stmt.HiddenProgram(view, t.def.Database, text, params...)
}

// add runs an increment; done is false if the statement has to run as it is.
func (r *run) add(inc *increment) (done bool, err error) {
	c := r.c
	docs, err := r.documents(inc.table, []keys{{tuple: []query.Expr{inc.key}}}, false)
	if err != nil || len(docs) == 0 || c.Limits.ReadOnly {
		return false, err
	}
	doc := docs[0]
	for _, e := range inc.notNull {
		if d, err := r.evaluate(e); err != nil || d.IsNull() {
			return false, err
		}
	}
	// A session always adds to the same part, so that a transaction that adds twice cannot
	// deadlock.
	part := doc.Parts[int(r.x.PID)%len(doc.Parts)]
	args := []types.Datum{types.NewInt(part), types.NumericFromInt(int64(len(doc.Parts)))}
	for _, a := range inc.adds {
		n, ok, err := r.amount(a)
		if err != nil || !ok || !slices.Contains(doc.Counters, int32(a.counter)) {
			return false, err
		}
		args = append(args, n, a.most)
	}
	n, err := r.x.Run(c.Context, r.t, inc.program, args, nil)
	if err != nil {
		return false, err
	}
	c.Affected = n
	return n == 1, nil
}

// amount evaluates what is to be added.
func (r *run) amount(a addition) (n types.Datum, ok bool, err error) {
	d, err := r.evaluate(a.amount)
	if err != nil {
		return d, false, err
	}
	switch d.K {
	case types.KindInt:
		n = types.NumericFromInt(d.N)
	case types.KindNumeric:
		n = d
	default:
		return d, false, nil
	}
	if scale, finite := types.NumericScale(n); !finite || a.whole && scale > 0 {
		return d, false, nil
	}
	if a.negative {
		n = types.NumericNeg(n)
	}
	return n, true, nil
}

// incrementOf recognises an increment, nil: it is something else.
func incrementOf(q *query.Query, root plan.Node) *increment {
	if q.Returning || len(q.CTEs) > 0 || len(q.Currents) > 0 {
		return nil
	}
	def := (*catalog.Table)(nil)
	if q.Command == query.Update || q.Command == query.Insert {
		def = q.Rels[q.Result].Table
	}
	if def == nil || len(q.Rels[q.Result].Security) > 0 { // which the parts do not meet or fail
		return nil
	}
	if !def.Hot.Splits() || def.PrimaryKey() == nil || len(def.PrimaryKey().Columns) != 1 {
		return nil
	}
	if q.Command == query.Insert {
		return insertedIncrement(q, root, def)
	}
	key := keyOfUpdate(q, root, def)
	if key == nil {
		return nil
	}
	inc := &increment{table: def, key: key}
	m := matcher{def: def, rel: q.Result}
	if inc.adds = m.assignments(q.Assign); inc.adds == nil {
		return nil
	}
	return inc
}

// keyOfUpdate returns the key of an UPDATE of one table whose WHERE only compares the key.
func keyOfUpdate(q *query.Query, root plan.Node, def *catalog.Table) query.Expr {
	where, ok := q.Where.(*query.Call)
	if !ok || where.Op != "=" || len(q.From) > 0 || len(q.Rels) != 1 {
		return nil
	}
	scans := scansOf(root, def)
	if len(scans) != 1 {
		return nil
	}
	list := keysOf(scans[0])
	if len(list) != 1 || list[0].array != nil {
		return nil
	}
	return list[0].tuple[0]
}

// insertedIncrement recognises INSERT … VALUES (…) ON CONFLICT (key) DO UPDATE SET counter =
// counter + …. A split document exists, so the row is not inserted. Checks that would refuse the
// row before the conflict is found must not exist, or must pass.
func insertedIncrement(q *query.Query, root plan.Node, def *catalog.Table) *increment {
	oc := q.OnConflict
	m, ok := root.(*plan.Modify)
	if !ok || oc == nil || !oc.Update || !oc.Primary || len(oc.Indexes) > 0 || oc.Where != nil ||
		def.Policy != nil || len(q.Checks) > 0 {
		return nil
	}
	rows, ok := inserted(m)
	if !ok || len(rows) != 1 || !rowless(rows[0]...) {
		return nil
	}
	inc := &increment{table: def, key: rows[0][def.PrimaryKey().Columns[0]-1]}
	for i, c := range def.Columns {
		if c.NotNull && !c.Dropped {
			inc.notNull = append(inc.notNull, rows[0][i])
		}
	}
	x := matcher{def: def, rel: q.Result, excluded: oc.Excluded, row: rows[0]}
	if inc.adds = x.assignments(oc.Assign); inc.adds == nil {
		return nil
	}
	return inc
}

// matcher recognises what adds to counters of a table.
type matcher struct {
	def      *catalog.Table
	rel      int          // of the existing row
	excluded int          // of the proposed row
	row      []query.Expr // that row; nil: there is none
}

func (m *matcher) assignments(as []query.Assignment) []addition {
	var out []addition
	for _, a := range as {
		adds := m.assignment(a)
		if adds == nil {
			return nil
		}
		for _, x := range adds {
			if slices.ContainsFunc(out, func(o addition) bool { return o.counter == x.counter }) {
				return nil
			}
			out = append(out, x)
		}
	}
	return out
}

func (m *matcher) assignment(a query.Assignment) []addition {
	counter := m.counter(a.Col, nil)
	if counter < 0 {
		return m.document(a.Col, a.Expr)
	}
	col := &m.def.Columns[a.Col]
	e := integerCasts(a.Expr)
	x, ok := m.sum(e, func(e query.Expr) (types.OID, bool) {
		return col.Type, m.isColumn(integerCasts(e), a.Col)
	})
	if !ok || isInteger(col.Type) != isInteger(e.Type()) {
		return nil
	}
	x.counter, x.limit = counter, 0
	if isInteger(col.Type) {
		x.limit = col.Type
	}
	return []addition{x}
}

// counter finds a counter by column position and path, -1: it is none.
func (m *matcher) counter(column int, path []string) int {
	return slices.IndexFunc(m.def.Hot.Counters, func(c catalog.Counter) bool {
		return c.Equal(catalog.Counter{Column: m.def.Columns[column].AttNum, Path: path})
	})
}

func (m *matcher) isColumn(e query.Expr, column int) bool {
	v, ok := e.(*query.Var)
	return ok && v.Up == 0 && v.Rel == m.rel && v.Col == column
}

func isInteger(oid types.OID) bool {
	return oid == types.Int2 || oid == types.Int4 || oid == types.Int8
}

// integerCasts takes casts between integers off an expression.
func integerCasts(e query.Expr) query.Expr {
	for {
		c, ok := e.(*query.Call)
		if !ok || c.Cast == 0 || len(c.Args) != 1 || !isInteger(c.Type()) || !isInteger(c.Args[0].Type()) {
			return e
		}
		e = c.Args[0]
	}
}

// sum recognises value + amount, amount + value and value - amount. value reports whether an
// expression is the counter as it was, and its type.
func (m *matcher) sum(e query.Expr, value func(query.Expr) (types.OID, bool)) (addition, bool) {
	c, ok := e.(*query.Call)
	if !ok || len(c.Args) != 2 || c.Op != "+" && c.Op != "-" || !isInteger(c.Type()) && c.Type() != types.Numeric {
		return addition{}, false
	}
	first, second := c.Args[0], c.Args[1]
	if c.Op == "+" {
		if _, ok := value(unCoalesced(first)); !ok {
			first, second = second, first
		}
	}
	limit, ok := value(unCoalesced(first))
	amount := m.proposed(second)
	if !ok || amount == nil || !rowless(amount) {
		return addition{}, false
	}
	return addition{amount: amount, negative: c.Op == "-", limit: narrower(limit, c.Type())}, true
}

// unCoalesced returns x for COALESCE(x, constant): a counter that is added to in parts is not null.
func unCoalesced(e query.Expr) query.Expr {
	if c, ok := e.(*query.Coalesce); ok && len(c.Args) == 2 && rowless(c.Args[1]) {
		return c.Args[0]
	}
	return e
}

// proposed replaces EXCLUDED by the values of the proposed row.
func (m *matcher) proposed(e query.Expr) query.Expr {
	if m.row == nil {
		return e
	}
	return query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
		if v, ok := x.(*query.Var); ok && v.Up == 0 && v.Rel == m.excluded && v.Col >= 0 && v.Col < len(m.row) {
			return m.row[v.Col], true
		}
		return nil, false
	})
}

// narrower returns the integer type with the smaller range, 0 if both are numeric.
func narrower(a, b types.OID) types.OID {
	width := func(oid types.OID) int {
		return slices.Index([]types.OID{types.Int2, types.Int4, types.Int8}, oid)
	}
	switch x, y := width(a), width(b); {
	case x < 0 && y < 0:
		return 0
	case x < 0:
		return b
	case y < 0 || x < y:
		return a
	}
	return b
}
