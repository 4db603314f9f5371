package autoanalyze

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/testsql"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/tablestats"
)

// scheduled is a Schedule over the definitions of a node, with sizes of tables that the test sets.
type scheduled struct {
	Schedule
	mu       sync.Mutex // guards what follows
	settings map[string]string
	rows     map[string]int64 // of tables
	silent   bool             // a fragment does not answer
	fail     error            // of analyses
	leads    bool
	analyzed []string
}

func newScheduled(view *catalog.View) *scheduled {
	s := &scheduled{settings: map[string]string{}, rows: map[string]int64{}, leads: true}
	s.Schedule = Schedule{
		View: func() *catalog.View { return view },
		Leads: func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.leads
		},
		Setting: func(name string) (string, bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			v, ok := s.settings[name]
			return v, ok
		},
		Logger: slog.New(slog.DiscardHandler),
		Totals: func(_ context.Context, d *catalog.Database) (out []tablestats.Total, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.silent {
				return nil, errors.New("no answer")
			}
			for t := range view.Tables(d.OID) {
				out = append(out, tablestats.Total{
					Fragment: 1, Storage: t.StorageID, Size: tablestats.Size{Rows: s.rows[t.Name]},
				})
			}
			return out, nil
		},
		Analyze: func(_ context.Context, t *catalog.Table) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.analyzed = append(s.analyzed, t.Name)
			return s.fail
		},
	}
	return s
}

// set changes what the schedule meets.
func (s *scheduled) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// want checks which tables are analyzed in a time.
func (s *scheduled) want(t *testing.T, in time.Duration, want string) {
	t.Helper()
	time.Sleep(in)
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.analyzed)
	if got := strings.Join(s.analyzed, " "); got != want {
		t.Errorf("analyzed %q, want %q", got, want)
	}
	s.analyzed = nil
}

// definitions returns the definitions of some tables. The one named analyzed has statistics of 1,000 rows.
func definitions(t *testing.T) *catalog.View {
	n := testsql.Open(t, 1)
	n.Define(`CREATE TABLE a (k int PRIMARY KEY);
		CREATE TABLE analyzed (k int PRIMARY KEY);
		CREATE TABLE never (k int PRIMARY KEY) WITH (autovacuum_enabled = off);
		CREATE TABLE soon (k int PRIMARY KEY) WITH (autovacuum_analyze_threshold = 5);
		CREATE SEQUENCE s`)
	_, err := n.Catalog.Update(t.Context(), func(view *catalog.View, ch *catalog.Change) error {
		table := n.Table("analyzed")
		run := tablestats.Run{Found: &statistics.Table{Rows: 1000, AnalyzedRows: 1000, Analyzed: time.Unix(1e9, 0)}}
		return run.Merged(view, table).Put(ch)
	})
	testsql.WantCode(t, err, "")
	return n.Catalog.View()
}

// TestSchedule checks which tables are analyzed, and when.
func TestSchedule(t *testing.T) {
	view := definitions(t)
	synctest.Test(t, func(t *testing.T) {
		s := newScheduled(view)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		s.set(func() { s.rows = map[string]int64{"a": 50, "analyzed": 1150, "never": 1e6, "soon": 5} })
		s.want(t, 5*time.Minute, "") // at the limit
		s.set(func() { s.rows = map[string]int64{"a": 51, "analyzed": 1151, "never": 1e6, "soon": 6} })
		s.want(t, time.Minute, "a analyzed soon")
		s.set(func() { s.rows = map[string]int64{"analyzed": 849} })
		s.want(t, time.Minute, "analyzed")
		s.set(func() { s.settings = map[string]string{"autovacuum_analyze_scale_factor": "0.2"} })
		s.want(t, time.Minute, "")
		s.set(func() { s.settings = map[string]string{"autovacuum_analyze_threshold": "51"} })
		s.want(t, time.Minute, "")
		s.set(func() { s.settings = map[string]string{"autovacuum_naptime": "1"} })
		s.want(t, 10*time.Second, strings.TrimSpace(strings.Repeat("analyzed ", 10)))
		for what, off := range map[string]func(){
			"autovacuum is off":             func() { s.settings["autovacuum"] = "off" },
			"another node leads":            func() { s.leads = false },
			"a fragment does not answer":    func() { s.silent = true },
			"the table is as it was before": func() { s.rows["analyzed"] = 1000 },
		} {
			s.set(off)
			t.Log(what)
			s.want(t, time.Minute, "")
			s.set(func() {
				s.settings["autovacuum"], s.leads, s.silent, s.rows["analyzed"] = "on", true, false, 849
			})
			s.want(t, time.Second, "analyzed")
		}
		cancel()
		<-done
	})
}

// TestFailure checks that a table which could not be analyzed is tried again (AA3).
func TestFailure(t *testing.T) {
	view := definitions(t)
	synctest.Test(t, func(t *testing.T) {
		s := newScheduled(view)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		for _, fail := range []error{ErrSkipped, fmt.Errorf("rows: %w", errors.New("no leader")), nil} {
			s.set(func() { s.fail, s.rows = fail, map[string]int64{"a": 60, "soon": 60, "analyzed": 1000} })
			s.want(t, time.Minute, "a soon")
		}
		cancel()
		<-done
	})
}
