package wire

import (
	"math"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// samples are values of every type that has a text form, read from it.
var samples = []struct {
	oid  types.OID
	text []string
}{
	{types.Bool, []string{"t", "f"}},
	{types.Int2, []string{"0", "-32768", "32767"}},
	{types.Int4, []string{"-1", "2147483647"}},
	{types.Int8, []string{"9223372036854775807", "-9223372036854775808"}},
	{types.Oid, []string{"0", "4294967295"}},
	{types.Float4, []string{"1.5", "-0", "NaN", "Infinity"}},
	{types.Float8, []string{"1.5", "-0", "NaN", "-Infinity", "1e308"}},
	{
		types.Numeric, []string{"0", "1.00", "-9223372036854775808", "123456789012345678901234567890.12345", "NaN",
			"Infinity", "-Infinity"},
	},
	{types.Text, []string{"", "a", "grüße"}},
	{types.VarChar, []string{"x"}},
	{types.Name, []string{"pg_catalog"}},
	{types.JSON, []string{`{"a": 1}`}},
	{types.Bytea, []string{"", `\x00ff`}},
	{types.UUID, []string{"0d9d1a5e-3c58-4f0e-9f6e-1f2a3b4c5d6e"}},
	{types.Date, []string{"2026-11-21", "infinity", "-infinity", "4713-01-01 BC"}},
	{types.Time, []string{"00:00", "24:00", "12:34:56.789"}},
	{types.TimeTZ, []string{"12:34:56.789+05:30", "00:00-12"}},
	{types.Timestamp, []string{"2026-11-21 18:00:00.123456", "infinity", "-infinity"}},
	{types.TimestampTZ, []string{"1970-01-01 00:00:00+00"}},
	{types.Interval, []string{"0", "1 year 2 mons -3 days 04:05:06.789", "-178000000 years"}},
	{types.JSONB, []string{`null`, `{"a": [1, 2.5, "x", {"b": null}]}`}},
	{types.JSONPath, []string{`$.a[*] ? (@ > 1)`}},
	{types.Int4Array, []string{"{}", "{1,2,NULL}", "[0:1][2:3]={{1,2},{3,4}}"}},
	{types.TextArray, []string{`{a,"",NULL,"b c"}`}},
	{types.Bit, []string{"1"}},
	{types.VarBit, []string{"", "1010101010101"}},
	{types.Tid, []string{"(1,2)"}},
}

type column struct {
	kind types.Kind
	list []types.Datum
}

// values returns the samples by type, and values that have no text form.
func values(t testing.TB) []column {
	t.Helper()
	var out []column
	for _, s := range samples {
		c := column{kind: types.KindOf(s.oid)}
		for _, text := range s.text {
			d, err := types.Input(s.oid, -1, text, nil)
			if err != nil {
				t.Fatalf("%s %q: %v", types.TypeName(s.oid), text, err)
			}
			c.list = append(c.list, d)
		}
		out = append(out, c)
	}
	record := types.NewRecord([]types.OID{types.Int4, types.Text}, []types.Datum{types.NewInt(1), types.NewText("x")})
	return append(out,
		column{types.KindRecord, []types.Datum{record}},
		column{types.KindVoid, []types.Datum{{K: types.KindVoid}}},
		column{types.KindEnum, []types.Datum{types.NewEnum("\x80"), types.NewEnum("\x00\x80")}},
		column{types.KindFloat8, []types.Datum{types.NewFloat8(math.Float64frombits(0x7ff8000000000001))}})
}

func TestEveryKindHasSamples(t *testing.T) {
	seen := map[types.Kind]bool{types.KindNull: true}
	for _, c := range values(t) {
		for _, d := range c.list {
			if d.K != c.kind {
				t.Errorf("a value of kind %d where %d was meant", d.K, c.kind)
			}
			seen[d.K] = true
		}
	}
	for k := types.KindNull; k <= types.KindEnum; k++ {
		if !seen[k] {
			t.Errorf("kind %d has no sample", k)
		}
	}
}

func TestValues(t *testing.T) {
	var row types.Row
	for _, c := range values(t) {
		row = append(append(row, c.list...), types.Null)
	}
	for _, of := range []types.Row{nil, {types.Null}, row} {
		got, err := DecodeValues(AppendValues(nil, of))
		if err != nil || !reflect.DeepEqual(got, of) {
			t.Errorf("%v came back as %v, %v", of, got, err)
		}
	}
}

// send passes rows through batches as a stream does.
func send(t testing.TB, rows []types.Row) (out []types.Row, batches int) {
	t.Helper()
	var w RowWriter
	var r RowReader
	flush := func() {
		batch := append([]byte(nil), w.Take()...)
		if err := r.Reset(batch); err != nil {
			t.Fatal(err)
		}
		batches++
		for {
			row, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if row == nil {
				return
			}
			out = append(out, append(types.Row{}, row...))
		}
	}
	for _, row := range rows {
		if !w.Add(row) {
			if flush(); !w.Add(row) {
				t.Fatalf("a batch of its own does not take %v", row)
			}
		}
		if w.Full() {
			flush()
		}
	}
	if w.Len() > 0 {
		flush()
	}
	return out, batches
}

func TestRowsOfEveryKind(t *testing.T) {
	all := values(t)
	var rows []types.Row
	for i := range 40 {
		var row types.Row
		for c, col := range all {
			d := col.list[i%len(col.list)]
			if (i+c)%5 == 0 {
				d = types.Null
			}
			row = append(row, d)
		}
		rows = append(rows, row)
	}
	got, batches := send(t, rows)
	if !reflect.DeepEqual(got, rows) || batches != 1 {
		t.Errorf("rows came back otherwise, in %d batches", batches)
	}
}

func TestRowsOfMixedKinds(t *testing.T) {
	one, x := types.NewInt(1), types.NewText("x")
	for name, rows := range map[string][]types.Row{
		"none":            nil,
		"no columns":      {{}, {}, {}},
		"nulls alone":     {{types.Null, types.Null}, {types.Null, types.Null}},
		"kinds alternate": {{one, x}, {x, one}, {one, one}, {x, x}, {types.Null, one}, {one, types.Null}},
		"widths change":   {{one}, {one, x}, {}, {x}},
	} {
		got, batches := send(t, rows)
		if len(got) != len(rows) || len(rows) > 0 && !reflect.DeepEqual(got, rows) {
			t.Errorf("%s: %v came back as %v", name, rows, got)
		}
		if name == "kinds alternate" && batches > 3 {
			t.Errorf("%s: %d batches", name, batches)
		}
	}
}

func TestBatchesAreBounded(t *testing.T) {
	var rows []types.Row
	for i := range 1000 {
		rows = append(rows, types.Row{types.NewInt(int64(i)), types.NewText(string(make([]byte, i)))})
	}
	got, batches := send(t, rows)
	if !reflect.DeepEqual(got, rows) || batches < 1000*500/BatchBytes || batches > 20 {
		t.Errorf("%d batches", batches)
	}
}

func TestEnv(t *testing.T) {
	zone, name, _ := types.LoadZone("Europe/Berlin")
	east, eastName := types.FixedZone(5*3600 + 1800)
	for _, e := range []*types.Env{
		nil, {}, {Zone: time.UTC},
		{UncommittedRows: []types.Composite{{
			OID: types.RowTypeOf(16390), Name: "s.complex",
			Attributes: []types.Attribute{{Name: "r", Type: types.Float8, Typmod: -1}, {Name: "n", Type: types.Numeric, Typmod: 9}},
		}}},
		{
			Zone: zone, ZoneName: name, DateFormat: types.DateGerman, DateOrder: types.OrderDMY,
			IntervalFormat: types.IntervalISO, Now: -1,
		},
		{
			Zone: east, ZoneName: eastName, ExtraFloatDigits: -15, LowFloatDigits: true, ByteaEscape: true,
			Now: math.MaxInt64,
		},
	} {
		got, err := DecodeEnv(AppendEnv(nil, e))
		if err != nil {
			t.Fatal(err)
		}
		at, err := types.Input(types.TimestampTZ, -1, "2026-11-21 18:00:00.5+00", nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := types.Output(types.TimestampTZ, at, e), types.Output(types.TimestampTZ, at, got); a != b {
			t.Errorf("%s became %s", a, b)
		}
		if e != nil && !reflect.DeepEqual(got.UncommittedRows, e.UncommittedRows) {
			t.Errorf("%+v became %+v", e.UncommittedRows, got.UncommittedRows)
		}
		if e != nil && (got.ExtraFloatDigits != e.ExtraFloatDigits || got.LowFloatDigits != e.LowFloatDigits ||
			got.ByteaEscape != e.ByteaEscape ||
			got.Now != e.Now || got.IntervalFormat != e.IntervalFormat) {
			t.Errorf("%+v became %+v", e, got)
		}
	}
	if _, err := DecodeEnv(AppendEnv(nil, &types.Env{ZoneName: "Middle/Earth"})); err == nil {
		t.Error("an unknown zone was taken")
	}
}

func TestWrites(t *testing.T) {
	in := []exec.Write{
		{Kind: exec.WriteInsert, Key: []byte("k"), Value: []byte("v"), Place: -1},
		{Kind: exec.WriteReplace, Key: []byte{}, Value: []byte{}, Mode: txn.NoKeyUpdate, Hit: true},
		{Kind: exec.WriteDelete, Key: []byte{0, 255}},
		{
			Kind: exec.WriteClaim, Key: []byte("e"), Value: []byte("v"), Index: 3, Exclusive: true, Row: []byte("row"),
			Building: true, Place: math.MaxInt64,
		},
	}
	var b []byte
	for i := range in {
		b = AppendWrite(b, &in[i])
	}
	got, err := DecodeWrites(nil, b)
	if err != nil || !reflect.DeepEqual(got, in) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLimits(t *testing.T) {
	for _, l := range []exec.Limits{
		{}, {Isolation: txn.Serializable, ReadOnly: true, Since: txn.MaxTimestamp},
		{ExplicitBuckets: true, Unvalidated: true, Isolation: txn.RepeatableRead},
	} {
		if got, err := DecodeLimits(AppendLimits(nil, &l)); err != nil || got != l {
			t.Errorf("%+v became %+v, %v", l, got, err)
		}
	}
}

func TestResult(t *testing.T) {
	res := exec.Result{Affected: 3, Rows: 1 << 40, Elapsed: time.Second, Keys: [][]keychange.Change{
		nil,
		{
			keychange.New(types.Row{types.NewInt(1), types.Null}, nil, "a"),
			keychange.New(nil, types.Row{types.NewText("x")}, "\x00"),
		},
	}}
	b := AppendResult(nil, &res)
	got, err := DecodeResult(b)
	clear(b)
	if err != nil || !reflect.DeepEqual(got, res) {
		t.Errorf("%+v, %v", got, err)
	}
}

// nothing stands for the questions that a session must not be asked.
type nothing struct{ builtin.SessionInfo }

func TestSession(t *testing.T) {
	s := &Session{
		User: "anna", Login: "bob", Database: "shop", Schemas: []string{"public"},
		Implicit: []string{"pg_catalog", "public"}, PID: 77, Version: "PostgreSQL 15",
		Client: Address{"::1", 40000}, Settings: []Setting{{"app.user", "anna", true}, {"app.none", "", false}},
	}
	both := struct {
		*Session
		nothing
	}{Session: s}
	b := AppendSession(nil, both, []string{"app.user", "app.none"})
	got, err := DecodeSession(b)
	clear(b)
	if err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("%+v, %v", got, err)
	}
	if v, ok := got.Setting("app.user"); v != "anna" || !ok {
		t.Errorf("app.user is %q, %v", v, ok)
	}
	if got, err := DecodeSession(AppendSession(nil, nil, nil)); got != nil || err != nil {
		t.Errorf("no session became %v, %v", got, err)
	}
}

// TestDamage cuts messages short and flips their bits: no decoder panics, and a message that was
// cut is refused.
func TestDamage(t *testing.T) {
	for name, m := range messages(t) {
		if m.decode(m.good) != nil {
			t.Errorf("%s: %v", name, m.decode(m.good))
		}
		for i := range m.good {
			if err := m.decode(m.good[:i]); err == nil && !m.prefixes {
				t.Errorf("%s: the first %d of %d bytes were taken", name, i, len(m.good))
			}
			for _, bit := range []byte{1, 0x80, 0xff} {
				b := append([]byte(nil), m.good...)
				b[i] ^= bit
				_ = m.decode(b)
			}
		}
	}
}

type message struct {
	good     []byte
	decode   func([]byte) error
	prefixes bool // some prefixes are whole messages
}

func messages(t testing.TB) map[string]message {
	var w RowWriter
	var row types.Row
	for _, c := range values(t) {
		row = append(row, c.list[0])
	}
	w.Add(row)
	w.Add(make(types.Row, len(row)))
	change := exec.Result{Keys: [][]keychange.Change{{keychange.New(row[:3], nil, "a")}}}
	write := exec.Write{Kind: exec.WriteClaim, Key: []byte("k"), Value: []byte("v"), Row: []byte("r")}
	return map[string]message{
		"rows": {good: append([]byte(nil), w.Take()...), decode: readAll},
		"values": {good: AppendValues(nil, row), decode: func(b []byte) error {
			_, err := DecodeValues(b)
			return err
		}},
		"env": {good: AppendEnv(nil, &types.Env{ZoneName: "Europe/Berlin"}), decode: func(b []byte) error {
			_, err := DecodeEnv(b)
			return err
		}},
		"writes": {good: AppendWrite(AppendWrite(nil, &write), &write), prefixes: true, decode: func(b []byte) error {
			_, err := DecodeWrites(nil, b)
			return err
		}},
		"limits": {good: AppendLimits(nil, &exec.Limits{Since: 1 << 50}), decode: func(b []byte) error {
			_, err := DecodeLimits(b)
			return err
		}},
		"result": {good: AppendResult(nil, &change), decode: func(b []byte) error {
			_, err := DecodeResult(b)
			return err
		}},
	}
}

func readAll(b []byte) error {
	var r RowReader
	if err := r.Reset(b); err != nil {
		return err
	}
	for {
		row, err := r.Next()
		if err != nil || row == nil {
			return err
		}
	}
}

func FuzzDecode(f *testing.F) {
	all := messages(f)
	for _, m := range all {
		f.Add(m.good)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		for _, m := range all {
			_ = m.decode(b)
		}
		_, _ = DecodeSession(b)
	})
}

func BenchmarkRows(b *testing.B) {
	var rows []types.Row
	for i := range 200 {
		rows = append(rows, types.Row{
			types.NewText("orders/" + strconv.Itoa(i)), types.NewInt(int64(i * 1000)),
			types.NewNumeric(int64(i), 2), types.NewBool(i%2 == 0),
			{K: types.KindTimestamp, N: 8e14 + int64(i)}, types.Null, types.NewFloat8(float64(i) / 3),
			types.NewJSONB("some document of usual length, forty bytes"),
		})
	}
	n := len(rows) * len(rows[0])
	var w RowWriter
	for _, row := range rows {
		w.Add(row)
	}
	batch := append([]byte(nil), w.Take()...)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, row := range rows {
				w.Add(row)
			}
			w.Take()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/value")
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		var r RowReader
		for b.Loop() {
			if err := r.Reset(batch); err != nil {
				b.Fatal(err)
			}
			for r.Len() > 0 {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/value")
	})
}
