package spool

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

// TestRuns writes several runs to one file at the same time, and reads them from their beginning,
// from their middle, and while they grow.
func TestRuns(t *testing.T) {
	mem := memory.New(8 << 20).WithFiles(t.TempDir())
	file := NewFile(mem)
	const runs, rows = 5, 3000
	row := func(run, n int) types.Row {
		return types.Row{types.NewInt(int64(run)), types.NewInt(int64(n)), types.NewText(strings.Repeat("x", n%700*(n%700)/30))}
	}
	var all []*Run
	var growing []*Reader
	for range runs {
		r := file.NewRun(8 << 10)
		all, growing = append(all, r), append(growing, r.Reader())
	}
	got := make(types.Row, 3)
	check := func(r *Reader, run, n int) {
		t.Helper()
		ok, err := r.Row(got)
		if err != nil || !ok {
			t.Fatalf("run %d, row %d: %v, %v", run, n, ok, err)
		}
		for i, want := range row(run, n) {
			if got[i] != want {
				t.Fatalf("run %d, row %d: %v, not %v", run, n, got[:2], want)
			}
		}
	}
	for n := range rows {
		for i, r := range all {
			if err := r.AddRow(row(i, n)); err != nil {
				t.Fatal(err)
			}
			if n%100 == 0 {
				check(growing[i], i, n/100)
			}
		}
	}
	for i, r := range all {
		if err := r.End(); err != nil || r.Len() != rows {
			t.Fatal(r.Len(), err)
		}
		from := r.Reader()
		for _, start := range []int{0, 1, 2500, 17} {
			if err := from.SeekTo(int64(start)); err != nil {
				t.Fatal(err)
			}
			for n := start; n < min(start+400, rows); n++ {
				check(from, i, n)
			}
		}
		if err := from.SeekTo(rows - 1); err != nil {
			t.Fatal(err)
		}
		check(from, i, rows-1)
		if ok, err := from.Row(got); ok || err != nil {
			t.Error("a row behind the last", err)
		}
		from.Close()
		growing[i].Close()
	}
	if mem.Used() == 0 || mem.Files() != file.Size() {
		t.Errorf("%d bytes of memory and %d of files are counted, of %d", mem.Used(), mem.Files(), file.Size())
	}
	file.Close()
	if mem.Used() != 0 || mem.Files() != 0 {
		t.Errorf("%d bytes of memory and %d of files are still counted", mem.Used(), mem.Files())
	}
}

func TestFileLimit(t *testing.T) {
	mem := memory.Limited(memory.Limits{Files: 20 << 10}).WithFiles(t.TempDir())
	file := NewFile(mem)
	defer file.Close()
	run := file.NewRun(4 << 10)
	var err error
	for n := 0; err == nil; n++ {
		if n > 1000 {
			t.Fatal("no limit")
		}
		err = run.AddRow(types.Row{types.NewText(strings.Repeat("x", 100))})
	}
	if !pgerr.Is(err, pgerr.ConfigurationLimitExceeded) || pgerr.From(err).Message != "temporary file size exceeds temp_file_limit (20kB)" {
		t.Error(err)
	}
}

// FuzzRun reads rows as they were written, and refuses a damaged file.
func FuzzRun(f *testing.F) {
	f.Add(uint64(1), uint16(10), int64(3), byte(1))
	f.Add(uint64(2), uint16(3000), int64(70_000), byte(0x80))
	f.Fuzz(func(t *testing.T, seed uint64, rows uint16, at int64, flip byte) {
		rng := rand.New(rand.NewPCG(seed, 0))
		file := NewFile(nil)
		defer file.Close()
		run := file.NewRun(1 << 10)
		var want []types.Row
		width := rng.IntN(4)
		for range rows % 4096 {
			row := make(types.Row, width)
			for i := range row {
				row[i] = types.Datum{K: types.Kind(rng.IntN(20)), A: int32(rng.Uint32()), N: int64(rng.Uint64()), S: strings.Repeat("x", rng.IntN(9))}
			}
			want = append(want, row)
			if err := run.AddRow(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := run.End(); err != nil {
			t.Fatal(err)
		}
		read := func() error {
			r, got := run.Reader(), make(types.Row, width)
			defer r.Close()
			for n := 0; ; n++ {
				ok, err := r.Row(got)
				if err != nil {
					return err
				}
				if !ok {
					if n != len(want) {
						t.Fatalf("%d rows, not %d", n, len(want))
					}
					return nil
				}
				for i := range got {
					if got[i] != want[n][i] {
						t.Fatalf("row %d: %v, not %v", n, got, want[n])
					}
				}
			}
		}
		if err := read(); err != nil {
			t.Fatal(err)
		}
		if flip == 0 || at < 0 || at >= file.Size() {
			return
		}
		b := []byte{0}
		if _, err := file.file.ReadAt(b, at); err != nil {
			t.Fatal(err)
		}
		b[0] ^= flip
		if _, err := file.file.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
		if err := read(); !pgerr.Is(err, pgerr.IOError) {
			t.Fatalf("a damaged file: %v", err)
		}
	})
}
