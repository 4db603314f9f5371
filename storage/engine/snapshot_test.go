package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/rowcache"
	"github.com/sherddb/sherd/txn"
)

// keys returns the keys and versions that a cursor goes through.
func keys(t *testing.T, c *Cursor) (out []string) {
	t.Helper()
	defer c.Close()
	for ; c.Valid(); c.Next() {
		at := fmt.Sprintf("%s@%d", keyspace.PrimaryKeyOf(c.Item().Key()), c.Item().At())
		if c.Item().Deleted() {
			at += " deleted"
		}
		out = append(out, at)
	}
	return out
}

// history is an engine with rows 1 to 4. Row 2 was changed and row 3 deleted later.
func history(t *testing.T) *Engine {
	e := open(t, t.TempDir())
	for n := 1; n <= 4; n++ {
		set(t, e, row(n), fmt.Sprint("old ", n), 10)
	}
	set(t, e, row(2), "new 2", 20)
	b := e.NewBatch()
	if err := b.Remove(row(3), 30); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestGet(t *testing.T) {
	e := history(t)
	for _, c := range []struct {
		n       int
		T       txn.Timestamp
		want    string
		version txn.Timestamp
	}{{2, 9, "", 0}, {2, 10, "old 2", 10}, {2, 25, "new 2", 20}, {3, 29, "old 3", 10}, {3, 30, "", 0}, {9, 30, "", 0}} {
		s := e.At(c.T)
		value, version, err := s.Get(row(c.n))
		if string(value) != c.want || version != c.version || err != nil || s.T() != c.T {
			t.Errorf("row %d at %d: %q at %d, %v", c.n, c.T, value, version, err)
		}
		s.Close()
	}
	if got, _, err := e.Latest().Get(row(2)); string(got) != "new 2" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCursors(t *testing.T) {
	e := history(t)
	all := keyspace.TableSpan(20000)
	s := e.At(30)
	defer s.Close()
	odd := s.Scan(all, false)
	odd.Wanted = func(key []byte) bool { return key[len(key)-1]%2 == 1 }
	for name, c := range map[string]struct {
		c    *Cursor
		want []string
	}{
		"scan":     {s.Scan(all, false), []string{"00001@10", "00002@20", "00004@10"}},
		"reverse":  {s.Scan(all, true), []string{"00004@10", "00002@20", "00001@10"}},
		"open end": {s.Scan(txn.Span{Start: row(2), End: keyspace.End}, false), []string{"00002@20", "00004@10"}},
		"end":      {s.Scan(txn.Span{Start: row(1), End: row(4)}, true), []string{"00002@20", "00001@10"}},
		"wanted":   {odd, []string{"00001@10"}},
		"versions": {s.Versions(row(3)), []string{"00003@30 deleted", "00003@10"}},
		"all versions": {s.AllVersions(all, 0),
			[]string{"00001@10", "00002@20", "00002@10", "00003@30 deleted", "00003@10", "00004@10"}},
		"since":        {s.AllVersions(all, 10), []string{"00002@20", "00003@30 deleted"}},
		"since, bound": {s.AllVersions(txn.Span{Start: row(1), End: row(3)}, 10), []string{"00002@20"}},
	} {
		if got := keys(t, c.c); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
	(*Cursor)(nil).Close()
}

func TestRecordsAndIndexes(t *testing.T) {
	e := history(t)
	set(t, e, append(keyspace.IndexPrefix(20000, 7), 'x'), "", 5)
	set(t, e, append(keyspace.IndexPrefix(20001, 0), 'x'), "", 5)
	for T := txn.Timestamp(1); T < 4; T++ {
		set(t, e, keyspace.StampRecord(keyspace.Outcomes, T), fmt.Sprint(uint64(T)), 5)
	}
	set(t, e, keyspace.StampRecord(keyspace.Deletion, 9), "other kind", 5)
	var records []string
	if err := e.Latest().EachRecord(keyspace.Outcomes, func(rest, value []byte) error {
		records = append(records, fmt.Sprintf("%x %s", rest[7:], value))
		return nil
	}); err != nil || !slices.Equal(records, []string{"01 1", "02 2", "03 3"}) {
		t.Errorf("%q, %v", records, err)
	}
	c := e.Latest().Records(keyspace.Outcomes, keyspace.StampRecord(keyspace.Outcomes, 3))
	n := 0
	for ; c.Valid(); c.Next() {
		n++
	}
	if c.Close(); n != 1 {
		t.Errorf("%d records behind the second one", n)
	}
	var indexes []logentry.Index
	err := e.Latest().EachIndex(func(x logentry.Index) error { indexes = append(indexes, x); return nil })
	want := []logentry.Index{{Table: 20000}, {Table: 20000, Index: 7}, {Table: 20001}}
	if err != nil || !slices.Equal(indexes, want) {
		t.Errorf("%v, %v", indexes, err)
	}
}

// TestUncleanStop: what was in memory is gone after a stop without Close, and there after a clean
// one. What was dropped by DiscardMemory is gone, too.
func TestUncleanStop(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		clean, discard bool
		want           string
	}{{false, false, ""}, {true, false, "x"}, {false, true, "x"}} {
		stop := make(chan struct{})
		e, err := Open(newDisk(plenty).options(dir, stop))
		if err != nil {
			t.Fatal(err)
		}
		key := row(1)
		if c.discard {
			key = row(2)
		}
		set(t, e, key, "x", 5)
		close(stop)
		if c.discard {
			e.DiscardMemory()
		}
		if c.clean || c.discard {
			if err := e.Close(c.clean); err != nil {
				t.Fatal(err)
			}
		} else {
			dir = copied(t, dir) // as after a kill
			e.Abandon()
		}
		again := open(t, dir)
		if got := get(t, again, row(1), 5); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
		if got := get(t, again, row(2), 5); got != "" {
			t.Errorf("%+v: %q of what was discarded", c, got)
		}
		again.Abandon()
		dir = copied(t, dir)
		if err := markClean(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRowCache: rows that are read again come from the cache, as the database has them.
func TestRowCache(t *testing.T) {
	c := rowcache.New(1 << 20)
	dir := t.TempDir()
	with := func(o *Options) { o.Rows = c }
	e := open(t, dir, with)
	set(t, e, row(1), "old", 10)
	cached := func(T txn.Timestamp) string {
		value, _, _ := e.rows.Get(row(1), T)
		return string(value)
	}
	check := func(T txn.Timestamp, want string) {
		t.Helper()
		for range 2 {
			if got := get(t, e, row(1), T); got != want {
				t.Errorf("at %d: %q, want %q", T, got, want)
			}
		}
	}
	check(15, "old")
	if got := cached(15); got != "old" {
		t.Errorf("the cache has %q", got)
	}
	check(9, "")
	set(t, e, row(1), "new", 20)
	if got := cached(30); got != "" {
		t.Errorf("the cache has %q", got)
	}
	check(15, "old")
	check(20, "new")

	// A large batch is written while it is filled.
	b := e.NewBatch()
	for n := range bulkKeys + 1 {
		if err := b.Set(row(1+n), []byte("bulk"), 30); err != nil {
			t.Fatal(err)
		}
	}
	check(25, "new")
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	check(30, "bulk")
	check(25, "new")
	if got := cached(30); got != "" && got != "bulk" {
		t.Errorf("the cache has %q", got)
	}
	b = e.NewBatch()
	if err := b.Remove(row(1), 40); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	check(40, "")
	check(30, "bulk")

	check(35, "bulk")
	if err := e.Clear(); err != nil {
		t.Fatal(err)
	}
	check(35, "")
	set(t, e, row(1), "again", 50)
	check(50, "again")
	e.Abandon()
	if _, _, err := e.Latest().Get(row(1)); err == nil {
		t.Error("a closed engine was read")
	}
	e = open(t, dir, with)
	check(49, "")
}
