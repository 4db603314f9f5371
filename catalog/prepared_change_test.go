package catalog

import (
	"context"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/sparse"
)

// TestChangeOfPreparedTransaction: the schema change of a prepared transaction blocks other changes,
// also after a restart from the log or from a snapshot, until its coordinator fragment decides. No
// other fragment can decide.
func TestChangeOfPreparedTransaction(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		for _, commit := range []bool{true, false} {
			dir := t.TempDir()
			c := openCatalog(t, dir)
			must[bool](t)(c.Bootstrap(t.Context(), bootstrapOptions()))
			id := TransactionID{4}
			if err := c.PrepareTransaction(t.Context(), id, tableChange(t, c, "orders"), 2); err != nil {
				t.Fatal(err)
			}
			if snapshot {
				if err := c.Snapshot(); err != nil {
					t.Fatal(err)
				}
			}
			crashed := t.TempDir()
			if err := sparse.Dir(crashed, dir); err != nil {
				t.Fatal(err)
			}
			c = openCatalog(t, crashed)
			held := c.View().PreparedChanges()
			if len(held) != 1 || held[0].ID != id || held[0].Home != 2 || len(held[0].Touches) == 0 {
				t.Fatalf("%+v", held)
			}
			if out, err := c.Outcome(t.Context(), id); out != 0 || err != nil || len(c.View().PreparedChanges()) != 1 {
				t.Fatal(out, err)
			}
			short, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, pgerr.New(pgerr.QueryCanceled, "enough"))
			if _, err := c.Apply(short, tableChange(t, c, "orders")); err == nil {
				t.Fatal("two tables of one name")
			}
			cancel()
			for range 2 { // the second does nothing
				if err := c.EndPrepared(t.Context(), id, 9, commit); err != nil {
					t.Fatal(err)
				}
			}
			if there := c.View().FindTable(PostgresDB, "public", "orders") != nil; there != commit || len(c.View().PreparedChanges()) > 0 || len(c.View().Unforgotten()) > 0 {
				t.Fatal(there, c.View().PreparedChanges(), c.View().Unforgotten())
			}
			if C, known, err := c.CommitOf(t.Context(), id); known != commit || err != nil || commit && C != 9 {
				t.Fatal(C, known, err)
			}
		}
	}
}
