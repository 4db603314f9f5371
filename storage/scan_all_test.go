package storage

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// localEntry is the key of entry n of a local index of a table.
func localEntry(table uint32, n int) []byte {
	return append(keyspace.IndexPrefix(table, 1), fmt.Sprintf("e%04d", n)...)
}

func entrySpan(table uint32, from, to int) txn.Span {
	return txn.Span{Start: localEntry(table, from), End: localEntry(table, to)}
}

// commitEntries writes entries of a local index in one transaction; those with an empty value are
// removed.
func commitEntries(t testing.TB, r *Replica, entries map[string]string) {
	t.Helper()
	tx := r.Tx(txn.NewID())
	bufferEntries(t, tx, entries)
	if _, err := tx.Commit(t.Context(), txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
}

func bufferEntries(t testing.TB, tx *Tx, entries map[string]string) {
	t.Helper()
	for key, value := range entries {
		err := tx.Delete([]byte(key))
		if value != "" {
			err = tx.Put([]byte(key), []byte(value))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// randomEntries returns changes of random entries.
func randomEntries(rnd *rand.Rand, n, limit int) map[string]string {
	out := map[string]string{}
	for range n {
		value := ""
		if rnd.Intn(3) > 0 {
			value = fmt.Sprint(rnd.Intn(1000))
		}
		out[string(localEntry(20000, rnd.Intn(limit)))] = value
	}
	return out
}

// randomSpans returns spans of entries, which are disjoint and in the order of a scan. Some are
// empty, some adjacent, and the last may end with the index.
func randomSpans(rnd *rand.Rand, limit int, reverse bool) (list []txn.Span) {
	for at := rnd.Intn(5); at < limit && len(list) < 12; {
		end := at + rnd.Intn(limit/10)
		list = append(list, entrySpan(20000, at, end))
		if at = end; rnd.Intn(3) > 0 {
			at += rnd.Intn(limit / 8)
		}
	}
	if rnd.Intn(3) == 0 {
		list[len(list)-1].End = txn.PrefixEnd(keyspace.IndexPrefix(20000, 1))
	}
	if reverse {
		slices.Reverse(list)
	}
	return list
}

// collect returns a function for scans that collects what they find up to a limit (0: all).
func collect(out *[]string, limit int) func(key, value []byte) error {
	return func(key, value []byte) error {
		*out = append(*out, fmt.Sprintf("%s=%s", key[8:], value))
		if len(*out) == limit {
			return ErrStop
		}
		return nil
	}
}

// TestScanAll compares scans of many spans with a scan of all, with deleted and changed entries, in
// tables and in memory, and with what the transaction itself has written.
func TestScanAll(t *testing.T) {
	const limit = 400
	rnd := rand.New(rand.NewSource(7))
	r := openTest(t, t.TempDir(), small)
	var snapshots []txn.Timestamp
	for n := range 12 {
		commitEntries(t, r, randomEntries(rnd, 80, limit))
		snapshots = append(snapshots, current(t, r))
		if n == 6 {
			checkpoint(t, r)
		}
	}
	tx := r.Tx(txn.NewID())
	defer tx.Rollback()
	bufferEntries(t, tx, randomEntries(rnd, 60, limit))
	for n := range 600 {
		reverse, own := rnd.Intn(2) == 0, r.Tx(txn.NewID())
		if rnd.Intn(2) == 0 {
			own = tx
		}
		v, err := own.View(t.Context(), snapshots[rnd.Intn(len(snapshots))])
		if err != nil {
			t.Fatal(err)
		}
		list, stop := randomSpans(rnd, limit, reverse), rnd.Intn(3)*10
		var got, want []string
		if _, ok := v.together(list, reverse); !ok && len(list) > 1 {
			t.Fatal("the spans are read one by one")
		}
		err = v.ScanAll(t.Context(), list, reverse, collect(&got, stop))
		whole := txn.Prefix(keyspace.IndexPrefix(20000, 1))
		one := v.Scan(t.Context(), whole, reverse, func(key, value []byte) error {
			if !slices.ContainsFunc(list, func(s txn.Span) bool { return s.Contains(key) }) {
				return nil
			}
			return collect(&want, stop)(key, value)
		})
		if err != nil || one != nil || !slices.Equal(got, want) {
			t.Fatalf("%d: spans %q, reverse %v: %q, and not %q; %v, %v", n, list, reverse, got, want, err, one)
		}
		v.Close()
	}
}

// TestScansOfOneView compares scans of one view, which share cursors, with those of views of their own,
// while others write and memtables are replaced.
func TestScansOfOneView(t *testing.T) {
	const limit = 400
	rnd := rand.New(rand.NewSource(11))
	r := openTest(t, t.TempDir(), small)
	for range 5 {
		commitEntries(t, r, randomEntries(rnd, 80, limit))
	}
	tx := r.Tx(txn.NewID())
	defer tx.Rollback()
	bufferEntries(t, tx, randomEntries(rnd, 60, limit))
	T := current(t, r)
	view := func() *View {
		v, err := tx.View(t.Context(), T)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	var scan func(v *View, n int64, deep int) []string
	scan = func(v *View, seed int64, deep int) (out []string) {
		rnd := rand.New(rand.NewSource(seed))
		at, reverse, stop := rnd.Intn(limit), rnd.Intn(2) == 0, rnd.Intn(3)*4
		take := collect(&out, stop)
		err := v.Scan(t.Context(), entrySpan(20000, at, at+rnd.Intn(40)), reverse, func(key, value []byte) error {
			before := len(out)
			if deep > 0 && rnd.Intn(4) == 0 {
				for _, x := range scan(v, seed*31+int64(before), deep-1) {
					out = append(out, "in "+x)
				}
			}
			return take(key, value)
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	shared := view()
	defer shared.Close()
	for n := range int64(500) {
		if n%10 == 0 {
			commitEntries(t, r, randomEntries(rnd, 20, limit))
		}
		if n == 250 {
			checkpoint(t, r)
		}
		own := view()
		got, want := scan(shared, n, 2), scan(own, n, 2)
		if own.Close(); !slices.Equal(got, want) {
			t.Fatalf("%d: %q, not %q", n, got, want)
		}
	}
}

// TestScansWhilePrepared: a scan finds what was prepared at or below the view's timestamp when scans of
// the same view before it had a cursor.
func TestScansWhilePrepared(t *testing.T) {
	r := openTest(t, t.TempDir(), slowRecovery)
	commitEntries(t, r, map[string]string{string(localEntry(20000, 1)): "a", string(localEntry(20000, 5)): "b"})
	tx := r.Tx(txn.NewID())
	bufferEntries(t, tx, map[string]string{string(localEntry(20000, 6)): "c"})
	C := current(t, r).Add(10 * time.Millisecond)
	if err := tx.Prepare(t.Context(), txn.PrepareRequest{C: C, Coordinator: 1, Writers: []txn.FragmentID{1}}); err != nil {
		t.Fatal(err)
	}
	v := viewAt(t, r, C)
	scan := func(span txn.Span) (got []string) {
		if err := v.Scan(t.Context(), span, false, collect(&got, 0)); err != nil {
			t.Fatal(err)
		}
		return got
	}
	for range 3 {
		scan(entrySpan(20000, 0, 3))
	}
	// More than a memtable: what is decided then is where a cursor from before does not look.
	checkpoint(t, r)
	if _, err := tx.Decide(t.Context(), txn.Decision{
		ID: tx.ID(), C: C, Outcome: txn.Committed, Writers: []txn.FragmentID{1},
	}); err != nil {
		t.Fatal(err)
	}
	if got := scan(entrySpan(20000, 5, 9)); !slices.Equal(got, []string{"e0005=b", "e0006=c"}) {
		t.Errorf("after the decision: %q", got)
	}
}

// TestScanAllErrors: an error of the caller ends a scan of many spans.
func TestScanAllErrors(t *testing.T) {
	r := openTest(t, t.TempDir())
	commitEntries(t, r, map[string]string{string(localEntry(20000, 1)): "a", string(localEntry(20000, 5)): "b"})
	v, boom, n := viewAt(t, r, current(t, r)), errors.New("boom"), 0
	list := []txn.Span{entrySpan(20000, 0, 3), entrySpan(20000, 4, 9)}
	err := v.ScanAll(t.Context(), list, false, func(_, _ []byte) error { n++; return boom })
	if !errors.Is(err, boom) || n != 1 {
		t.Errorf("%d entries, %v", n, err)
	}
	n = 0
	err = v.ScanAll(t.Context(), list, false, func(_, _ []byte) error {
		if n++; n == 1 {
			return r.Close()
		}
		return nil
	})
	if n != 1 || !pgerr.Is(err, pgerr.CannotConnectNow) {
		t.Errorf("of a replica that is closed: %d entries, %v", n, err)
	}
	if err := v.ScanAll(t.Context(), list, false, func(_, _ []byte) error { return nil }); !pgerr.Is(
		err, pgerr.CannotConnectNow) {
		t.Errorf("of a closed replica: %v", err)
	}
}

// TestScanAllWaits: a scan of many spans waits for a prepared transaction that writes to one of them.
func TestScanAllWaits(t *testing.T) {
	r := openTest(t, t.TempDir(), slowRecovery)
	commitEntries(t, r, map[string]string{string(localEntry(20000, 1)): "a", string(localEntry(20000, 5)): "b"})
	tx := r.Tx(txn.NewID())
	bufferEntries(t, tx, map[string]string{string(localEntry(20000, 6)): "c"})
	C := current(t, r).Add(10 * time.Millisecond)
	if err := tx.Prepare(t.Context(), txn.PrepareRequest{C: C, Coordinator: 1, Writers: []txn.FragmentID{1}}); err != nil {
		t.Fatal(err)
	}
	v := viewAt(t, r, C)
	scan := func(last txn.Span) (got []string, err error) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // a scan that does not wait does not ask
		err = v.ScanAll(ctx, []txn.Span{entrySpan(20000, 0, 3), last}, false, collect(&got, 0))
		return got, err
	}
	if got, err := scan(entrySpan(20000, 5, 6)); err != nil || !slices.Equal(got, []string{"e0001=a", "e0005=b"}) {
		t.Errorf("without what is prepared: %q, %v", got, err)
	}
	if got, err := scan(entrySpan(20000, 5, 7)); !errors.Is(err, context.Canceled) {
		t.Errorf("with what is prepared: %q, %v", got, err)
	}
	if _, err := tx.Decide(t.Context(), txn.Decision{
		ID: tx.ID(), C: C, Outcome: txn.Committed, Writers: []txn.FragmentID{1},
	}); err != nil {
		t.Fatal(err)
	}
	if got, err := scan(entrySpan(20000, 5, 7)); err != nil || !slices.Equal(got, []string{"e0001=a", "e0005=b", "e0006=c"}) {
		t.Errorf("after the decision: %q, %v", got, err)
	}
}

// TestScanAllInstalling: a scan of many spans finds what is on its way to them.
func TestScanAllInstalling(t *testing.T) {
	r, at, _ := heldInstall(t, 1)
	v, n := viewAt(t, r, at), 0
	prefix := keyspace.IndexPrefix(keyspace.TableOf(rowKey(0)), 7)
	list := []txn.Span{
		{Start: append(slices.Clone(prefix), "000"...), End: append(slices.Clone(prefix), "002"...)},
		{Start: append(slices.Clone(prefix), "010"...), End: append(slices.Clone(prefix), "013"...)},
	}
	err := v.ScanAll(t.Context(), list, false, func(_, _ []byte) error { n++; return nil })
	if n != 5 || err != nil || r.txns.undecided.Load() == 0 {
		t.Errorf("%d entries, %v", n, err)
	}
}

// TestScanAllSerializable: a scan of many spans records these, and not what lies between them.
func TestScanAllSerializable(t *testing.T) {
	for _, x := range []struct {
		name           string
		entry, limit   int
		reverse, wrong bool
	}{
		{"in the first span", 1, 0, false, true}, {"in the last span", 25, 0, false, true},
		{"between spans", 15, 0, false, false}, {"behind them", 30, 0, false, false},
		{"before the limit", 1, 2, false, true}, {"behind the limit", 29, 2, false, false},
		{"backwards, before the limit", 29, 2, true, true}, {"backwards, behind the limit", 1, 2, true, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := openCluster(t, tempDirs(t, 1))
			commitEntries(t, c.rs[0], map[string]string{
				string(localEntry(20000, 2)): "a", string(localEntry(20000, 22)): "b", string(localEntry(20000, 27)): "c",
			})
			first, second := c.serial(), c.serial()
			v, err := second.parts[0].View(t.Context(), second.T)
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			list := []txn.Span{entrySpan(20000, 0, 10), entrySpan(20000, 20, 30)}
			if x.reverse {
				slices.Reverse(list)
			}
			var got []string
			if err := v.ScanAll(t.Context(), list, x.reverse, collect(&got, x.limit)); err != nil {
				t.Fatal(err)
			}
			bufferEntries(t, first.parts[0], map[string]string{string(localEntry(20000, x.entry)): "new"})
			if err := errors.Join(second.put(0, rowKey(90), "x"), first.commit()); err != nil {
				t.Fatal(err)
			}
			if err := second.commit(); pgerr.Is(err, pgerr.SerializationFailure) != x.wrong {
				t.Errorf("after %q: %v", got, err)
			}
		})
	}
}

// TestScanAllMoved: rows and entries of global indexes that have moved are read where they are now,
// and a local index is read with one cursor all the same.
func TestScanAllMoved(t *testing.T) {
	m := openMover(t)
	a, b := m.c.rs[0], m.c.rs[1]
	for bucket := uint32(90); bucket < 210; bucket += 10 {
		commitRow(t, a, movedKey(bucket, "k"), fmt.Sprint("row ", bucket))
		tx := a.Tx(txn.NewID())
		bufferEntries(t, tx, map[string]string{string(movedEntry(bucket, "g")): fmt.Sprint("entry ", bucket)})
		if _, err := tx.Commit(t.Context(), txn.CommitRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	m.move(a, b, movedRange)
	m.move(b, a, movedRange)
	commitEntries(t, a, map[string]string{string(localEntry(movedTable, 3)): "x", string(localEntry(movedTable, 8)): "y"})
	v := viewAt(t, a, current(t, a))
	for _, reverse := range []bool{false, true} {
		local := []txn.Span{entrySpan(movedTable, 0, 4), entrySpan(movedTable, 7, 9)}
		rows := []txn.Span{keyspace.BucketSpan(movedTable, 90, 101), keyspace.BucketSpan(movedTable, 150, 171)}
		global := []txn.Span{
			{Start: movedEntry(90, ""), End: movedEntry(101, "")}, {Start: movedEntry(150, ""), End: movedEntry(171, "")},
		}
		for _, x := range []struct {
			list     []txn.Span
			together bool
			want     []string
		}{
			{local, true, []string{"x", "y"}},
			{rows, false, []string{"row 90", "row 100", "row 150", "row 160", "row 170"}},
			{global, false, []string{"entry 90", "entry 100", "entry 150", "entry 160", "entry 170"}},
		} {
			if reverse {
				slices.Reverse(x.list)
				slices.Reverse(x.want)
			}
			var got []string
			err := v.ScanAll(t.Context(), x.list, reverse, func(_, value []byte) error {
				got = append(got, string(value))
				return nil
			})
			if _, together := v.together(x.list, reverse); err != nil || together != x.together || !slices.Equal(got, x.want) {
				t.Errorf("reverse %v: %q, and not %q; with one cursor: %v; %v", reverse, got, x.want, together, err)
			}
		}
	}
}

// BenchmarkScanAll reads ten spans of five entries of an index, with one cursor and with ten.
func BenchmarkScanAll(b *testing.B) {
	r := openTest(b, b.TempDir())
	for from := 0; from < 100_000; from += 10_000 {
		entries := map[string]string{}
		for n := from; n < from+10_000; n++ {
			entries[string(wideEntry(n))] = "12345678"
		}
		commitEntries(b, r, entries)
	}
	v, err := r.Tx(txn.ID{}).View(b.Context(), current(b, r))
	if err != nil {
		b.Fatal(err)
	}
	defer v.Close()
	rnd := rand.New(rand.NewSource(1))
	spans := func() (list []txn.Span) {
		var at []int
		for range 10 {
			at = append(at, rnd.Intn(100_000))
		}
		slices.Sort(at)
		for i, n := range at {
			if i == 0 || n > at[i-1]+5 {
				list = append(list, txn.Span{Start: wideEntry(n), End: wideEntry(n + 5)})
			}
		}
		return list
	}
	n := 0
	count := func(_, _ []byte) error { n++; return nil }
	b.Run("one cursor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := v.ScanAll(b.Context(), spans(), false, count); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("each by itself", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, s := range spans() {
				if err := v.Scan(b.Context(), s, false, count); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func wideEntry(n int) []byte {
	return append(keyspace.IndexPrefix(20000, 1), fmt.Sprintf("e%08d", n)...)
}
