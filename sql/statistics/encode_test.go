package statistics

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/sherddb/sherd/sql/types"
)

func testTable() *Table {
	r := rand.New(rand.NewPCG(1, 1))
	at := time.UnixMicro(1_700_000_000_000_000).UTC()
	t := &Table{Rows: 1000, Bytes: 50_000, Analyzed: at, AnalyzedRows: 1000, Manual: Runs{7, at.Add(-time.Hour)}}
	t.Automatic = Runs{200, at}
	t.Written = []Counter{{Fragment: 1, Storage: 20000, Term: 3, Rows: 1200}, {Fragment: 2, Storage: 20000, Term: 1}}
	texts := make([]types.Datum, 1000)
	for i := range texts {
		if texts[i] = types.NewText(fmt.Sprintf("name %d", r.IntN(500))); i%5 == 0 {
			texts[i] = types.Null
		}
	}
	for i, f := range []struct {
		oid    types.OID
		values []types.Datum
	}{
		{types.Int4, ints(1000, func(i int) int64 { return int64(i % 7) })},
		{types.Text, texts},
	} {
		key := Key{Position: int16(i + 1)}
		t.Columns = append(t.Columns, Build(Field{Key: key, Type: f.oid, Target: 5}, f.values, 1000))
	}
	t.Columns = append(t.Columns, Column{Key: Key{20001, 1}, Type: types.JSON, Width: 12.5, Distinct: -0.5})
	rows := make([][]types.Datum, len(texts))
	for i := range rows {
		rows[i] = []types.Datum{types.NewInt(int64(i % 7)), texts[i/2]}
	}
	members := []Member{{Key{Position: 1}, types.Int4}, {Key{20002, 1}, types.Text}}
	want := Wanted{Combinations: true, Dependencies: true, Common: true, Target: 5}
	t.Together = []Extended{*BuildExtended(20002, members, rows, 1000, want)}
	for i := range t.Columns { // as they are stored
		c := &t.Columns[i]
		c.NullFrac, c.Width = float64(float32(c.NullFrac)), float64(float32(c.Width))
		c.Correlation = float64(float32(c.Correlation))
		for j := range c.Common {
			c.Common[j].Frac = float64(float32(c.Common[j].Frac))
		}
	}
	return t
}

// TestEncode checks that a table is read as it was written.
func TestEncode(t *testing.T) {
	want := testTable()
	got, err := Decode(want.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got, err := Decode((&Table{Rows: 3}).Encode()); err != nil || got.Rows != 3 || !got.Analyzed.IsZero() {
		t.Errorf("empty: got %+v, %v", got, err)
	}
}

// TestGolden checks that all formats stay readable (V1).
func TestGolden(t *testing.T) {
	file := func(format int) string { return filepath.Join("testdata", fmt.Sprintf("table-%d.golden", format)) }
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file(Format), testTable().Encode(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for format := plainFormat; format <= Format; format++ {
		b, err := os.ReadFile(file(format))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		want := testTable()
		if format < Format {
			want.Together = nil
		}
		if format < countersFormat {
			want.Written = nil
		}
		if format == plainFormat {
			want.Manual, want.Automatic = Runs{1, want.Analyzed}, Runs{}
		}
		head, err := DecodeHead(b)
		if err != nil || !head.Analyzed.Equal(want.Analyzed) || !reflect.DeepEqual(head.Written, want.Written) {
			t.Errorf("format %d: the head is %+v, %v", format, head, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("format %d: got  %+v\nwant %+v", format, got, want)
		}
	}
}

// TestSize checks that the encoding of a table with many wide columns is bounded (ST2), and that what
// is left is still of use.
func TestSize(t *testing.T) {
	for _, columns := range []int{3, 40, 1600} {
		table := &Table{Rows: 1e6}
		r := rand.New(rand.NewPCG(1, 1))
		values := make([]types.Datum, 300)
		for i := range values {
			b := make([]byte, 900)
			for j := range b {
				b[j] = byte('a' + r.IntN(26))
			}
			values[i] = types.NewText(string(b))
		}
		for i := range columns {
			c := Build(Field{Key: Key{Position: int16(i + 1)}, Type: types.Text, Target: 100}, values, 1e6)
			table.Columns = append(table.Columns, c)
		}
		b := table.Encode()
		if len(b) > MaxSize {
			t.Errorf("%d columns: %d bytes", columns, len(b))
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if columns <= 40 && len(got.Columns) != columns {
			t.Errorf("%d columns: %d are left", columns, len(got.Columns))
		}
		if columns == 3 && len(got.Columns[0].Bounds) < 8 {
			t.Errorf("%d bounds are left", len(got.Columns[0].Bounds))
		}
		if len(table.Columns[0].Bounds) != 101 {
			t.Error("Encode has changed the table")
		}
	}
}

// FuzzDecode checks that a damaged encoding is an error, that it stays the same when it is encoded
// again, and that estimates are between 0 and 1 (ST3).
func FuzzDecode(f *testing.F) {
	f.Add(testTable().Encode())
	f.Add((&Table{}).Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := Decode(b)
		if err != nil {
			return
		}
		if len(b) <= MaxSize {
			if again, err := Decode(table.Encode()); err != nil || len(again.Columns) != len(table.Columns) {
				t.Fatalf("encoded again: %v", err)
			}
		}
		for i := range table.Columns {
			v := Variable{Column: &table.Columns[i], Rows: table.Rows}
			for _, d := range []types.Datum{types.NewInt(5), types.NewText("name"), types.NewFloat8(0.5)} {
				lo, hi := &Bound{Value: d}, &Bound{Value: d, Inclusive: true}
				for _, sel := range []float64{
					v.Equal(d), v.EqualUnknown(), v.NotEqual(d), v.Range(lo, nil), v.Range(nil, hi), v.Range(lo, hi),
					v.In([]types.Datum{d}), v.InUnknown(3), v.Prefix("na"), v.IsNull(), Join(v, v), SemiJoin(v, v),
				} {
					if !(sel >= 0 && sel <= 1) {
						t.Fatalf("column %d: an estimate is %v", i, sel)
					}
				}
			}
		}
	})
}
