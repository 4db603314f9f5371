package schemachange

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/system"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Jobs runs the jobs about ids: sherd.replace_placement, which changes ids of documents,
// sherd.rewrite_references, which updates references to them, and sherd.start_validation, which
// checks the buckets of documents. They run at the node that leads the catalog, some rows at a time
// in ordinary transactions, and record their progress. The next leader continues from there. If two
// nodes believe that they lead, both work and nothing is done twice, because a row that is done is
// not found again.
type Jobs struct {
	Catalog *catalog.Catalog
	Logger  *slog.Logger
	// Setting returns a parameter that ALTER SYSTEM has set.
	Setting func(name string) (value string, set bool)
	// Worker returns a worker for a database. With byID its statements find documents by present ids
	// only, and nothing follows from the rows that they write.
	Worker func(database catalog.OID, byID bool) *system.Worker

	mu      sync.Mutex
	running map[uint64]bool // by job; guarded by mu
	done    sync.WaitGroup
}

// jobsEvery is how often Run looks for jobs that have failed for a passing reason, or whose node no
// longer leads.
const jobsEvery = time.Second

// Run runs jobs until ctx ends.
func (r *Jobs) Run(ctx context.Context) {
	defer r.done.Wait()
	t := time.NewTicker(jobsEvery)
	defer t.Stop()
	for {
		view := r.Catalog.View()
		if r.Catalog.Leads() {
			for j := range view.Jobs() {
				if j.AboutIDs() && j.State == catalog.JobRunning && r.claim(j.ID) {
					r.done.Go(func() { r.run(ctx, j) })
				}
			}
		}
		select {
		case <-view.Superseded():
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

func (r *Jobs) claim(id uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[id] {
		return false
	}
	if r.running == nil {
		r.running = map[uint64]bool{}
	}
	r.running[id] = true
	return true
}

func (r *Jobs) release(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, id)
}

// run runs a job until it has ended or is stopped.
func (r *Jobs) run(ctx context.Context, j *catalog.Job) {
	defer r.release(j.ID)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go r.watch(ctx, cancel, j.ID)
	w := &task{Jobs: r, job: j, worker: r.Worker(j.Database, j.Kind != catalog.RewritingJob)}
	var err error
	switch j.Kind {
	case catalog.ReplacementJob:
		err = w.replace(ctx)
	case catalog.ValidationJob:
		err = w.validate(ctx)
	default:
		err = w.rewrite(ctx)
	}
	switch {
	case ctx.Err() != nil || errors.Is(err, errStopped):
	case err == nil:
		err = w.end(ctx, catalog.JobDone, w.some)
	case isPermanent(err):
		err = w.end(ctx, catalog.JobFailed, pgerr.From(err).Message)
	default:
		r.Logger.Warn("a job about ids goes on later", "job", j.ID, "kind", j.Kind, "error", err)
		w.recordWait(ctx, err)
		stmt.Sleep(ctx, jobsEvery)
		return
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, errStopped) {
		r.Logger.Warn("a job about ids could not write down how it ended", "job", j.ID, "error", err)
	}
}

// watch ends a job's context when the job is paused, cancelled or gone.
func (r *Jobs) watch(ctx context.Context, cancel func(), id uint64) {
	_ = r.Catalog.Watch(ctx, func(v *catalog.View) error { // it ends with its context
		if j := v.Job(id); j == nil || j.State != catalog.JobRunning {
			cancel()
		}
		return nil
	})
}

// errStopped is the error of a job that was paused or cancelled.
var errStopped = errors.New("schemachange: the job was stopped")

// isPermanent reports whether an error stays the same however often the job is tried. It does not
// if a clock has jumped: the clock is corrected, or its node is removed.
func isPermanent(err error) bool {
	if txn.IsAhead(err) {
		return false
	}
	code := pgerr.Code(err)
	return slices.ContainsFunc([]string{"0A", "22", "23", "42", "55000"}, func(class string) bool {
		return strings.HasPrefix(code, class)
	})
}

// task is a job under way.
type task struct {
	*Jobs
	job      *catalog.Job
	worker   *system.Worker
	done     int64
	some     string // why a row was left as it was
	reported time.Time
}

// report records the progress of the job.
func (w *task) report(ctx context.Context, payload any) error {
	stopped := false
	_, err := w.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) (err error) {
		stopped, err = ch.Reach(w.job.ID, payload, w.done, time.Now().UnixMicro())
		return err
	})
	if err == nil && stopped {
		err = errStopped
	}
	w.reported = time.Now()
	return err
}

// recordWait records what the job waits for, for sherd.jobs. If the catalog cannot be written, only
// the log has it.
func (w *task) recordWait(ctx context.Context, why error) {
	ctx, cancel := context.WithTimeout(ctx, jobsEvery)
	defer cancel()
	_, err := w.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
		return ch.WaitIDJob(w.job.ID, "goes on by itself after: "+pgerr.From(why).Message, time.Now().UnixMicro())
	})
	if err != nil {
		w.Logger.Debug("what a job about ids waits for is not written down", "job", w.job.ID, "error", err)
	}
}

func (w *task) end(ctx context.Context, state catalog.JobState, why string) error {
	_, err := w.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
		return ch.EndIDJob(w.job.ID, state, why, time.Now().UnixMicro())
	})
	return err
}

// table returns the newest definition of a table; 42P01 if it was dropped.
func (w *task) table(oid catalog.OID) (*catalog.View, *catalog.Table, error) {
	v := w.Catalog.View()
	t := v.Table(oid)
	if t == nil {
		return v, nil, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist any more", oid)
	}
	return v, t, nil
}

// changeSchema changes definitions in a transaction, and commits it.
func (w *task) changeSchema(ctx context.Context, change func(*ddl.Env) error) error {
	return w.worker.Do(ctx, func(t *system.Transaction) error {
		definitions := &Transaction{Tx: t.Tx}
		t.Condition = definitions.Condition
		e := &ddl.Env{
			Catalog: w.Catalog, Database: w.job.Database, Role: catalog.BootstrapRole, Env: w.worker.Values(),
			Notice: func(*pgerr.Error) error { return nil }, View: t.View,
		}
		rows := &Rows{Tx: definitions, Executor: t.Executor}
		rows.Attach(e)
		return change(e)
	})
}

// query runs a SELECT in a transaction of its own, and returns its rows.
func (w *task) query(ctx context.Context, text string) (rows [][]types.Datum, err error) {
	err = w.worker.Do(ctx, func(t *system.Transaction) error {
		rows, err = t.Rows(ctx, text)
		return err
	})
	return rows, err
}

// pace waits for the time that n rows may take by a setting of rows per second.
func (w *task) pace(ctx context.Context, setting string, n int, since time.Time) {
	text, _ := w.Setting(setting)
	rate, err := strconv.Atoi(text)
	if err != nil {
		rate = 5000
	}
	if rate <= 0 || n == 0 {
		return
	}
	if left := time.Duration(n)*time.Second/time.Duration(rate) - time.Since(since); left > 0 {
		stmt.Sleep(ctx, left)
	}
}
