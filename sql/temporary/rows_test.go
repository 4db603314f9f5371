package temporary

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

func config(t *testing.T) Config { return Config{Dir: t.TempDir(), Files: -1} }

// key returns the key of a row of a table.
func key(storage, n int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(storage))
	return fmt.Appendf(append(b, 0, 0, 0, 0), "%06d", n)
}

// contents reads everything in both directions, and compares it with what is expected.
func contents(t *testing.T, v *view, want map[string]string) {
	t.Helper()
	var forwards, backwards []string
	got := map[string]string{}
	all := txn.Span{Start: []byte{0}, End: []byte{0xff}}
	err := v.Scan(t.Context(), all, false, func(key, value []byte) error {
		forwards = append(forwards, string(key))
		got[string(key)] = string(value)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Scan(t.Context(), all, true, func(key, _ []byte) error {
		backwards = append(backwards, string(key))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) || !slices.IsSorted(forwards) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	if slices.Reverse(backwards); !slices.Equal(forwards, backwards) {
		t.Fatal("a scan backwards finds other keys")
	}
}

// TestRandom compares rows with a map through random writes, marks, views and ends of transactions.
// Values are many times what stays in memory.
func TestRandom(t *testing.T) {
	for seed := range uint64(8) {
		r, rows := rand.New(rand.NewPCG(seed, 1)), New(config(t))
		now := map[string]string{}
		type mark struct {
			at   int
			then map[string]string
		}
		var marks []mark
		for range 6000 {
			k, n := key(r.IntN(3), r.IntN(300)), r.IntN(100)
			switch {
			case n < 70:
				v := bytes.Repeat([]byte{byte('a' + r.IntN(26))}, r.IntN(2000))
				if err := (part{rows}).Put(k, v); err != nil {
					t.Fatal(err)
				}
				now[string(k)] = string(v)
			case n < 90:
				if err := (part{rows}).Delete(k); err != nil {
					t.Fatal(err)
				}
				delete(now, string(k))
			case n < 95:
				marks = append(marks, mark{rows.Mark(), maps.Clone(now)})
			case n < 97 && len(marks) > 0:
				i := r.IntN(len(marks))
				rows.UndoTo(marks[i].at)
				now, marks = maps.Clone(marks[i].then), marks[:i+1]
			case n < 98 && len(marks) > 0:
				m := marks[r.IntN(len(marks))]
				v := rows.view()
				v.Seen(txn.Mark{Writes: m.at})
				contents(t, v, m.then)
				v.Close()
			case n < 99:
				marks = nil
				var kept func(uint32) bool
				if gone := uint32(r.IntN(20)); gone < 3 {
					kept = func(storage uint32) bool { return storage != gone }
					maps.DeleteFunc(now, func(k, _ string) bool { return binary.BigEndian.Uint32([]byte(k)) == gone })
				}
				rows.End(kept)
			}
		}
		v := rows.view()
		contents(t, v, now)
		sizes := map[uint32]Size{}
		for k, value := range now {
			s := binary.BigEndian.Uint32([]byte(k))
			sizes[s] = Size{sizes[s].Rows + 1, sizes[s].Bytes + int64(len(k)+len(value))}
			got, err := v.Get(t.Context(), []byte(k))
			if err != nil || string(got) != value {
				t.Fatalf("%q: %d bytes, %v", k, len(got), err)
			}
		}
		for s, want := range sizes {
			if got, _ := rows.Size(s); got != want {
				t.Errorf("the size of %d is %v, not %v", s, got, want)
			}
		}
		if rows.Close(); rows.held != 0 || rows.values.files.Files() != 0 {
			t.Errorf("%d bytes of memory and %d of files are left", rows.held, rows.values.files.Files())
		}
	}
}

// TestViewStays: a view does not see what is written later, whatever happens to the values (TT1).
func TestViewStays(t *testing.T) {
	rows := New(config(t))
	defer rows.Close()
	put := func(n int, value string) {
		t.Helper()
		if err := (part{rows}).Put(key(1, n), []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	put(1, "one")
	put(2, "two")
	v := rows.view()
	put(2, "other")
	for n := range 200 {
		put(n+3, string(bytes.Repeat([]byte("x"), 1000)))
	}
	rows.UndoTo(1)
	contents(t, v, map[string]string{string(key(1, 1)): "one", string(key(1, 2)): "two"})
	if (part{rows}).changedSince(key(1, 1), 1) || !(part{rows}).changedSince(key(1, 1), 0) {
		t.Error("which keys were changed since a mark")
	}
}

// TestScanBounds: spans are half open, in both directions.
func TestScanBounds(t *testing.T) {
	rows := New(config(t))
	defer rows.Close()
	for n := range 10 {
		if err := (part{rows}).Put(key(1, n), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, reverse := range []bool{false, true} {
		for _, x := range []struct {
			span txn.Span
			want int
		}{
			{txn.Span{Start: key(1, 2), End: key(1, 5)}, 3}, {txn.Span{Start: key(1, 2)}, 8}, {txn.Point(key(1, 9)), 1},
			{txn.Prefix(key(1, 0)[:8]), 10}, {txn.Span{Start: key(2, 0), End: key(3, 0)}, 0},
		} {
			n := 0
			v := rows.view()
			if err := v.ScanAll(t.Context(), []txn.Span{x.span}, reverse, func(_, value []byte) error {
				if n++; value == nil {
					t.Error("a value is nil")
				}
				return nil
			}); err != nil || n != x.want {
				t.Errorf("%q, reverse %v: %d keys, %v", x.span, reverse, n, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	for n := range 3000 {
		if err := (part{rows}).Put(key(1, n), nil); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := rows.view().Scan(ctx, txn.Span{}, false, func(_, _ []byte) error { return nil }); err == nil {
		t.Error("a scan goes on after it was canceled")
	}
}

// TestLimits: keys above the limit of memory are refused, and so are files above theirs; what was
// written before stays.
func TestLimits(t *testing.T) {
	for _, x := range []struct {
		change func(*Config)
		code   string
	}{
		{func(c *Config) { c.Memory = 100 << 10 }, pgerr.OutOfMemory},
		{func(c *Config) { c.Files = 100 << 10 }, pgerr.ConfigurationLimitExceeded},
	} {
		c := config(t)
		x.change(&c)
		rows := New(c)
		var err error
		n := 0
		for ; err == nil && n < 10000; n++ {
			err = (part{rows}).Put(key(1, n), make([]byte, 1000))
		}
		if !pgerr.Is(err, x.code) {
			t.Errorf("%s: %v", x.code, err)
		}
		if size, _ := rows.Size(1); size.Rows != int64(n-1) {
			t.Errorf("%d rows after %d writes", size.Rows, n)
		}
		if rows.UndoTo(0); rows.tree.Len() != 0 {
			t.Error("rows are left")
		}
		if rows.End(nil); rows.held != 0 {
			t.Errorf("%d bytes are left", rows.held)
		}
		rows.Close()
	}
}

// TestRewrite: values of no use are removed from the file between transactions.
func TestRewrite(t *testing.T) {
	rows := New(config(t))
	defer rows.Close()
	for round := range 10 {
		for n := range 1000 {
			if err := (part{rows}).Put(key(1, n), fmt.Appendf(nil, "%1000d", round)); err != nil {
				t.Fatal(err)
			}
		}
		rows.End(nil)
		if end := rows.values.end(); end > 3_000_000 {
			t.Fatalf("%d bytes of values after round %d", end, round)
		}
	}
	got, err := (part{rows}).Newest(t.Context(), key(1, 500))
	if want := fmt.Sprintf("%1000d", 9); err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}
