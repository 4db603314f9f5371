package sql_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/rebalance/rows"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// history is what the keys of a table's rows, or of its local entries, have held: for each key, the
// values and the steps from which they hold.
type history map[string][]rows.Version

func (h history) at(key string, step txn.Timestamp) []byte {
	var value []byte
	for _, v := range h[key] {
		if v.At <= step {
			value = v.Value
		}
	}
	return value
}

// note records the contents at a step.
func (h history) note(step txn.Timestamp, now map[string][]byte) {
	for key := range h {
		if now[key] == nil && h.at(key, step) != nil {
			h[key] = append(h[key], rows.Version{At: step})
		}
	}
	for key, value := range now {
		if !bytes.Equal(h.at(key, step), value) {
			h[key] = append(h[key], rows.Version{At: step, Value: value})
		}
	}
}

// put is a write at a version, as in a fragment that ingests copied entries.
func (h history) put(c rows.Change) {
	list, key := h[string(c.Key)], string(c.Key)
	i, there := slices.BinarySearchFunc(list, c.At, func(v rows.Version, at txn.Timestamp) int {
		return int(v.At) - int(at)
	})
	switch {
	case there && c.Yields && c.Value == nil && list[i].Value != nil:
		return
	case there:
		list[i].Value = bytes.Clone(c.Value)
		return
	}
	h[key] = slices.Insert(list, i, rows.Version{At: c.At, Value: bytes.Clone(c.Value)})
}

// contents reads the rows and the local entries of a table in one fragment.
func contents(
	t *testing.T, r *storage.Replica, table *catalog.Table, global map[uint32]bool,
) (rows, entries map[string][]byte) {
	T, err := r.Snapshot(t.Context())
	must(t, err)
	v, err := r.Tx(txn.NewID()).View(t.Context(), T)
	must(t, err)
	defer v.Close()
	rows, entries = map[string][]byte{}, map[string][]byte{}
	must(t, v.Scan(t.Context(), keyspace.TableSpan(table.StorageID), false, func(key, value []byte) error {
		switch index := keyspace.IndexOf(key); {
		case index == 0:
			rows[string(key)] = bytes.Clone(value)
		case !global[index]:
			entries[string(key)] = bytes.Clone(value)
		}
		return nil
	}))
	return rows, entries
}

// A Deriver derives from the versions of rows, in any order and in any pieces, the entries that the
// executor has written with them.
func TestDerivedEntries(t *testing.T) {
	w := newWorldOf(t, 2)
	c := w.connect(t)
	c.want(`CREATE TABLE r (k int PRIMARY KEY, u int, v int, w int);
		CREATE UNIQUE INDEX r_u ON r (u); CREATE INDEX r_v ON r (v DESC, w); CREATE INDEX r_part ON r (w) WHERE v = 0;
		CREATE INDEX r_expr ON r ((100 / (w + 1))); CREATE UNIQUE INDEX r_near ON r (k, v)`,
		"CREATE TABLE\nCREATE INDEX\nCREATE INDEX\nCREATE INDEX\nCREATE INDEX\nCREATE INDEX")
	c.want(`CREATE TABLE p (hall int, k int, seat int, PRIMARY KEY (hall, k), UNIQUE (hall, seat)) `+
		`WITH (shard_by = 'hall')`, "CREATE TABLE")
	view := w.cfg.Catalog.View()
	rnd := rand.New(rand.NewPCG(7, 11))
	derives(t, w, view.FindTable(catalog.PostgresDB, "public", "r"), rnd, 120, func() {
		text, _, _ := step(rnd, model{})
		c.answer(text) // a refused statement changes nothing
	})
	derives(t, w, view.FindTable(catalog.PostgresDB, "public", "p"), rnd, 60, func() {
		c.answer([]string{
			fmt.Sprintf("INSERT INTO p VALUES (%d, %d, %d)", rnd.IntN(3), rnd.IntN(5), rnd.IntN(6)),
			fmt.Sprintf("UPDATE p SET seat = 5 - seat WHERE hall = %d", rnd.IntN(3)), // exchanges unique values
			fmt.Sprintf("DELETE FROM p WHERE k = %d", rnd.IntN(9)),
		}[rnd.IntN(3)])
	})
}

// derived is what a fragment has held, and what a Deriver has derived from it.
type derived struct{ rows, entries, derived history }

// derives compares the derived entries with those that the statements of change have left, after
// each of them.
func derives(t *testing.T, w *world, def *catalog.Table, rnd *rand.Rand, steps int, change func()) {
	global := map[uint32]bool{}
	for _, x := range def.Indexes {
		global[x.StorageID] = x.Global
	}
	view := w.cfg.Catalog.View()
	all := map[txn.FragmentID]*derived{}
	for _, f := range view.Database(catalog.PostgresDB).Fragments {
		all[f.ID] = &derived{history{}, history{}, history{}}
	}
	for n := range steps {
		change()
		for id, x := range all {
			r, err := w.host.Replicas.Replica(id)
			must(t, err)
			stored, entries := contents(t, r, def, global)
			x.rows.note(txn.Timestamp(n+1), stored)
			x.entries.note(txn.Timestamp(n+1), entries)
		}
	}
	d := table.NewDeriver(view)
	written := 0
	for _, x := range all {
		x.derive(t, d, rnd)
		for key := range maps.Keys(merged(x.entries, x.derived)) {
			written++
			for n := range steps {
				want, got := x.entries.at(key, txn.Timestamp(n+1)), x.derived.at(key, txn.Timestamp(n+1))
				if !bytes.Equal(got, want) {
					t.Fatalf("entry %x at step %d: %x, not %x", key, n+1, got, want)
				}
			}
		}
	}
	if written < 20 || len(d.Tables()) != 1 || d.Tables()[0] != def {
		t.Errorf("%d entries of %v", written, d.Tables())
	}
}

func merged(a, b history) history {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// derive derives rows in any order, each in pieces.
func (x *derived) derive(t *testing.T, d *table.Deriver, rnd *rand.Rand) {
	keys := slices.Sorted(maps.Keys(x.rows))
	rnd.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, key := range keys {
		var before []byte
		for list := x.rows[key]; len(list) > 0; {
			n := 1 + rnd.IntN(len(list))
			must(t, d.Row([]byte(key), 0, before, list[:n], func(c rows.Change) error {
				x.derived.put(c)
				return nil
			}))
			before, list = list[n-1].Value, list[n:]
		}
	}
}
