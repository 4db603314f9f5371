package nodetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/eventually"
)

// TestValidationLeaderStops stops the node that runs a job of sherd.start_validation. Another node
// continues, checks every document, and names each misplaced document once.
func TestValidationLeaderStops(t *testing.T) {
	t.Parallel()
	c := Start(t, 3)
	replicated(c, 3)
	for _, sql := range []string{
		"CREATE TABLE o (id text PRIMARY KEY, doc jsonb)",
		"INSERT INTO o SELECT 'o/' || i || CASE WHEN i % 10 > 0 THEN '$b' || i ELSE '' END, jsonb_build_object('B', 'b' || i) FROM generate_series(1, 600) i",
		"ALTER SYSTEM SET sherd.validate_rate = 1", // this would take ten minutes
		"ALTER TABLE o SET (shard_by = 'B')",
		"SELECT sherd.start_validation('o')",
	} {
		exec(t, c, 1, sql)
	}
	one := func(number uint32, sql string) string {
		got, err := rows(c.context(), c.Node(number).Connect(t), sql)
		if err != nil || len(got) != 1 {
			return ""
		}
		return got[0]
	}
	const job = "SELECT concat_ws('|', state, progress, error) FROM sherd.jobs WHERE kind = 'validation'"
	i := -1
	eventually.Holds(t, "a node leads the catalog", func() bool {
		i = slices.IndexFunc(c.Nodes(), func(n *Node) bool { return n.Catalog().Leads() })
		return i >= 0
	})
	c.Nodes()[i].Stop()
	other := uint32((i+1)%3 + 1)
	var got string
	eventually.Holds(t, "an answer", func() bool {
		got = one(other, job)
		return got != ""
	})
	if !strings.HasPrefix(got, "running|") {
		t.Fatalf("the job is not running: %s", got)
	}
	exec(t, c, other, "ALTER SYSTEM RESET sherd.validate_rate")
	eventually.Holds(t, "the job's end", func() bool {
		got = one(other, job)
		return got != "" && !strings.HasPrefix(got, "running|")
	})
	if want := `failed|600 documents looked at, 60 lie elsewhere, 100% of the buckets|`; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := one(other, "SELECT concat_ws('|', count(*), count(DISTINCT id), bool_and(id NOT LIKE '%$%')) FROM sherd.offenders"); got != "60|60|t" {
		t.Errorf("offenders: %s", got)
	}
}
