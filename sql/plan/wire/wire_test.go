package wire

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// orders is a table with an index.
func orders(version uint64) *catalog.Table {
	return &catalog.Table{
		OID: 20000, StorageID: 20000, Name: "orders", Kind: catalog.KindTable, Version: version, Anchors: true,
		Document: 2,
		Columns: []catalog.Column{
			{AttNum: 1, Name: "id", Type: types.Text, Typmod: -1, NotNull: true},
			{AttNum: 2, Name: "doc", Type: types.JSONB, Typmod: -1},
			{AttNum: 3, Name: "n", Type: types.Int4, Typmod: -1},
		},
		Constraints: []catalog.Constraint{{
			OID: 20002, Name: "orders_pkey", Kind: catalog.PrimaryKey, Columns: []int16{1}, Valid: true, Index: 20003,
		}},
		Indexes: []catalog.Index{
			{OID: 20003, StorageID: 1, Name: "orders_pkey", Columns: []int16{1}, Unique: true, Primary: true},
			{OID: 20001, StorageID: 20001, Name: "orders_n", Columns: []int16{3}, Global: true},
		},
	}
}

func text(s string) query.Expr { return &query.Const{T: query.Of(types.Text), Value: types.NewText(s)} }

func procOf(t testing.TB, name string, args ...types.OID) *query.Proc {
	t.Helper()
	for _, p := range pgcatalog.ProcsByName(name) {
		if len(p.ArgTypes) == len(args) && p.ArgTypes[0] == args[0] {
			return p
		}
	}
	t.Fatalf("no function %s", name)
	return nil
}

// pointRead is the plan of SELECT doc FROM orders WHERE id = $1, as it goes to the fragment.
func pointRead(t testing.TB, table *catalog.Table) plan.Node {
	id := &query.Param{T: query.Of(types.Text), N: 1}
	cols := []plan.Col{{Name: "id", Type: types.Text, Typmod: -1}, {Name: "doc", Type: types.JSONB, Typmod: -1}}
	scan := &plan.Scan{
		Base: plan.Base{Cols: cols}, Table: table, Alias: "orders", Schema: "public", Slots: []int{0, 1},
		Access: plan.ScanKeys, Keys: [][]query.Expr{{id}},
		Filter: &query.Call{T: query.Of(types.Bool), Proc: procOf(t, "texteq", types.Text, types.Text),
			Op: "=", Args: []query.Expr{
				&query.Slot{T: query.Of(types.Text), Name: "id"}, id,
			}},
	}
	return &plan.Project{
		Base: plan.Base{Cols: cols[1:]}, Child: scan,
		Exprs: []query.Expr{&query.Slot{T: query.Of(types.JSONB), N: 1, Name: "doc"}},
	}
}

// find looks orders up by n.
func find(table *catalog.Table) plan.Node {
	n := &query.Var{T: query.Of(types.Int4), Col: 2, Name: "n"}
	return plan.Find{Scan: &plan.IndexScan{
		N: 3, Table: table, Index: query.Index{Def: &table.Indexes[1], Keys: []query.Expr{n}, Names: []string{"n"}},
		IndexKeys: plan.IndexKeys{Equal: [][]query.Expr{{text("a")}}, Arrays: []query.Expr{nil}},
	}}
}

// viewOf is a catalog that has the table, under OIDs of its own.
func viewOf(t testing.TB) (*catalog.View, *catalog.Table) {
	t.Helper()
	c, err := catalog.Open(catalog.Options{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	must(t, c.WaitReady(t.Context()))
	_, err = c.Bootstrap(t.Context(), catalog.BootstrapOptions{
		ClusterID: "test", Fragments: 1, Node: catalog.Node{ID: 1, Name: "n", Block: "A"},
	})
	must(t, err)
	own := orders(1)
	own.Database, own.Schema, own.Owner, own.NextAttNum = catalog.PostgresDB,
		catalog.PostgresPublic, catalog.BootstrapRole, 4
	for _, oid := range []*catalog.OID{&own.OID, &own.Constraints[0].OID, &own.Indexes[0].OID, &own.Indexes[1].OID} {
		*oid, err = c.NewOID(t.Context())
		must(t, err)
	}
	own.StorageID, own.Constraints[0].Index, own.Indexes[1].StorageID = own.OID, own.Indexes[0].OID, own.Indexes[1].OID
	v, err := c.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
		return ch.PutTable(own)
	})
	must(t, err)
	return v, v.Table(own.OID)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestVersions: a plan is decoded only over the version of its table with which it was made (P2).
func TestVersions(t *testing.T) {
	view, mine := viewOf(t)
	table := *mine
	table.Version += 6
	b, err := Encode(pointRead(t, &table))
	must(t, err)
	_, err = Decode(nil, b)
	var other *VersionError
	if !errors.As(err, &other) || other.Table != table.OID || other.Want != mine.Version+6 || other.Have != 0 {
		t.Errorf("no such table: %v", err)
	}
	_, err = Decode(view, b)
	if !errors.As(err, &other) || other.Have != mine.Version || other.Catalog != view.Version() {
		t.Errorf("another version: %v", err)
	}
	b, err = Encode(find(mine))
	must(t, err)
	n, err := Decode(view, b)
	must(t, err)
	scan := n.(plan.Find).Scan
	if scan.Table != mine || scan.Index.Def != &mine.Indexes[1] {
		t.Error("the table is not the one of the view")
	}
}

// TestDraft: a plan has the full definitions of tables that the transaction has defined itself, and
// only names those in force.
func TestDraft(t *testing.T) {
	view, inForce := viewOf(t)
	mine := *inForce
	mine.Version++
	mine.Columns = append(mine.Columns[:3:3], catalog.Column{AttNum: 4, Name: "extra", Type: types.Text, Typmod: -1})
	b, err := EncodeDrafted(find(&mine), view)
	must(t, err)
	n, err := Decode(view, b)
	must(t, err)
	got := n.(plan.Find).Scan
	if len(got.Table.Columns) != 4 || got.Index.Def != &got.Table.Indexes[1] {
		t.Errorf("%+v", got.Table)
	}
	drafted, err := EncodeDrafted(find(inForce), view)
	must(t, err)
	plain, err := Encode(find(inForce))
	must(t, err)
	if string(drafted) != string(plain) || len(plain) > 100 {
		t.Errorf("a table that is in force went whole: %d bytes, plain %d", len(drafted), len(plain))
	}
}

// TestStage: the parts that only the gateway runs are not sent with a stage. A stage with the same
// statement is recognized.
func TestStage(t *testing.T) {
	table := orders(1)
	m := &plan.Modify{
		Kind: plan.ModUpdate, Table: table, Schema: "public", Child: pointRead(t, table),
		Returning: []query.Expr{text("x")}, Assign: []query.Assignment{{Col: 2, Expr: text("y")}},
	}
	b, err := EncodeWhole(plan.Stage{Modify: m})
	must(t, err)
	n, err := Decode(nil, b)
	must(t, err)
	got := n.(plan.Stage).Modify
	if got.Child != nil || got.Returning != nil || got.Assign != nil || got.Kind != plan.ModUpdate ||
		got.Schema != "public" || got.Table.Name != "orders" {
		t.Errorf("%+v", got)
	}
	if (plan.Node)(plan.Stage{Modify: m}) != (plan.Node)(plan.Stage{Modify: m}) {
		t.Error("two stages of one statement differ")
	}
}

// TestCalls: a plan lists the settings that it asks for by name. A call that cannot be answered
// where rows are written is refused.
func TestCalls(t *testing.T) {
	setting := &query.Call{
		T: query.Of(types.Text), Proc: procOf(t, "current_setting", types.Text), Args: []query.Expr{text("app.user")},
	}
	n := &plan.Filter{Child: &plan.Filter{Child: &plan.Source{}, Cond: setting}, Cond: setting}
	if got := Settings(n); len(got) != 1 || got[0] != "app.user" {
		t.Errorf("settings %q", got)
	}
	nextval := &query.Call{
		T: query.Of(types.Int8), Proc: procOf(t, "nextval", types.RegClass), Args: []query.Expr{text("s")},
	}
	m := &plan.Modify{Table: orders(1), OnConflict: &plan.OnConflict{
		Update: true, Assign: []query.Assignment{{Col: 2, Expr: nextval}},
	}}
	if _, err := EncodeWhole(plan.Stage{Modify: m}); err == nil || pgerr.From(err).Code != pgerr.FeatureNotSupported {
		t.Errorf("nextval() in ON CONFLICT: %v", err)
	}
}

// TestDisplay: a display form that cannot be sent is left out; for anything else it is an error.
func TestDisplay(t *testing.T) {
	sub := &query.SubLink{T: query.Of(types.Bool), Query: &query.Query{}}
	slot := &query.Slot{T: query.Of(types.Bool), N: 1, Of: sub}
	b, err := Encode(&plan.Filter{Child: &plan.Source{}, Cond: slot})
	must(t, err)
	n, err := Decode(nil, b)
	must(t, err)
	if got := n.(*plan.Filter).Cond.(*query.Slot); got.Of != nil || got.N != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := Encode(&plan.Filter{
		Child: &plan.Source{}, Cond: sub,
	}); err == nil || !strings.Contains(err.Error(), "SubLink") {
		t.Errorf("a query that is not planned: %v", err)
	}
	if _, err := Encode(&plan.Filter{Cond: slot}); err == nil {
		t.Error("a step without its input was sent")
	}
}

// TestConstants: values come out as they went in, whatever their kind.
func TestConstants(t *testing.T) {
	values := []types.Datum{
		types.Null, types.NewBool(true), types.NewInt(-5), types.NewOid(4e9), types.NewFloat8(-0.5), types.NewText(""),
		types.NewText("é"), types.NewBytes("\x00"),
		types.NewTextArray([]string{"a", ""}), types.NewTimestamp(-1), types.NewInterval(1, -2, 3), {K: types.KindVoid},
		{K: types.KindNumeric, A: 2, N: 125},
		types.NewRecord([]types.OID{types.Int4}, []types.Datum{types.NewInt(1)}),
	}
	for _, v := range values {
		b, err := Encode(&plan.Filter{Child: &plan.Source{}, Cond: &query.Const{T: query.Of(types.Bool), Value: v}})
		must(t, err)
		n, err := Decode(nil, b)
		must(t, err)
		if got := n.(*plan.Filter).Cond.(*query.Const).Value; got != v {
			t.Errorf("%+v came out as %+v", v, got)
		}
	}
}

// TestNewer: what this release does not know is refused, not left out (P1).
func TestNewer(t *testing.T) {
	b, err := Encode(&plan.Filter{Child: &plan.Source{}, Cond: text("x")})
	must(t, err)
	add := func(b []byte, number protowire.Number) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), 1)
	}
	root := func(kind protowire.Number, fields []byte) []byte {
		inner := protowire.AppendBytes(protowire.AppendTag(nil, kind, protowire.BytesType), fields)
		return protowire.AppendBytes(protowire.AppendTag(nil, planRoot, protowire.BytesType), inner)
	}
	noProc := protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 999999)
	call := protowire.AppendBytes(protowire.AppendTag(nil, 8, protowire.BytesType), noProc)
	for name, b := range map[string][]byte{
		"field of the plan": add(b, 9), "kind of step": root(900, nil), "field of a step": root(5, add(nil, 77)),
		"value":    root(12, protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), uint64(query.RightAnti)+1)),
		"function": root(6, protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), call)),
	} {
		if _, err := Decode(nil, b); !errors.Is(err, ErrNewer) || pgerr.Code(err) != pgerr.FeatureNotSupported {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDepth: expressions as deep as the parser allows can be sent; deeper ones are refused on both
// sides, without a crash.
func TestDepth(t *testing.T) {
	deep := func(n int) plan.Node {
		e := text("x")
		for range n {
			e = &query.Not{Arg: e}
		}
		return &plan.Filter{Child: &plan.Source{}, Cond: e}
	}
	b, err := Encode(deep(10_000))
	must(t, err)
	_, err = Decode(nil, b)
	must(t, err)
	if _, err := Encode(deep(maxDepth)); pgerr.From(err).Code != pgerr.StatementTooComplex {
		t.Errorf("too deep: %v", err)
	}
	e := &encoder{}
	for range maxDepth {
		e.length(15, 0) // Not
		e.length(3, 0)  // its Arg, and at last the Cond of
	}
	e.length(6, 0) // a Filter
	e.length(planRoot, 0)
	if _, err := Decode(nil, e.buf[e.at:]); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("too deep: %v", err)
	}
}

// FuzzDecode: any bytes decode to a plan that can be sent again, or to an error (P3).
func FuzzDecode(f *testing.F) {
	view, table := viewOf(f)
	for _, n := range []plan.Node{
		pointRead(f, table), find(table), plan.Stage{Modify: &plan.Modify{Table: table, Schema: "public"}},
		plan.LockKeys{Lock: plan.RowLock{Table: table, Strength: query.LockUpdate}},
		&plan.Fill{Table: table, Schema: "public", Index: query.Index{Def: &table.Indexes[1]}, After: []byte{1}},
	} {
		b, err := Encode(n)
		must(f, err)
		f.Add(b)
		b, err = EncodeWhole(n)
		must(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := Decode(view, b)
		if err != nil {
			return
		}
		if _, err := Encode(n); err != nil && !strings.Contains(err.Error(), "belongs to none") {
			t.Errorf("a decoded plan cannot be sent: %v", err)
		}
	})
}

func BenchmarkPointRead(b *testing.B) {
	view, table := viewOf(b)
	n := pointRead(b, table)
	b.ReportAllocs()
	for b.Loop() {
		sent, err := Encode(n)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Decode(view, sent); err != nil {
			b.Fatal(err)
		}
	}
}
