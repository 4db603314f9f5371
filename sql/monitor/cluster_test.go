package monitor

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/txn"
)

// TestCluster: a transaction with writes on two nodes is one, and the client is warned of what is missing.
func TestCluster(t *testing.T) {
	id, now := txn.NewID(), time.Now()
	open := func(fragment uint32, writes int, since time.Time) []txn.OpenTransaction {
		return []txn.OpenTransaction{{
			Owner: txn.LockOwner{ID: id}, Since: since, Writes: writes, Fragments: []txn.FragmentID{fragment},
		}}
	}
	c := Cluster{
		Node: &Node{},
		Others: func(context.Context, Wanted) ([]Report, []Absent) {
			return []Report{
				{Transactions: open(2, 1, now), TransactionsTotal: 3},
				{Transactions: open(1, 2, now.Add(-time.Second)), TransactionsTotal: 1},
			}, []Absent{{Name: "n3"}}
		},
	}
	c.Node.Counters.Of(20).Commits.Add(5)
	var warnings []string
	r := c.Report(t.Context(), WantCounters, func(format string, args ...any) {
		warnings = append(warnings, fmt.Sprintf(format, args...))
	})
	if len(r.Transactions) != 1 {
		t.Fatalf("transactions: %+v", r.Transactions)
	}
	x := r.Transactions[0]
	if x.Writes != 3 || !slices.Equal(x.Fragments, []txn.FragmentID{1, 2}) || !x.Since.Equal(now.Add(-time.Second)) {
		t.Errorf("the transaction is %+v", x)
	}
	if len(r.Counters) != 1 || r.Counters[0].Commits != 5 {
		t.Errorf("counters: %+v", r.Counters)
	}
	want := []string{"node n3 does not answer: what it knows is missing", "only 2 of 4 transactions are listed"}
	if !slices.Equal(warnings, want) {
		t.Errorf("warnings %q, want %q", warnings, want)
	}
}
