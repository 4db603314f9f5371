package sql_test

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/session"
)

// sherd.changelog lists who changed policies, settings, databases and nodes, but not changes that
// were rolled back.
func TestChangelog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connect(t)
	for _, text := range []string{
		"CREATE TABLE plain (id text PRIMARY KEY, doc jsonb)",
		"CREATE TABLE orders (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'Customer')",
		"INSERT INTO orders VALUES ('orders/1$a', '{\"Customer\": \"a\"}')",
		"ALTER TABLE orders SET (shard_by = 'Region', shard_range = 4)",
		"ALTER TABLE orders RESET (shard_by, shard_range)",
		"ALTER TABLE orders SET (shard_by = 'Customer')", "ALTER TABLE orders VALIDATE CONSTRAINT sharding",
		"ALTER TABLE plain SET (shard_by = 'Kind')",
		"BEGIN", "ALTER TABLE plain RESET (shard_by)", "ALTER DATABASE postgres SET work_mem = '1MB'", "ROLLBACK",
		"ALTER SYSTEM SET sherd.move_rate = '2MB'", "ALTER SYSTEM RESET sherd.move_rate",
		"ALTER DATABASE postgres SET work_mem = '1MB'", "ALTER ROLE postgres SET work_mem = '2MB'",
		"ALTER ROLE postgres RESET ALL",
		"CREATE DATABASE shop WITH FRAGMENTS 2 REPLICATION_FACTOR 1", "ALTER DATABASE shop RENAME TO store",
		"ALTER DATABASE store REPLICATION_FACTOR 3", "DROP DATABASE store",
	} {
		if got := c.answer(text); strings.Contains(got, "SQLSTATE") {
			t.Fatalf("%s: %s", text, got)
		}
	}
	c.want("SELECT kind, database, subject, change, who FROM sherd.changelog ORDER BY at", `policy|postgres|public.orders|SHARDING BY (Customer)|postgres
policy|postgres|public.orders|SHARDING BY (Region) RANGE 4, not validated instead of SHARDING BY (Customer)|postgres
policy|postgres|public.orders|no policy instead of SHARDING BY (Region) RANGE 4|postgres
policy|postgres|public.orders|SHARDING BY (Customer), not validated|postgres
policy|postgres|public.orders|SHARDING BY (Customer) validated|postgres
policy|postgres|public.plain|SHARDING BY (Kind)|postgres
setting|null|cluster|sherd.move_rate set to '2MB'|postgres
setting|null|cluster|sherd.move_rate reset|postgres
setting|postgres|database postgres|work_mem set to '1MB'|postgres
setting|null|role postgres|work_mem set to '2MB'|postgres
setting|null|role postgres|all settings reset|postgres
database|null|shop|created with 2 fragments of 1 replicas|postgres
database|null|store|renamed from shop|postgres
replicas|null|store|3 replicas of each fragment instead of 1|postgres
database|null|store|dropped|postgres
SELECT 15`)
	c.want("CREATE ROLE log_bob LOGIN", "CREATE ROLE")
	// Only superusers see changes of other databases.
	w.connectAs(t, "log_bob", session.Handle{}).want("SELECT DISTINCT kind FROM sherd.changelog ORDER BY 1",
		"policy\nsetting\nSELECT 2")
}
