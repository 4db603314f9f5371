package sql_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/session"
)

// validated waits for a job of start_validation, and returns how it ended.
func (c *client) validated(id string) string {
	c.t.Helper()
	text := "SELECT progress, state, error FROM sherd.jobs WHERE id = " + id
	for limit := time.Now().Add(testTimeout); time.Now().Before(limit); {
		if !strings.Contains(c.answer(text), "|running|") {
			break
		}
	}
	return c.one(text)
}

// TestValidationJob: a policy is validated in the background. The job lists the rows that violate
// it, and is started again when they are corrected.
func TestValidationJob(t *testing.T) {
	w := newWorld(t)
	w.runJobs(t)
	c := w.connect(t)
	c.badPolicy(300)
	n := c.one("SELECT count(*) FROM sherd.validate_policy('orders')")
	c.want("CREATE ROLE keeper LOGIN; ALTER TABLE orders OWNER TO keeper", "CREATE ROLE\nALTER TABLE")
	job := w.connectAs(t, "keeper", session.Handle{}).one("SELECT sherd.start_validation('orders')")
	want := fmt.Sprintf(`300 documents looked at, %s lie elsewhere, 100%% of the buckets|failed|check constraint `+
		`"sharding" of relation "orders" is violated by %s documents; sherd.offenders has the first of them`, n, n)
	if got := c.validated(job); got != want {
		t.Fatalf("%s\nwant\n%s", got, want)
	}
	c.want("SELECT job, collection, count(*), count(DISTINCT id) FROM sherd.offenders GROUP BY 1, 2",
		job+"|orders|100|100\nSELECT 1")
	c.want("SELECT count(*) FROM sherd.offenders o JOIN sherd.validate_policy('orders') v ON v.id = o.id "+
		"AND v.bucket = o.bucket AND v.detail = o.detail", "100\nSELECT 1")
	c.answer("SELECT sherd.replace_placement('orders')")
	if got := c.ended(); !strings.Contains(got, "|done|") {
		t.Fatal(got)
	}
	c.want("SELECT sherd.resume_job("+job+")", "\nSELECT 1")
	if got := c.validated(job); got != "300 documents looked at, 100% of the buckets|done|null" {
		t.Fatal(got)
	}
	c.want("SELECT count(*) FROM sherd.offenders", "0\nSELECT 1")
	c.want("SELECT convalidated FROM pg_constraint WHERE conname = 'sharding' AND conrelid = 'orders'::regclass",
		"t\nSELECT 1")
	// not the role that jobs run as
	c.want("SELECT who FROM sherd.changelog WHERE change LIKE '% validated'", "keeper\nSELECT 1")
	for text, want := range map[string]string{
		"SELECT sherd.start_validation('was')": `constraint "sharding" of relation "was" does not exist ` +
			`(SQLSTATE 42704)`,
		"SELECT sherd.pause_job(12345)": "there is no job 12345 of sherd.replace_placement, " +
			"sherd.rewrite_references or sherd.start_validation in this database (SQLSTATE 42704)",
	} {
		if got := c.answer(text); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestValidationGoesOn: a resumed validation checks only the buckets that were not checked yet, but
// all buckets if the definition has changed since.
func TestValidationGoesOn(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE orders (id text PRIMARY KEY, doc jsonb)", "CREATE TABLE")
	c.want("INSERT INTO orders SELECT 'orders/' || i || '-A$d' || i, jsonb_build_object('C', 'c' || i) "+
		"FROM generate_series(1, 200) i", "INSERT 0 200")
	c.answer("ALTER TABLE orders SET (shard_by = 'C')")
	const half = shardmap.BucketCount / 2
	rest := c.one(fmt.Sprintf("SELECT count(*) FROM orders WHERE sherd.bucket(id) >= %d", half))
	bad := c.one(fmt.Sprintf("SELECT count(*) FROM sherd.validate_policy('orders') WHERE bucket >= %d", half))
	all := c.one("SELECT count(*) FROM sherd.validate_policy('orders')")
	var orders *catalog.Table
	for x := range w.cfg.Catalog.View().Tables(catalog.PostgresDB) {
		if x.Name == "orders" {
			orders = x
		}
	}
	begun := func(version uint64, state catalog.JobState) string {
		t.Helper()
		id, err := w.cfg.Catalog.NewJobID(t.Context())
		must(t, err)
		_, err = w.cfg.Catalog.Update(t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
			j, err := catalog.NewIDJob(id, catalog.ValidationJob, orders,
				catalog.Validation{Version: version, Next: half}, 1)
			must(t, err)
			j.State = state
			return ch.PutJob(j)
		})
		must(t, err)
		return fmt.Sprint(id)
	}
	same, other := begun(orders.Version, catalog.JobRunning), begun(orders.Version-1, catalog.JobRunning)
	paused := begun(orders.Version, catalog.JobPaused)
	w.runJobs(t)
	for _, x := range []struct{ job, looked, bad string }{{same, rest, bad}, {other, "200", all}} {
		want := ""
		if x.bad != "0" {
			want = ", " + x.bad + " lie elsewhere"
		}
		if got := c.validated(x.job); !strings.HasPrefix(got,
			x.looked+" documents looked at"+want+", 100% of the buckets|failed|") {
			t.Errorf("%s of %s: %s", x.looked, x.bad, got)
		}
	}
	if got := c.validated(paused); got != "0 documents looked at, 50% of the buckets|paused|null" {
		t.Error(got)
	}
	c.want("SELECT sherd.cancel_job("+paused+")", "\nSELECT 1")
}
