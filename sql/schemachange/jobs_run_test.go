package schemachange_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/testsql"
	"github.com/sherddb/sherd/sql/schemachange"
)

// jobs are the jobs of a node without sessions.
type jobs struct {
	*testsql.Node
	t    *testing.T
	rate atomic.Int64 // documents in a second; 0: no limit
}

// newJobs opens a node with a collection of documents that lie by Customer, while the policy says
// Region.
func newJobs(t *testing.T, documents int) *jobs {
	j := &jobs{Node: testsql.Open(t, 2), t: t}
	j.Define(`CREATE TABLE orders (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'Customer');
		CREATE TABLE invoices (n int PRIMARY KEY, order_id text)`)
	j.Must(fmt.Sprintf(`INSERT INTO orders SELECT 'orders/' || i || '-A$', jsonb_build_object('Customer', `+
		`'customers/' || i %% 50, 'Region', 'r' || i %% 7, 'N', i) FROM generate_series(1, %d) i`, documents))
	j.Must("INSERT INTO invoices SELECT (doc->>'N')::int, id FROM orders")
	j.Define("ALTER TABLE orders SET (shard_by = 'Region')")
	return j
}

// run runs the jobs until the test ends, or stop is called.
func (j *jobs) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		all := &schemachange.Jobs{
			Catalog: j.Catalog, Logger: slog.New(slog.DiscardHandler), Worker: j.Workers.NewWorker,
			Setting: func(string) (string, bool) { return strconv.FormatInt(j.rate.Load(), 10), true },
		}
		all.Run(ctx)
	})
	stop = func() { cancel(); done.Wait() }
	j.t.Cleanup(stop)
	return stop
}

// start begins a job, and returns its number.
func (j *jobs) start(kind string, payload any) uint64 {
	j.t.Helper()
	id, err := j.Catalog.NewJobID(j.t.Context())
	if err == nil {
		_, err = j.Catalog.Update(j.t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
			job, err := catalog.NewIDJob(id, kind, j.Table("orders"), payload, time.Now().UnixMicro())
			if err != nil {
				return err
			}
			return ch.PutJob(job)
		})
	}
	testsql.WantCode(j.t, err, "")
	return id
}

// ended waits until a job does not run any more.
func (j *jobs) ended(id uint64) *catalog.Job {
	j.t.Helper()
	eventually.Holds(j.t, "the job ends", func() bool { return j.Catalog.View().Job(id).State != catalog.JobRunning })
	return j.Catalog.View().Job(id)
}

// misplaced runs a validation, and returns why it failed; "" if it did not.
func (j *jobs) misplaced() string {
	j.t.Helper()
	job := j.ended(j.start(catalog.ValidationJob, catalog.Validation{Who: "postgres"}))
	if job.State != catalog.JobDone {
		return job.Error
	}
	return ""
}

// entries is the table of former ids.
func (j *jobs) entries() string { return fmt.Sprintf("pg_forwarding.of_%d", j.Table("orders").OID) }

// TestJobs validates a policy, replaces the ids of documents and rewrites references to them.
func TestJobs(t *testing.T) {
	j := newJobs(t, 100)
	j.run()
	if got := j.misplaced(); !strings.Contains(got, `violated by`) || j.Table("orders").PolicyValidated {
		t.Fatalf("documents that lie by another policy: %q", got)
	}
	before := j.Counters.Commits.Load()
	job := j.ended(j.start(catalog.ReplacementJob, catalog.Replacement{Who: "postgres"}))
	former := j.Rows("SELECT count(*)::text FROM " + j.entries())
	if job.State != catalog.JobDone || fmt.Sprint(job.Done) != former || job.Done < 50 {
		t.Errorf("%s after %d documents, %s former ids: %s", job.State, job.Done, former, job.Error)
	}
	if j.Counters.Commits.Load() == before {
		t.Error("the transactions of a job are not counted")
	}
	const all = "SELECT count(*)::text, count(DISTINCT doc->>'N')::text FROM orders"
	if got := j.Rows(all); got != "100|100" {
		t.Errorf("documents: %s", got)
	}
	if got := j.misplaced(); got != "" || !j.Table("orders").PolicyValidated {
		t.Errorf("after the replacement: %q", got)
	}
	byFormer := fmt.Sprintf("SELECT count(*)::text FROM invoices WHERE order_id IN (SELECT old FROM %s)", j.entries())
	if got := j.Rows(byFormer); got != former {
		t.Errorf("%s references by former ids, want %s", got, former)
	}
	job = j.ended(j.start(catalog.RewritingJob,
		catalog.Rewriting{Referrer: j.Table("invoices").OID, Path: "order_id", Who: "postgres"}))
	if got := j.Rows(byFormer); job.State != catalog.JobDone || fmt.Sprint(job.Done) != former || got != "0" {
		t.Errorf("%s after %d rows, and %s left: %s", job.State, job.Done, got, job.Error)
	}
	if got := j.Rows("SELECT count(*)::text FROM invoices i JOIN orders o ON i.order_id = o.id " +
		"WHERE o.doc->>'N' = i.n::text"); got != "100" {
		t.Errorf("%s references lead to their documents", got)
	}
}

// TestJobRestarts stops a job in the middle, as a crash does. Another node's jobs continue it, and no
// document gets two new ids.
func TestJobRestarts(t *testing.T) {
	const documents = 300
	j := newJobs(t, documents)
	j.rate.Store(100)
	stop := j.run()
	id := j.start(catalog.ReplacementJob, catalog.Replacement{Who: "postgres"})
	eventually.Holds(t, "documents get other ids", func() bool {
		return j.Table("orders").Forwarding != 0 && j.Rows("SELECT count(*)::text FROM "+j.entries()) != "0"
	})
	stop()
	if job := j.Catalog.View().Job(id); job.State != catalog.JobRunning {
		t.Fatalf("a job that was stopped is %s", job.State)
	}
	before := j.Rows("SELECT count(*)::text FROM " + j.entries())
	j.rate.Store(0)
	j.run()
	if job := j.ended(id); job.State != catalog.JobDone {
		t.Errorf("%s: %s", job.State, job.Error)
	}
	after := j.Rows("SELECT count(*)::text FROM " + j.entries())
	if before == after {
		t.Errorf("the job had ended before it was stopped: %s former ids", after)
	}
	if got := j.misplaced(); got != "" {
		t.Error(got)
	}
	if got := j.Rows("SELECT count(*)::text FROM invoices i JOIN orders o ON o.id = i.order_id " +
		"WHERE o.doc->>'N' = i.n::text"); got != fmt.Sprint(documents) {
		t.Errorf("%s of %d documents are found by their first ids", got, documents)
	}
}

// TestJobPauses checks that a job ends its work when it is paused.
func TestJobPauses(t *testing.T) {
	j := newJobs(t, 300)
	j.rate.Store(100)
	j.run()
	id := j.start(catalog.ReplacementJob, catalog.Replacement{Who: "postgres"})
	eventually.Holds(t, "documents get other ids", func() bool {
		return j.Table("orders").Forwarding != 0 && j.Rows("SELECT count(*)::text FROM "+j.entries()) != "0"
	})
	j.control(id, catalog.JobPaused)
	at := j.Rows("SELECT count(*)::text FROM " + j.entries())
	eventually.Holds(t, "the job rests", func() bool {
		was := at
		time.Sleep(100 * time.Millisecond)
		at = j.Rows("SELECT count(*)::text FROM " + j.entries())
		return at == was
	})
	if got := j.misplaced(); got == "" {
		t.Error("the job has not paused")
	}
	j.rate.Store(0)
	j.control(id, catalog.JobRunning)
	if job := j.ended(id); job.State != catalog.JobDone {
		t.Errorf("%s: %s", job.State, job.Error)
	}
}

// control pauses or resumes a job.
func (j *jobs) control(id uint64, state catalog.JobState) {
	j.t.Helper()
	_, err := j.Catalog.Update(j.t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
		return ch.SetIDJob(id, state, time.Now().UnixMicro())
	})
	testsql.WantCode(j.t, err, "")
}

// TestJobFails checks that a job ends with an error that stays the same, and names it.
func TestJobFails(t *testing.T) {
	j := newJobs(t, 10)
	j.run()
	job := j.ended(j.start(catalog.RewritingJob,
		catalog.Rewriting{Referrer: j.Table("invoices").OID, Path: "order_id", Who: "postgres"}))
	if job.State != catalog.JobFailed || !strings.Contains(job.Error, "have no former ids any more") {
		t.Errorf("%s: %q", job.State, job.Error)
	}
	j.Define("ALTER TABLE orders RESET (shard_by)")
	job = j.ended(j.start(catalog.ReplacementJob, catalog.Replacement{Who: "postgres"}))
	if job.State != catalog.JobFailed || !strings.Contains(job.Error, "has no policy any more") {
		t.Errorf("%s: %q", job.State, job.Error)
	}
}

// TestRewritingObeysConstraints checks that a row which cannot refer to the present id stays as it is,
// and that the other rows do not.
func TestRewritingObeysConstraints(t *testing.T) {
	j := newJobs(t, 40)
	j.run()
	if job := j.ended(j.start(catalog.ReplacementJob, catalog.Replacement{Who: "postgres"})); job.Done < 2 {
		t.Fatalf("%d ids were replaced", job.Done)
	}
	one := j.Rows("SELECT min(i.n)::text FROM invoices i JOIN " + j.entries() + " f ON f.old = i.order_id")
	old := j.Rows("SELECT order_id FROM invoices WHERE n = " + one)
	j.Define("ALTER TABLE invoices ADD CHECK (n <> " + one + " OR order_id = '" + old + "')")
	job := j.ended(j.start(catalog.RewritingJob,
		catalog.Rewriting{Referrer: j.Table("invoices").OID, Path: "order_id", Who: "postgres"}))
	if job.State != catalog.JobDone || !strings.Contains(job.Error, "row ("+one+") still refers to") ||
		!strings.Contains(job.Error, "check constraint") {
		t.Errorf("%s: %q", job.State, job.Error)
	}
	if got := j.Rows("SELECT i.n::text FROM invoices i JOIN " + j.entries() + " f ON f.old = i.order_id"); got != one {
		t.Errorf("rows by former ids: %q, want %s", got, one)
	}
	testsql.WantCode(t, j.Run("UPDATE invoices SET order_id = 'x@y' WHERE n = "+one), pgerr.CheckViolation)
}
