package sql_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// TestMoveLeftovers: what a bucket has left of a local index, and is true of its row no more when it is back, is counted by a check and removed, and so are
// entries of an index that no definition names.
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
		c.want("SELECT count(*) FROM sherd.check() WHERE detail LIKE '%moves have left%' AND subject = 'postgres$0'", leftovers+"\nSELECT 1")
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	}
	same("1")
	must(t, w.host.RemoveLeftovers(t.Context()))
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
	c.want("UPDATE acc SET n = 777 WHERE n = 7", "UPDATE 20") // of which one had the entry
	c.want("SELECT count(*) FROM acc WHERE n = 777", "20\nSELECT 1")
	c.want("UPDATE acc SET n = 7 WHERE n = 777", "UPDATE 20")
	same("0")
}

// leave puts what moves leave where a row has changed elsewhere, and its former version was not carried any more: an entry of the bucket's first stay, and one of an index
// that was dropped.
func leave(t *testing.T, w *world) {
	t.Helper()
	view := w.cfg.Catalog.View()
	var table, index uint32
	d := view.DatabaseByName("postgres")
	for x := range view.Tables(d.OID) {
		for _, i := range x.Indexes {
			if i.Name == "acc_n" {
				table, index = x.StorageID, i.StorageID
			}
		}
	}
	r, err := w.host.Replica(d.Fragments[0].ID)
	must(t, err)
	T, err := r.Snapshot(t.Context())
	must(t, err)
	tx := r.Tx(txn.NewID())
	v, err := tx.View(t.Context(), T)
	must(t, err)
	defer v.Close()
	prefix := types.AppendKey(storage.IndexPrefix(table, index), types.Int4, types.NewInt(7), false)
	left := 0
	must(t, v.Scan(t.Context(), txn.Prefix(prefix), false, func(key, value []byte) error {
		bucket, arrival, ok := exec.EntryPlace(value, false)
		if !ok || arrival == 0 || left > 0 {
			return nil
		}
		left++
		primary := strings.TrimPrefix(string(key), string(prefix))
		for of, n := range map[uint32]int64{index: 777, index + 100_000: 7} {
			stale := types.AppendKey(storage.IndexPrefix(table, of), types.Int4, types.NewInt(n), false)
			must(t, tx.Put(append(stale, primary...), exec.PlainEntry(nil, value, bucket, false)))
		}
		return nil
	}))
	if left == 0 {
		t.Fatalf("no entry has arrived: table %d, index %d", table, binary.BigEndian.Uint32(prefix[4:]))
	}
	_, err = tx.Commit(t.Context(), txn.CommitRequest{})
	must(t, err)
}
