package fragment_test

import (
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/rebalance/heat"
	"github.com/sherddb/sherd/txn"
)

// TestDroppedFragmentIsForgotten: what is counted of a fragment goes with it.
func TestDroppedFragmentIsForgotten(t *testing.T) {
	dir := t.TempDir()
	c := teststore.Catalog(t, dir, 2)
	s := teststore.Open(t, dir, c, txn.NewClock(time.Now, time.Minute))
	defer s.Close()
	fragments, err := kv.FragmentsOf(c, catalog.PostgresDB)
	if err != nil {
		t.Fatal(err)
	}
	met := map[txn.FragmentID]*heat.Meter{}
	for _, f := range fragments {
		met[f] = s.Replicas.Meter(f)
	}
	if err := fragment.DropUnwanted(s.Replicas, nil); err != nil {
		t.Fatal(err)
	}
	for _, f := range fragments {
		if s.Replicas.Meter(f) == met[f] {
			t.Errorf("fragment %d is remembered", f)
		}
	}
}
