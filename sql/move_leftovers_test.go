package sql_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// TestMoveLeftovers: entries of a local index that a bucket has left behind, and that are wrong
// when the bucket is back, are counted by a check and removed. So are entries of an index that no
// definition names.
func TestMoveLeftovers(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE acc (id text PRIMARY KEY, n int)", "CREATE TABLE")
	c.want("INSERT INTO acc SELECT 'acc/' || i, i % 50 FROM generate_series(1, 1000) i", "INSERT 0 1000")
	c.want("CREATE INDEX acc_n ON acc (n)", "CREATE INDEX")
	for _, to := range []string{"2", "0"} {
		c.answer("SELECT sherd.move_buckets('postgres', 0, 1048576, 'postgres$" + to + "', wait => true)")
	}
	leave(t, w)
	same := func(leftovers string) {
		t.Helper()
		c.want("SELECT count(*) FROM acc WHERE n = 777", "0\nSELECT 1")
		c.want("SELECT count(*) FROM acc WHERE n = 7", "20\nSELECT 1")
		c.want("SELECT count(*) FROM sherd.check() WHERE detail LIKE '%moves have left%' AND subject = 'postgres$0'",
			leftovers+"\nSELECT 1")
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	}
	same("1")
	must(t, w.host.Rebalancer.RemoveLeftovers(t.Context()))
	for v := w.cfg.Catalog.View(); ; v = w.cfg.Catalog.View() { // the job that deletes the entries of the index
		busy := false
		for range v.Jobs() {
			busy = true
		}
		if !busy {
			break
		}
		<-v.Superseded()
	}
	same("0")
	c.want("UPDATE acc SET n = 777 WHERE n = 7", "UPDATE 20") // one of them had the entry
	c.want("SELECT count(*) FROM acc WHERE n = 777", "20\nSELECT 1")
	c.want("UPDATE acc SET n = 7 WHERE n = 777", "UPDATE 20")
	same("0")
}

// TestSweptLeftovers: entries of local indexes that buckets have left behind in fragments are
// removed repeatedly, when no reader can use them there any more. Versions that come back with the
// buckets are found by the indexes, at the present and by an older snapshot.
func TestSweptLeftovers(t *testing.T) {
	var kept versions
	w := newWorldAt(t, 3, clusterversion.Newest, kept.config)
	c := w.connect(t)
	c.want("CREATE TABLE acc (id text PRIMARY KEY, n int, u int)", "CREATE TABLE")
	c.want("CREATE INDEX acc_n ON acc (n); CREATE UNIQUE INDEX acc_u ON acc (u)", "CREATE INDEX\nCREATE INDEX")
	c.want("INSERT INTO acc SELECT 'acc/' || i, i % 50, i FROM generate_series(1, 1000) i", "INSERT 0 1000")
	c.want("UPDATE acc SET n = (n + 1) % 50", "UPDATE 1000")
	move := func(to string) {
		t.Helper()
		c.answer("SELECT sherd.move_buckets('postgres', 0, 262144, 'postgres$" + to + "', wait => true)")
	}
	swept := func() {
		t.Helper()
		c.want("UPDATE acc SET u = -1000 WHERE u = 1000", "UPDATE 1")
		c.want("UPDATE acc SET u = 1000 WHERE u = -1000", "UPDATE 1")
		for end := time.Now().Add(testTimeout); ; {
			kept.forget(w, "postgres")
			must(t, w.host.Rebalancer.RemoveLeftovers(t.Context()))
			if c.answer("SELECT count(*) FROM sherd.check() WHERE detail LIKE '%moves have left%'") == "0\nSELECT 1" {
				return
			}
			if time.Now().After(end) {
				t.Fatal(c.answer("SELECT subject, detail FROM sherd.check() WHERE detail LIKE '%moves have left%'"))
			}
		}
	}
	same := func(c *client, of7 string) {
		t.Helper()
		c.want("SELECT count(*) FROM acc WHERE n = 7", of7+"\nSELECT 1")
		c.want("SELECT sum(n) FROM (SELECT n FROM acc ORDER BY n) x", "24500\nSELECT 1")
		c.want("SELECT count(*) FROM acc WHERE u BETWEEN 100 AND 199", "100\nSELECT 1")
	}
	for _, to := range []string{"2", "0", "1", "0"} {
		move(to)
		swept()
		same(c, "20")
		o := w.connect(t)
		o.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
		same(o, "20")
		c.want("UPDATE acc SET n = CASE n WHEN 7 THEN 8 WHEN 8 THEN 7 ELSE n END WHERE u <= 500 AND n IN (7, 8)",
			"UPDATE 20")
		c.want("UPDATE acc SET n = 15 - n WHERE n IN (7, 8) AND u % 100 = 7", "UPDATE 10")
		next := map[string]string{"2": "0", "0": "1", "1": "2"}[to]
		move(next)
		now := strings.TrimSuffix(c.answer("SELECT count(*) FROM acc WHERE n + 0 = 7"), "\nSELECT 1")
		c.want("SELECT count(*) FROM acc WHERE n = 7", now+"\nSELECT 1")
		same(o, "20")
		o.want("COMMIT", "COMMIT")
		c.want("UPDATE acc SET n = (u + 1) % 50 WHERE n IN (7, 8)", "UPDATE 40")
		same(c, "20")
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	}
}

// leave stores what moves leave behind if a row has changed elsewhere and its former version was no
// longer copied: an entry of the bucket's first generation, and an entry of a dropped index.
func leave(t *testing.T, w *world) {
	t.Helper()
	view := w.cfg.Catalog.View()
	var storage, index uint32
	d := view.DatabaseByName("postgres")
	for x := range view.Tables(d.OID) {
		for _, i := range x.Indexes {
			if i.Name == "acc_n" {
				storage, index = x.StorageID, i.StorageID
			}
		}
	}
	r, err := w.host.Replicas.Replica(d.Fragments[0].ID)
	must(t, err)
	T, err := r.Snapshot(t.Context())
	must(t, err)
	tx := r.Tx(txn.NewID())
	v, err := tx.View(t.Context(), T)
	must(t, err)
	defer v.Close()
	prefix := types.AppendKey(keyspace.IndexPrefix(storage, index), types.Int4, types.NewInt(7), false)
	left := 0
	must(t, v.Scan(t.Context(), txn.Prefix(prefix), false, func(key, value []byte) error {
		bucket, generation, ok := table.EntryPlace(value, false)
		if !ok || generation == 0 || left > 0 {
			return nil
		}
		left++
		primary := strings.TrimPrefix(string(key), string(prefix))
		for of, n := range map[uint32]int64{index: 777, index + 100_000: 7} {
			stale := types.AppendKey(keyspace.IndexPrefix(storage, of), types.Int4, types.NewInt(n), false)
			must(t, tx.Put(append(stale, primary...), table.PlainEntry(nil, value, bucket, false)))
		}
		return nil
	}))
	if left == 0 {
		t.Fatalf("no entry has arrived: table %d, index %d", storage, binary.BigEndian.Uint32(prefix[4:]))
	}
	_, err = tx.Commit(t.Context(), txn.CommitRequest{})
	must(t, err)
}
