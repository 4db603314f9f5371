package sql_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/rebalance/move"
)

// TestMergeBesideSplit: a merge of a segment that is being split is refused before anything has
// moved for it. A session that waits for a split learns if the split is cancelled.
func TestMergeBesideSplit(t *testing.T) {
	var copying atomic.Pointer[func()]
	w := newWorldAt(t, 3, clusterversion.Newest, func(c *store.Config) {
		c.AtMove = func(arrow string) error {
			if arrow == move.Copying {
				if f := copying.Swap(nil); f != nil {
					(*f)()
				}
			}
			return nil
		}
	})
	c, d := w.connect(t), w.another().connect(t)
	c.want("CREATE TABLE r (id int PRIMARY KEY) WITH (shard_by = 'range', shard_splits = '100')", "CREATE TABLE")
	c.want("INSERT INTO r SELECT generate_series(1, 200)", "INSERT 0 200")
	c.want("SELECT count(DISTINCT fragment) FROM sherd.segments", "2\nSELECT 1")
	meanwhile := func() {
		if got := d.answer(
			"SELECT sherd.merge_segments('r', '100')",
		); !strings.Contains(got, `segments of table "r" are being moved, split or merged by move`) {
			t.Error(got)
		}
		d.want("SELECT count(*) FROM sherd.move_history", "0\nSELECT 1")
		d.want("SELECT sherd.cancel_move(id) FROM sherd.moves", "\nSELECT 1")
	}
	copying.Store(&meanwhile)
	if got := c.answer(
		"SELECT sherd.split_segment('r', '50')",
	); !strings.Contains(got, "(r: split at 50) was cancelled (SQLSTATE 57014)") {
		t.Error(got)
	}
	c.want("SELECT lower FROM sherd.segments ORDER BY bucket", "null\n100\nSELECT 2")
}
