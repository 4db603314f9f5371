package sql_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// TestHotProof damages the stored parts of a split document: sherd.check() reports the faults.
func TestHotProof(t *testing.T) {
	w, c := hotWorld(t)
	const add = "UPDATE counters SET v = v + 1 WHERE id = 'counters/hot'"
	c.want(add, "UPDATE 1")
	check := func(want ...string) {
		t.Helper()
		c.want("SELECT ok, detail FROM sherd.check() WHERE \"check\" = 'split documents' ORDER BY detail",
			strings.Join(want, "\n")+fmt.Sprintf("\nSELECT %d", len(want)))
	}
	check("t|1 documents, 8 parts")
	table := func() *catalog.Table { return w.cfg.Catalog.View().FindTable(catalog.PostgresDB, "public", "counters") }
	change := func(how func(*catalog.Hot)) {
		t.Helper()
		_, err := w.cfg.Catalog.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
			x := table().Clone()
			x.Hot = x.Hot.Clone()
			how(x.Hot)
			return ch.PutTable(x)
		})
		must(t, err)
	}
	parts := table().Hot.Documents[0].Parts
	change(func(h *catalog.Hot) { h.Documents[0].Parts = append([]int64{parts[0] + 1}, parts[1:]...) })
	check(fmt.Sprintf("f|document counters/hot lacks its part %d", parts[0]+1),
		fmt.Sprintf("f|part %d is of no split document", parts[0]))
	change(func(h *catalog.Hot) { h.Documents[0].Parts = parts })
	swap := func(h *catalog.Hot) { h.Counters[1], h.Counters[3] = h.Counters[3], h.Counters[1] }
	change(swap)
	sorted := slices.Sorted(slices.Values(parts))
	var want []string
	for _, k := range sorted[:5] { // the check names ten faults
		for _, name := range []string{"Likes", "n"} { // the parts hold 1.5 of n, and 5 of Likes
			want = append(want,
				fmt.Sprintf("f|part %d of document counters/hot does not know what the document says of %s", k, name))
		}
	}
	check(want...)
	change(swap)
	check("t|1 documents, 8 parts")
	// Delete the row, but keep its parts.
	view := w.cfg.Catalog.View()
	bucket, err := shardmap.BucketOf("counters/hot")
	must(t, err)
	r, err := w.host.Replicas.Replica(txn.FragmentID(view.Database(catalog.PostgresDB).Map.Lookup(bucket)))
	must(t, err)
	tx := r.Tx(txn.NewID())
	key := types.AppendKey(keyspace.RowPrefix(table().StorageID, uint32(bucket), 0), types.Text,
		types.NewText("counters/hot"), false)
	must(t, errors.Join(tx.LockNewest(t.Context(), key), tx.Delete(key)))
	_, err = tx.Commit(t.Context(), txn.CommitRequest{})
	must(t, err)
	want = nil
	for _, k := range sorted {
		want = append(want, fmt.Sprintf("f|document counters/hot does not exist, but its part %d does", k))
	}
	check(want...)
}

// TestHotProofMadeAgain: deleting a document deletes its parts, and a new document under the same
// id is whole.
func TestHotProofMadeAgain(t *testing.T) {
	_, c := hotWorld(t)
	c.want("DELETE FROM counters WHERE id = 'counters/hot'", "DELETE 1")
	const check = "SELECT ok, detail FROM sherd.check() WHERE \"check\" = 'split documents'"
	c.want(check, "t|0 documents, 0 parts; 1 without parts, which were deleted or made whole since\nSELECT 1")
	c.want("INSERT INTO counters VALUES ('counters/hot', 1, 1, 1, 'a')", "INSERT 0 1")
	c.want(check, "t|0 documents, 0 parts; 1 without parts, which were deleted or made whole since\nSELECT 1")
	c.want("SELECT sherd.hot_split('counters/hot', 4)", "4\nSELECT 1")
	c.want(check, "t|1 documents, 4 parts\nSELECT 1")
}
