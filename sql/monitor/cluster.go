package monitor

import (
	"context"
	"fmt"
	"strings"
)

// Cluster makes one report of the reports of all nodes.
type Cluster struct {
	Node *Node
	// Others asks the other nodes, and names those that did not answer; nil: there are none.
	Others func(ctx context.Context, wanted Wanted) ([]Report, []Absent)
}

// Report returns what all nodes know. It warns of what is missing.
func (c *Cluster) Report(ctx context.Context, wanted Wanted, warn func(format string, args ...any)) Report {
	all := c.Node.Report(wanted)
	if c.Others != nil {
		reports, absent := c.Others(ctx, wanted)
		for _, r := range reports {
			all.add(r)
		}
		if len(absent) > 0 {
			warn("%s", missing(absent))
		}
	}
	for what, n := range map[string][2]int{
		"row locks": {len(all.Rows), all.RowsTotal}, "transactions": {len(all.Transactions), all.TransactionsTotal},
	} {
		if n[1] > n[0] {
			warn("only %d of %d %s are listed", n[0], n[1], what)
		}
	}
	all.Transactions = mergeTransactions(all.Transactions)
	return all
}

// missing is the text of one warning for all nodes that are missing in a view.
func missing(absent []Absent) string {
	if len(absent) == 1 {
		return fmt.Sprintf("node %s does not answer: what it knows is missing", absent[0].Name)
	}
	names := make([]string, len(absent))
	for i, a := range absent {
		names[i] = a.Name
	}
	return fmt.Sprintf("nodes %s do not answer: what they know is missing", strings.Join(names, ", "))
}
