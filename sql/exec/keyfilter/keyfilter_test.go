package keyfilter_test

import (
	"encoding/binary"
	"strconv"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/keyfilter"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// filterOf returns the filter of the int4 keys 0, 3, 6, … below 3n, each added twice.
func filterOf(t testing.TB, n int) types.Datum {
	t.Helper()
	mem := memory.New(1 << 30)
	set := keyfilter.Set{Mem: mem}
	for i := range 2 * n {
		if err := set.Add(key(int64(i % n * 3))); err != nil {
			t.Fatal(err)
		}
	}
	d, err := set.Filter()
	if err != nil {
		t.Fatal(err)
	}
	if set.Free(); mem.Used() != 0 {
		t.Errorf("%d bytes are held after Free", mem.Used())
	}
	return d
}

func key(n int64) []byte { return types.AppendKey(nil, types.Int4, types.NewInt(n), false) }

// TestFilter: a filter has all keys of its set (KF1), and few others.
func TestFilter(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 257, 5000, 100_000} {
		d := filterOf(t, n)
		f, err := keyfilter.Parse(d)
		if err != nil || !f.Selects() {
			t.Fatal(n, err)
		}
		wrong := 0
		for i := range int64(n) {
			if !f.Has(key(3 * i)) {
				t.Fatalf("a filter of %d keys lacks one", n)
			}
			if f.Has(key(3*i + 1)) {
				wrong++
			}
		}
		if wrong > n/50+3 {
			t.Errorf("a filter of %d keys has %d of %d others", n, wrong, n)
		}
		if n >= 5000 && len(d.S) > n*3/2 {
			t.Errorf("a filter of %d keys has %d bytes", n, len(d.S))
		}
	}
	f, err := keyfilter.Parse(filterOf(t, 0))
	if err != nil || f.Selects() || !f.Has(key(1)) {
		t.Error("null does not describe the filter of all keys", err)
	}
}

// TestRoom: a set ends with the error of its account, before it uses more.
func TestRoom(t *testing.T) {
	mem := memory.New(100 << 10)
	set := keyfilter.Set{Mem: mem}
	var err error
	for i := int64(0); err == nil && i < 1e5; i++ {
		err = set.Add(key(i))
	}
	if set.Free(); !memory.IsFull(err) || mem.Used() != 0 {
		t.Error(err, mem.Used())
	}
}

// TestScan: a scan keeps the rows whose keys all filters have, none with a null, and stops to test
// by a filter that removes hardly any row.
func TestScan(t *testing.T) {
	n := &plan.Scan{
		Slots: []int{0, 1},
		KeyFilters: []plan.KeyFilter{
			{Param: 0, Keys: []int{1}, Types: []types.OID{types.Int4}},
			{Param: 1, Keys: []int{0}, Types: []types.OID{types.Int4}},
		},
	}
	s, err := keyfilter.NewScan(n)
	if err != nil {
		t.Fatal(err)
	}
	c := &expr.Ctx{Outers: types.Row{filterOf(t, 1000), types.Null}}
	if err := s.Start(c); err != nil {
		t.Fatal(err)
	}
	row := func(v types.Datum) types.Row { return types.Row{types.NewInt(1), v} }
	if !s.Keeps(row(types.NewInt(9))) || s.Keeps(row(types.NewInt(4000))) || s.Keeps(row(types.Null)) {
		t.Error("the scan keeps other rows")
	}
	for range 10_000 {
		s.Keeps(row(types.NewInt(9)))
	}
	if !s.Keeps(row(types.NewInt(4000))) {
		t.Error("the filter is used although it removes nothing")
	}
	if err := s.Start(c); err != nil || s.Keeps(row(types.NewInt(4000))) {
		t.Error("the next execution does not use the filter", err)
	}
}

func TestDamagedScans(t *testing.T) {
	for _, f := range []plan.KeyFilter{
		{}, {Keys: []int{0}}, {Keys: []int{1}, Types: []types.OID{types.Int4}}, {Keys: []int{-1}, Types: []types.OID{types.Int4}},
	} {
		if _, err := keyfilter.NewScan(&plan.Scan{Slots: []int{0}, KeyFilters: []plan.KeyFilter{f}}); err == nil {
			t.Errorf("%v is compiled", f)
		}
	}
}

// FuzzParse: no bytes make a filter panic.
func FuzzParse(f *testing.F) {
	for _, n := range []int{1, 100} {
		f.Add([]byte(filterOf(f, n).S), int64(5))
	}
	huge := []byte(filterOf(f, 1).S)
	binary.LittleEndian.PutUint32(huge[9:], 1<<31)
	f.Add(huge, int64(1))
	f.Fuzz(func(t *testing.T, b []byte, n int64) {
		filter, err := keyfilter.Parse(types.NewBytes(string(b)))
		if err != nil {
			if pgerr.Code(err) != pgerr.DataCorrupted {
				t.Error(err)
			}
			return
		}
		filter.Has(key(n))
		filter.Has([]byte(strconv.Itoa(int(n))))
	})
}

func BenchmarkHas(b *testing.B) {
	f, err := keyfilter.Parse(filterOf(b, 10_000))
	if err != nil {
		b.Fatal(err)
	}
	k := key(12345)
	for b.Loop() {
		f.Has(k)
	}
}
