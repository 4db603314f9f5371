package exec_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/query/querytest"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// fill inserts n orders of different states and numbers.
func fill(d *database, table *catalog.Table, n int) {
	d.t.Helper()
	v := &plan.Values{Base: cols(orderTypes...)}
	for i := range n {
		v.Rows = append(v.Rows, []query.Expr{
			querytest.Lit(d.t, types.Text, fmt.Sprintf("orders/%d-A", i)),
			&query.Const{T: query.Of(types.JSONB), Value: doc(d.t, fmt.Sprintf(`{"State":"S%d","Total":%d.5}`, i%7, i))},
			querytest.Lit(d.t, types.Int4, fmt.Sprint(i)),
		})
	}
	_, affected, err := d.exec(&plan.Modify{Kind: plan.ModInsert, Table: table, Child: v})
	if err != nil || affected != int64(n) {
		d.t.Fatalf("%d rows, %v", affected, err)
	}
}

// TestSameAnswers runs the same plans on 1, 3 and 8 fragments.
func TestSameAnswers(t *testing.T) {
	state := querytest.Op(t, "->>", querytest.Slot(1, types.JSONB), querytest.Lit(t, types.Text, "State"))
	var first []string
	for _, n := range []int{1, 3, 8} {
		d := openDatabase(t, n)
		table := orders()
		fill(d, table, 300)
		var got []string
		note := func(n plan.Node) { got = append(got, show(n, d.must(n))) }

		note(sorted(allOrders(table, querytest.Op(t, "<", querytest.Slot(2, types.Int4), querytest.Lit(t, types.Int4, "20"))), 0))

		keys := []plan.SortKey{{Slot: 2, Type: types.Int4, Desc: true}}
		top := allOrders(table, nil)
		top.Merge = keys
		top.Child = &plan.Sort{Base: top.Base, Child: top.Child, Keys: keys, Limit: querytest.Lit(t, types.Int8, "5")}
		note(&plan.Limit{Base: top.Base, Child: top, Count: querytest.Lit(t, types.Int8, "5")})

		byKey := allOrders(table, nil)
		s := byKey.Child.(*plan.Scan)
		s.Access, s.Lo, s.LoInc, s.Hi = plan.ScanOrdered, querytest.Lit(t, types.Text, "orders/10-A"), true, querytest.Lit(t, types.Text, "orders/11-A")
		byKey.Merge = []plan.SortKey{{Slot: 0, Type: types.Text}}
		note(byKey)
		s.Desc, s.Hi = true, nil
		byKey.Merge[0].Desc = true
		note(&plan.Limit{Base: byKey.Base, Child: byKey, Count: querytest.Lit(t, types.Int8, "3")})

		whole := &plan.Aggregate{Base: cols(types.Text, types.Int8, types.Int8), Keys: []query.Expr{state},
			Aggs: []*query.Agg{agg(t, "count"), agg(t, "sum", querytest.Slot(2, types.Int4))}}
		part := *whole
		part.Mode, part.Child = plan.AggPartial, allOrders(table, nil).Child
		final := *whole
		final.Mode, final.Child = plan.AggFinal, &plan.Gather{Base: whole.Base, Child: &part, Route: plan.Route{Table: table}}
		note(sorted(&final, 0))

		for _, key := range []string{"orders/7-A", "orders/none", "orders/7-A$"} {
			note(point(t, table, querytest.Lit(t, types.Text, key)))
		}
		array := allOrders(table, nil)
		array.Route.KeyArray = querytest.Lit(t, types.TextArray, "{orders/5-A,orders/6-A,NULL,orders/5-A,x}")
		array.Child.(*plan.Scan).Access, array.Child.(*plan.Scan).KeyArray = plan.ScanKeys, array.Route.KeyArray
		note(sorted(array, 0))
		if first == nil {
			first = got
		}
		for i := range got {
			if got[i] != first[i] {
				t.Errorf("%d fragments, query %d:\n%s\non one:\n%s", n, i, got[i], first[i])
			}
		}
	}
	if len(first[0]) == 0 || strings.Count(first[1], "\n") != 4 || !strings.HasPrefix(first[1], "orders/299-A") ||
		!strings.HasPrefix(first[3], "orders/99-A") || strings.Count(first[4], "\n") != 6 || strings.Count(first[8], "\n") != 1 || first[6] != "" {
		t.Errorf("answers: %q", first)
	}
}

func point(t testing.TB, table *catalog.Table, key query.Expr) *plan.Gather {
	g := allOrders(table, nil)
	g.Route.Keys = [][]query.Expr{{key}}
	s := g.Child.(*plan.Scan)
	s.Access, s.Keys = plan.ScanKeys, g.Route.Keys
	return g
}

func code(err error) string { return pgerr.Code(err) }

func TestInsertChecks(t *testing.T) {
	d := openDatabase(t, 3)
	table := orders(func(t *catalog.Table) { t.Columns[2].NotNull = true })
	ins := func(rows ...string) *plan.Modify { return insert(t, table, rows...) }
	d.must(ins(`a|{}|1`))

	_, _, err := d.exec(ins(`b|{}|1`, `a|{}|2`))
	if e := pgerr.From(err); code(err) != pgerr.UniqueViolation || e.Detail != "Key (id)=(a) already exists." || e.Constraint != "orders_pkey" {
		t.Errorf("duplicate: %v", err)
	}
	_, _, err = d.exec(ins(`c|{}|1`, `c|{}|2`))
	if code(err) != pgerr.UniqueViolation {
		t.Errorf("duplicate within the statement: %v", err)
	}
	_, _, err = d.exec(ins(`d|{"a":1}|NULL`))
	if e := pgerr.From(err); code(err) != pgerr.NotNullViolation || e.Detail != `Failing row contains (d, {"a": 1}, null).` {
		t.Errorf("not null: %v", err)
	}
	m := ins(`d|{}|-1`)
	m.Checks = []query.Check{{Name: "positive", Expr: querytest.Op(t, ">", querytest.Slot(2, types.Int4), querytest.Lit(t, types.Int4, "0")), Generated: -1}}
	if _, _, err = d.exec(m); code(err) != pgerr.CheckViolation || !strings.Contains(err.Error(), `"positive"`) {
		t.Errorf("check: %v", err)
	}
	m = ins(`e|{}|4`)
	m.Checks = []query.Check{{Expr: querytest.Op(t, "+", querytest.Lit(t, types.Int4, "40"), querytest.Lit(t, types.Int4, "2")), Generated: 2}}
	d.must(m)
	for _, bad := range []string{`$|{}|1`, `x$|{}|1`, `x$@1048576|{}|1`} {
		if _, _, err := d.exec(ins(bad)); code(err) != pgerr.InvalidParameterValue {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if got := show(allOrders(table, nil), d.must(sorted(allOrders(table, nil), 0))); got != "a|{}|1\ne|{}|42" {
		t.Errorf("rows are\n%s", got)
	}
}

func TestCompletedIDs(t *testing.T) {
	d := openDatabase(t, 3)
	table := orders(func(t *catalog.Table) { t.AnchorBy = "OrderId" })
	m := returning(insert(t, table, `invoices/|{"OrderId":"orders/1-A"}|1`, `NULL|{"OrderId":"x"}|2`, `own$y|{}|3`), []types.OID{types.Text},
		querytest.Slot(0, types.Text))
	if got := show(m, d.must(m)); got != "invoices/1-A$orders/1-A\norders/2-A$x\nown$y" {
		t.Errorf("ids are\n%s", got)
	}
	if _, _, err := d.exec(insert(t, table, `z|{}|1`)); code(err) != pgerr.InvalidParameterValue {
		t.Errorf("no anchor: %v", err)
	}
}

func TestPlacement(t *testing.T) {
	d := openDatabase(t, 3)
	field, err := shardmap.ParseField("Customer")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := shardmap.NewPolicy([]shardmap.Field{field}, 1000, false)
	if err != nil {
		t.Fatal(err)
	}
	table := orders(func(t *catalog.Table) { t.Policy, t.PolicyValidated = policy, true })
	m := returning(insert(t, table, `orders/1-A$|{"Customer":"customers/1-A"}|1`), []types.OID{types.Text}, querytest.Slot(0, types.Text))
	if got := show(m, d.must(m)); got != "orders/1-A$@982326" {
		t.Errorf("placed as %s", got)
	}
	_, _, err = d.exec(insert(t, table, `orders/5-A|{"Customer":"customers/1-A"}|1`))
	if e := pgerr.From(err); code(err) != pgerr.CheckViolation || e.Constraint != "sharding" {
		t.Errorf("own id: %v", err)
	}
	_, _, err = d.exec(insert(t, table, `orders/1-A$|{"Customer":"customers/1-A"}|2`))
	if code(err) != pgerr.UniqueViolation {
		t.Errorf("placed twice: %v", err)
	}
	g := allOrders(table, nil)
	g.Route.Content = [][]query.Expr{{querytest.Lit(t, types.Text, "customers/1-A")}}
	if got := show(g, d.must(g)); !strings.HasPrefix(got, "orders/1-A$@982326|") {
		t.Errorf("by content: %s", got)
	}
	// An update may not leave the block.
	u := update(t, table, nil, 1, querytest.Lit(t, types.JSONB, `{"Customer":"customers/2-B"}`))
	if _, _, err := d.exec(u); code(err) != pgerr.CheckViolation {
		t.Errorf("update out of the block: %v", err)
	}
	if _, n, err := d.exec(update(t, table, nil, 1, querytest.Lit(t, types.JSONB, `{"Customer":"customers/741135-C"}`))); err != nil || n != 1 {
		t.Errorf("update within the bucket: %d, %v", n, err)
	}
}

// update sets a column of the rows that filter keeps, inside the fragments.
func update(t testing.TB, table *catalog.Table, filter query.Expr, col int, e query.Expr) *plan.Gather {
	m := &plan.Modify{Kind: plan.ModUpdate, Table: table, Schema: "public", Child: target(table, filter), Assign: []query.Assignment{{Col: col, Expr: e}}}
	return &plan.Gather{Child: m, Route: plan.Route{Table: table}}
}

func target(table *catalog.Table, filter query.Expr) *plan.Scan {
	return &plan.Scan{Base: cols(types.Text, types.JSONB, types.Int4, types.Bytea), Table: table, Slots: []int{0, 1, 2, plan.ColKey}, Filter: filter}
}

func TestUpdateDelete(t *testing.T) {
	for _, fragments := range []int{1, 3} {
		d := openDatabase(t, fragments)
		table := orders()
		fill(d, table, 50)
		small := querytest.Op(t, "<", querytest.Slot(2, types.Int4), querytest.Lit(t, types.Int4, "10"))
		plus := querytest.Op(t, "+", querytest.Slot(2, types.Int4), querytest.Lit(t, types.Int4, "1000"))
		u := update(t, table, small, 2, plus)
		returning(u.Child.(*plan.Modify), []types.OID{types.Int4}, querytest.Slot(2, types.Int4))
		u.Base = cols(types.Int4)
		rows, n, err := d.exec(u)
		if err != nil || n != 10 || len(rows) != 10 {
			t.Fatalf("%d rows, %d affected, %v", len(rows), n, err)
		}
		big := querytest.Op(t, ">=", querytest.Slot(2, types.Int4), querytest.Lit(t, types.Int4, "1000"))
		del := &plan.Modify{Kind: plan.ModDelete, Table: table, Child: target(table, big)}
		if _, n, err := d.exec(&plan.Gather{Child: del, Route: plan.Route{Table: table}}); err != nil || n != 10 {
			t.Fatalf("delete: %d, %v", n, err)
		}
		if rows := d.must(allOrders(table, nil)); len(rows) != 40 {
			t.Errorf("%d rows are left", len(rows))
		}
		ordered := allOrders(table, nil)
		ordered.Child.(*plan.Scan).Access = plan.ScanOrdered
		if rows := d.must(ordered); len(rows) != 40 {
			t.Errorf("%d rows are left in key order", len(rows))
		}
	}
}

// TestMoveKeys exchanges all keys: every row moves to another bucket, in one transaction.
func TestMoveKeys(t *testing.T) {
	d := openDatabase(t, 3)
	table := orders()
	fill(d, table, 40)
	scan := target(table, nil)
	key := &query.CoerceIO{T: query.Of(types.Text), Arg: querytest.Op(t, "-", querytest.Lit(t, types.Int4, "39"), querytest.Slot(2, types.Int4))}
	id := querytest.Call(t, "textcat", querytest.Call(t, "textcat", querytest.Lit(t, types.Text, "orders/"), key), querytest.Lit(t, types.Text, "-A"))
	m := &plan.Modify{Kind: plan.ModUpdate, Table: table, MovesKey: true, Assign: []query.Assignment{{Col: 0, Expr: id}},
		Child: &plan.Gather{Base: scan.Base, Child: scan, Route: plan.Route{Table: table}}}
	returning(m, []types.OID{types.Text, types.Int4}, querytest.Slot(0, types.Text), querytest.Slot(2, types.Int4))
	rows, n, err := d.exec(m)
	if err != nil || n != 40 || len(rows) != 40 {
		t.Fatalf("%d rows, %d, %v", len(rows), n, err)
	}
	for i := range 40 {
		g := point(t, table, querytest.Lit(t, types.Text, fmt.Sprintf("orders/%d-A", i)))
		if rows := d.must(g); len(rows) != 1 || rows[0][2].Int() != int64(39-i) {
			t.Errorf("orders/%d-A is %s", i, show(g, rows))
		}
	}
}

func TestOnConflict(t *testing.T) {
	d := openDatabase(t, 3)
	table := orders()
	d.must(insert(t, table, `a|{}|1`, `b|{}|2`))
	nothing := func() *plan.Modify {
		m := insert(t, table, `a|{}|10`, `c|{}|3`, `c|{}|4`)
		m.OnConflict = &plan.OnConflict{Primary: true}
		return returning(m, []types.OID{types.Text, types.Int4}, querytest.Slot(0, types.Text), querytest.Slot(2, types.Int4))
	}
	m := nothing()
	rows, n, err := d.exec(m)
	if err != nil || n != 1 || show(m, rows) != "c|3" {
		t.Errorf("do nothing: %d, %v, %s", n, err, show(m, rows))
	}
	upsert := func(rows ...string) *plan.Modify {
		m := insert(t, table, rows...)
		m.OnConflict = &plan.OnConflict{Primary: true, Update: true, Where: querytest.Op(t, "<>", querytest.Slot(2, types.Int4), querytest.Lit(t, types.Int4, "2")),
			Assign: []query.Assignment{{Col: 2, Expr: querytest.Op(t, "+", querytest.Slot(2, types.Int4), querytest.Slot(5, types.Int4))}}}
		return returning(m, []types.OID{types.Text, types.Int4}, querytest.Slot(0, types.Text), querytest.Slot(2, types.Int4))
	}
	m = upsert(`z|{}|9`, `a|{}|10`, `b|{}|10`)
	rows, n, err = d.exec(m)
	if err != nil || n != 2 || show(m, rows) != "z|9\na|11" {
		t.Errorf("do update: %d, %v, %s", n, err, show(m, rows))
	}
	if _, _, err := d.exec(upsert(`a|{}|1`, `a|{}|1`)); code(err) != pgerr.CardinalityViolation {
		t.Errorf("twice: %v", err)
	}
}

// TestOwnWrites: a statement does not see what it writes; the next one of the transaction does, and
// other transactions do only after the commit.
func TestOwnWrites(t *testing.T) {
	d := openDatabase(t, 3)
	table := orders()
	fill(d, table, 30)
	x := d.begin()
	copied := allOrders(table, nil)
	proj := &plan.Project{Base: copied.Base, Child: copied,
		Exprs: []query.Expr{querytest.Call(t, "textcat", querytest.Slot(0, types.Text), querytest.Lit(t, types.Text, "x")), querytest.Slot(1, types.JSONB), querytest.Slot(2, types.Int4)}}
	if _, n, err := x.run(&plan.Modify{Kind: plan.ModInsert, Table: table, Child: proj}); err != nil || n != 30 {
		t.Fatalf("%d, %v", n, err)
	}
	rows, _, err := x.run(allOrders(table, nil))
	if err != nil || len(rows) != 60 {
		t.Errorf("the transaction sees %d rows, %v", len(rows), err)
	}
	if rows := d.must(allOrders(table, nil)); len(rows) != 30 {
		t.Errorf("others see %d rows", len(rows))
	}
	if err := x.commit(); err != nil {
		t.Fatal(err)
	}
	if rows := d.must(allOrders(table, nil)); len(rows) != 60 {
		t.Errorf("%d rows after the commit", len(rows))
	}
}

func TestFirstUpdaterWins(t *testing.T) {
	d := openDatabase(t, 1)
	d.limits.Isolation = txn.RepeatableRead
	table := orders()
	fill(d, table, 1)
	x := d.begin()
	if _, _, err := x.run(allOrders(table, nil)); err != nil {
		t.Fatal(err)
	}
	set := func(n string) *plan.Gather { return update(t, table, nil, 2, querytest.Lit(t, types.Int4, n)) }
	d.must(set("5"))
	_, _, err := x.run(set("6"))
	if e := pgerr.From(err); code(err) != pgerr.SerializationFailure || e.Message != "could not serialize access due to concurrent update" {
		t.Errorf("got %v", err)
	}
	x.rollback()
}

func TestHiddenRowID(t *testing.T) {
	d := openDatabase(t, 3)
	table := orders(func(t *catalog.Table) { t.Anchors, t.Constraints, t.Indexes = false, nil, nil })
	d.must(insert(t, table, `a|{}|1`, `a|{}|1`, `b|{}|2`))
	if rows := d.must(allOrders(table, nil)); len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
	one := querytest.Op(t, "=", querytest.Slot(2, types.Int4), querytest.Lit(t, types.Int4, "1"))
	if _, n, err := d.exec(update(t, table, one, 0, querytest.Lit(t, types.Text, "c"))); err != nil || n != 2 {
		t.Errorf("update: %d, %v", n, err)
	}
	if got := show(allOrders(table, nil), d.must(sorted(allOrders(table, nil), 0))); got != "b|{}|2\nc|{}|1\nc|{}|1" {
		t.Errorf("rows are\n%s", got)
	}
}

func TestFanout(t *testing.T) {
	d := openDatabase(t, 3)
	table := orders()
	d.limits.MaxFanout = 2
	if _, _, err := d.exec(allOrders(table, nil)); code(err) != pgerr.ConfigurationLimitExceeded {
		t.Errorf("scatter: %v", err)
	}
	if _, _, err := d.exec(point(t, table, querytest.Lit(t, types.Text, "a"))); err != nil {
		t.Errorf("point: %v", err)
	}
}

func TestAnalysis(t *testing.T) {
	d := openDatabase(t, 3)
	table := orders()
	fill(d, table, 100)
	g := allOrders(table, querytest.Op(t, "<", querytest.Slot(2, types.Int4), querytest.Lit(t, types.Int4, "10")))
	p, err := exec.Compile(&plan.Plan{Root: g})
	if err != nil {
		t.Fatal(err)
	}
	c := d.begin().ctx()
	c.Analyze = &exec.Analysis{}
	if _, err := collect(p, c); err != nil {
		t.Fatal(err)
	}
	var read, sent int64
	for _, w := range c.Analyze.Of(g) {
		read, sent = read+w.Rows, sent+w.Sent
	}
	if len(c.Analyze.Of(g)) != 3 || read != 100 || sent != 10 {
		t.Errorf("%d fragments read %d and sent %d rows", len(c.Analyze.Of(g)), read, sent)
	}
}

// TestMeasured: steps of a measured program count their rows and runs, in fragments too.
func TestMeasured(t *testing.T) {
	d := openDatabase(t, 3)
	table := orders()
	fill(d, table, 100)
	g := allOrders(table, querytest.Op(t, "<", querytest.Slot(2, types.Int4), querytest.Lit(t, types.Int4, "10")))
	filter := &plan.Filter{Base: g.Base, Child: g, Cond: querytest.Op(t, ">", querytest.Slot(2, types.Int4),
		querytest.Lit(t, types.Int4, "3"))}
	top := &plan.Limit{Base: g.Base, Child: filter, Count: querytest.Lit(t, types.Int8, "0")}
	for _, measure := range []operator.Measure{operator.Unmeasured, operator.Counted, operator.Timed} {
		for _, root := range []plan.Node{filter, top} {
			p, err := exec.CompileMeasured(&plan.Plan{Root: root}, measure)
			if err != nil {
				t.Fatal(err)
			}
			c := d.begin().ctx()
			c.Analyze = &exec.Analysis{}
			fragmentOf := c.Gateway.Fragment
			c.Gateway.Fragment = func(id shardmap.FragmentID) (exec.Fragment, error) {
				f, err := fragmentOf(id)
				return inProcess{f.(fragment)}, err
			}
			if _, err := collect(p, c); err != nil {
				t.Fatal(err)
			}
			got := map[plan.Node][3]int64{}
			for _, n := range []plan.Node{top, filter, g, g.Child} {
				s := c.Analyze.Steps.Of(n)
				if timed := s.Loops > 0 && measure == operator.Timed; timed != (s.Total > 0) || s.Startup > s.Total {
					t.Errorf("%T took %v, %v until its first row", n, s.Total, s.Startup)
				}
				got[n] = [3]int64{s.Loops, s.Rows, s.Removed}
			}
			want := map[plan.Node][3]int64{top: {}, filter: {}, g: {}, g.Child: {}}
			switch {
			case measure == operator.Unmeasured:
			case root == top: // it asks for no row
				want[top] = [3]int64{1, 0, 0}
			default:
				want[filter], want[g], want[g.Child] = [3]int64{1, 6, 4}, [3]int64{1, 10, 0}, [3]int64{3, 10, 90}
			}
			if !maps.Equal(got, want) {
				t.Errorf("measure %d of a %T: %v, want %v", measure, root, got, want)
			}
		}
	}
}
