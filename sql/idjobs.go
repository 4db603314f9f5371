package sql

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Jobs about ids give documents other ids, mend what refers to them, and look where documents lie: sherd.replace_placement, sherd.rewrite_references and
// sherd.start_validation. They run at the node that leads
// the catalog, each some rows at a time in ordinary transactions of a session of the system, and write down how far they are; whoever leads next goes
// on from there. Where two nodes think that they lead, both do the same and nothing is done twice: a row that has been dealt with is not found again.

// idJobs are those of this node.
type idJobs struct {
	db *Server

	mu      sync.Mutex
	running map[uint64]bool // by job; guarded by mu
	done    sync.WaitGroup
}

// jobsEvery is how often is looked for jobs that have failed for a passing reason, or whose node no longer leads.
const jobsEvery = time.Second

// RunJobs runs the jobs about ids until ctx ends.
func (db *Server) RunJobs(ctx context.Context) {
	r := &idJobs{db: db, running: map[uint64]bool{}}
	defer r.done.Wait()
	t := time.NewTicker(jobsEvery)
	defer t.Stop()
	for {
		view := db.cfg.Catalog.View()
		if db.cfg.Catalog.Leads() {
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

func (r *idJobs) claim(id uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[id] {
		return false
	}
	r.running[id] = true
	return true
}

func (r *idJobs) release(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, id)
}

// run does a job until it has ended, or somebody stops it.
func (r *idJobs) run(ctx context.Context, j *catalog.Job) {
	defer r.release(j.ID)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go r.watch(ctx, cancel, j.ID)
	w := &idJob{db: r.db, job: j, s: r.db.systemSession(j.Database)}
	defer w.s.Close()
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
	case lasting(err):
		err = w.end(ctx, catalog.JobFailed, pgerr.From(err).Message)
	default:
		r.db.cfg.Logger.Warn("a job about ids goes on later", "job", j.ID, "kind", j.Kind, "error", err)
		w.waits(ctx, err)
		stmt.Sleep(ctx, jobsEvery)
		return
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, errStopped) {
		r.db.cfg.Logger.Warn("a job about ids could not write down how it ended", "job", j.ID, "error", err)
	}
}

// watch ends a job's context when it is not to run any more.
func (r *idJobs) watch(ctx context.Context, cancel func(), id uint64) {
	_ = r.db.cfg.Catalog.Watch(ctx, func(v *catalog.View) error { // it ends with its context
		if j := v.Job(id); j == nil || j.State != catalog.JobRunning {
			cancel()
		}
		return nil
	})
}

// errStopped tells that a job was paused or cancelled.
var errStopped = errors.New("sql: the job was stopped")

// lasting tells whether an error stays the same however often one tries. A clock that has jumped is set right, or its node is left out.
func lasting(err error) bool {
	if txn.IsAhead(err) {
		return false
	}
	code := pgerr.Code(err)
	return slices.ContainsFunc([]string{"0A", "22", "23", "42", "55000"}, func(class string) bool { return strings.HasPrefix(code, class) })
}

// systemSession makes a session of the system, which no client has.
func (db *Server) systemSession(database catalog.OID) *Session {
	s := newSession(db, StartupParams{User: "postgres"}, catalog.BootstrapRole, database)
	_ = s.vars.Start(settings.Startup{ // it cannot fail: the parameter exists
		Role: "postgres", Superuser: true, Packet: map[string]string{"application_name": "sherd"},
	})
	s.named()
	s.rests()
	return s
}

// idJob is one under way.
type idJob struct {
	db   *Server
	job  *catalog.Job
	s    *Session
	done int64
	some string // why something was left as it was
	told time.Time
}

// reach writes down how far the job is.
func (w *idJob) reach(ctx context.Context, payload any) error {
	stopped := false
	_, err := w.db.cfg.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) (err error) {
		stopped, err = ch.Reach(w.job.ID, payload, w.done, time.Now().UnixMicro())
		return err
	})
	if err == nil && stopped {
		err = errStopped
	}
	w.told = time.Now()
	return err
}

// waits writes down what is in the job's way, for sherd.jobs. Where the catalog cannot be written either, the log alone has it.
func (w *idJob) waits(ctx context.Context, why error) {
	ctx, cancel := context.WithTimeout(ctx, jobsEvery)
	defer cancel()
	_, err := w.db.cfg.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
		return ch.WaitIDJob(w.job.ID, "goes on by itself after: "+pgerr.From(why).Message, time.Now().UnixMicro())
	})
	if err != nil {
		w.db.cfg.Logger.Debug("what a job about ids waits for is not written down", "job", w.job.ID, "error", err)
	}
}

func (w *idJob) end(ctx context.Context, state catalog.JobState, why string) error {
	_, err := w.db.cfg.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
		return ch.EndIDJob(w.job.ID, state, why, time.Now().UnixMicro())
	})
	return err
}

// table gives the newest definition of a table, and its quoted name; 42P01 where it is gone.
func (w *idJob) table(oid catalog.OID) (*catalog.View, *catalog.Table, error) {
	v := w.db.cfg.Catalog.View()
	t := v.Table(oid)
	if t == nil {
		return v, nil, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist any more", oid)
	}
	return v, t, nil
}

// collected is a stmt.ResultWriter that keeps rows, or calls each with them.
type collected struct {
	stmt.ResultWriter // nil: nothing else is asked of it
	rows              [][]types.Datum
	each              func(row []types.Datum) error
}

func (c *collected) Describe([]stmt.Column) error { return nil }

func (c *collected) Row(row []types.Datum) error {
	if c.each != nil {
		return c.each(row)
	}
	kept := make([]types.Datum, len(row))
	for i, d := range row {
		kept[i] = d.Clone()
	}
	c.rows = append(c.rows, kept)
	return nil
}

func (c *collected) Complete(string) error          { return nil }
func (c *collected) EmptyQuery() error              { return nil }
func (c *collected) Notice(*pgerr.Error) error      { return nil }
func (c *collected) Parameter(string, string) error { return nil }

// ask runs a query string.
func (w *idJob) ask(ctx context.Context, text string) ([][]types.Datum, error) {
	c := &collected{}
	err := w.s.Simple(ctx, text, c)
	return c.rows, err
}

// undo ends a transaction block that has failed.
func (w *idJob) undo(ctx context.Context) {
	if w.s.Status() != Idle {
		_, _ = w.ask(context.WithoutCancel(ctx), "ROLLBACK") // the session has nothing else to lose
	}
}

// again runs a transaction until it meets no other.
func (w *idJob) again(ctx context.Context, do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if err == nil {
			return nil
		}
		w.undo(ctx)
		var lost *txn.LostError
		passing := pgerr.Is(err, pgerr.SerializationFailure) || pgerr.Is(err, pgerr.DeadlockDetected) || errors.As(err, &lost)
		if !passing || n >= stmt.MaxCommits || !stmt.Sleep(ctx, stmt.Pause) {
			return err
		}
	}
}

// pace waits as long as n rows may take by a setting of rows per second.
func (w *idJob) pace(ctx context.Context, setting string, n int, since time.Time) {
	text, _ := w.db.ofCluster(setting)
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
