package integration

import (
	"net/url"
	"os/exec"
	"testing"
)

// TestPgbench has PostgreSQL's own pgbench make its tables with keys and foreign keys, and run its transactions of the TPC-B kind: the sums of all
// four tables agree afterwards.
func TestPgbench(t *testing.T) {
	if testing.Short() {
		t.Skip("loads 100,000 rows")
	}
	const pgbench = "/usr/lib/postgresql/15/bin/pgbench"
	Need(t, []string{"postgresql-15"}, pgbench, "--version")
	conn := Connect(t, sharedURL(t))
	Exec(t, conn, "DROP DATABASE IF EXISTS pgbench")
	Exec(t, conn, "CREATE DATABASE pgbench")
	u, err := url.Parse(sharedURL(t))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/pgbench"
	for _, args := range [][]string{
		{"--initialize", "--foreign-keys", "--quiet"},
		{"--client=4", "--transactions=50", "--max-tries=100"},
		{"--client=4", "--transactions=50", "--protocol=prepared", "--no-vacuum"},
		{"--client=4", "--transactions=500", "--select-only", "--no-vacuum"},
	} {
		if out, err := exec.CommandContext(t.Context(), pgbench, append(args, u.String())...).CombinedOutput(); err != nil {
			t.Fatalf("pgbench %v: %v\n%s", args, err, out)
		}
	}
	conn = Connect(t, u.String())
	ok := One[bool](t, conn, `SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(bbalance) FROM pgbench_branches)
		AND (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(delta) FROM pgbench_history)
		AND (SELECT sum(delta) FROM pgbench_history) = (SELECT sum(abalance) FROM pgbench_accounts)
		AND (SELECT count(*) FROM pgbench_history) = 400 AND (SELECT count(*) FROM pgbench_accounts) = 100000`)
	if !ok {
		t.Error("the balances do not agree")
	}
	if bad := failedChecks(t, conn); len(bad) > 0 {
		t.Error(bad)
	}
}
