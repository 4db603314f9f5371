package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The levels at which every anomaly is tried, from the weakest.
var levels = []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}

// placements say which ids the names a, b and c of a script get. In PostgreSQL they are ids like others; here they choose the fragment, of
// which a new cluster has three.
var placements = []struct {
	name string
	ids  map[string]string
}{
	{"one fragment", map[string]string{"a": "a$@1", "b": "b$@2", "c": "c$@3"}},
	{"several fragments", map[string]string{"a": "a$@1", "b": "b$@400000", "c": "c$@800000"}},
}

// TestAnomalies runs each script of testdata/anomalies at each level, over one fragment and over several, and holds the verdicts against
// PostgreSQL's. A stricter one, that is a refusal where PostgreSQL allows, must be listed in stricter.txt.
func TestAnomalies(t *testing.T) {
	paths, err := filepath.Glob("testdata/anomalies/*.script")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	url := sharedURL(t)
	golden := readVerdicts(t, "testdata/anomalies/verdicts.golden")
	stricter := readVerdicts(t, "testdata/anomalies/stricter.txt")
	postgres := os.Getenv("SHERD_COMPARE_URL") != ""
	var got []string
	for _, path := range paths {
		s := readAnomaly(t, path)
		for _, level := range levels {
			key := s.name + ", " + level
			if postgres {
				got = append(got, key+": "+s.run(t, url, level, placements[0].ids))
				continue
			}
			for _, p := range placements {
				t.Run(key+", "+p.name, func(t *testing.T) {
					want := golden[key]
					if w, ok := stricter[key]; ok {
						want = w
					}
					if v := s.run(t, url, level, p.ids); v != want {
						t.Errorf("%s, want %s", v, want)
					}
				})
			}
		}
	}
	if postgres {
		compareVerdicts(t, golden, got)
	}
}

func compareVerdicts(t *testing.T, golden map[string]string, got []string) {
	if *rewrite {
		text := "# What PostgreSQL 15 makes of each anomaly, by `integration/compare -rewrite`.\n" + strings.Join(got, "\n") + "\n"
		if err := os.WriteFile("testdata/anomalies/verdicts.golden", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, line := range got {
		key, verdict, _ := strings.Cut(line, ": ")
		if golden[key] != verdict {
			t.Errorf("%s: PostgreSQL says %s, the golden file %s", key, verdict, golden[key])
		}
	}
}

// readVerdicts reads lines of "script, LEVEL: verdict".
func readVerdicts(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, verdict, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(line, "#") {
			out[key] = verdict
		}
	}
	return out
}

// anomaly is a script. Its first line says what it shows; then there are
//
//	s1: SELECT v FROM t WHERE id = {a} -> x     a statement of session s1, whose one value is called x
//	s1 ends                                     the statement of s1 that waits is waited for
//	anomaly when x = 1 and s1 committed …       what must not happen
//
// Each session's transaction is begun by the runner and ended by `s1: COMMIT`. A statement that fails ends it.
type anomaly struct {
	name  string
	steps []string
	when  []string
}

func readAnomaly(t *testing.T, path string) *anomaly {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := &anomaly{name: strings.TrimSuffix(filepath.Base(path), ".script")}
	if !strings.HasPrefix(string(text), "# ") {
		t.Fatalf("%s: the first line must say what it shows", path)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch cond, ok := strings.CutPrefix(line, "anomaly when "); {
		case ok:
			a.when = strings.Split(cond, " and ")
		case line != "" && line[0] != '#':
			a.steps = append(a.steps, line)
		}
	}
	if len(a.when) == 0 || len(a.steps) == 0 {
		t.Fatalf("%s: no steps, or no anomaly", path)
	}
	return a
}

// anomalyRun is one run of a script.
type anomalyRun struct {
	t        *testing.T
	ctx      context.Context
	level    string
	control  *pgx.Conn
	sessions map[string]*anomalySession
	values   map[string]string
	log      []string
}

// anomalySession is a connection whose statements may wait.
type anomalySession struct {
	name    string
	conn    *pgx.Conn
	pid     uint32
	pending chan anomalyResult // of the statement that waits
	step    string
	begun   bool
	outcome string // "committed", an SQLSTATE, or "" while it is open
}

type anomalyResult struct {
	values []string
	err    error
}

// testTimeout bounds every wait of a script: what takes longer hangs.
const testTimeout = 2 * time.Minute

// run gives the verdict: "allowed" where the anomaly was seen, else "refused", with the errors of transactions that failed, whichever these were.
func (a *anomaly) run(t *testing.T, url, level string, ids map[string]string) string {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	r := &anomalyRun{t: t, ctx: ctx, level: level, sessions: map[string]*anomalySession{}, values: map[string]string{}}
	r.control = Connect(t, url)
	defer r.close()
	r.exec("DROP TABLE IF EXISTS t")
	r.exec("CREATE TABLE t (id text PRIMARY KEY, k text, v int, doc jsonb)")
	for name, id := range ids {
		r.exec(fmt.Sprintf("INSERT INTO t VALUES ('%s', '%s', 10, '{}')", id, name))
	}
	for _, step := range a.steps {
		for name, id := range ids {
			step = strings.ReplaceAll(step, "{"+name+"}", "'"+id+"'")
		}
		r.step(step)
	}
	r.finish()
	verdict := "refused"
	if r.holds(a.when) {
		verdict = "allowed"
	}
	var codes []string
	for _, s := range r.sessions {
		if s.outcome != "committed" && s.outcome != "rolled back" {
			codes = append(codes, s.outcome)
		}
	}
	slices.Sort(codes)
	for _, code := range codes {
		verdict += ", " + code
	}
	t.Logf("%s\n%s", strings.Join(r.log, "\n"), verdict)
	return verdict
}

func (r *anomalyRun) exec(sql string) {
	r.t.Helper()
	if _, err := r.control.Exec(r.ctx, sql); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
}

func (r *anomalyRun) step(step string) {
	if name, ok := strings.CutSuffix(step, " ends"); ok {
		s := r.session(name)
		if s.pending != nil {
			r.end(s)
		}
		return
	}
	name, sql, ok := strings.Cut(step, ": ")
	if !ok {
		r.t.Fatalf("step %q is neither a statement nor an end", step)
	}
	s := r.session(name)
	if s.pending != nil {
		r.t.Fatalf("%s: %q still waits\n%s", step, s.step, strings.Join(r.log, "\n"))
	}
	if s.outcome != "" {
		r.log = append(r.log, step+"   (has ended)")
		return
	}
	if !s.begun {
		s.begun = true
		if _, err := s.conn.Exec(r.ctx, "BEGIN ISOLATION LEVEL "+r.level); err != nil {
			r.t.Fatal(err)
		}
	}
	r.send(s, step, sql)
	r.watch(s)
}

// session opens a session at its first use.
func (r *anomalyRun) session(name string) *anomalySession {
	s := r.sessions[name]
	if s == nil {
		conn := Connect(r.t, r.control.Config().ConnString())
		s = &anomalySession{name: name, conn: conn, pid: conn.PgConn().PID()}
		r.sessions[name] = s
	}
	return s
}

func (r *anomalyRun) send(s *anomalySession, step, sql string) {
	sql, _, _ = strings.Cut(sql, " -> ")
	s.step, s.pending = step, make(chan anomalyResult, 1)
	pending := s.pending
	go func() {
		rows, err := s.conn.Query(r.ctx, sql, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			pending <- anomalyResult{err: err}
			return
		}
		values, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			var parts []string
			for _, raw := range row.RawValues() {
				parts = append(parts, string(raw))
			}
			return strings.Join(parts, " "), nil
		})
		pending <- anomalyResult{values, err}
	}()
}

// watch waits until the statement of s ends or waits for a lock.
func (r *anomalyRun) watch(s *anomalySession) {
	for {
		select {
		case res := <-s.pending:
			r.take(s, res)
			return
		case <-time.After(2 * time.Millisecond):
		}
		var waits bool
		err := r.control.QueryRow(r.ctx, "SELECT coalesce(wait_event_type = 'Lock', false) FROM pg_stat_activity WHERE pid = $1", s.pid).Scan(&waits)
		if err != nil {
			r.t.Fatalf("%s: %v", s.step, err)
		}
		if waits {
			r.log = append(r.log, s.step+"   waits")
			return
		}
	}
}

func (r *anomalyRun) end(s *anomalySession) {
	select {
	case res := <-s.pending:
		r.take(s, res)
	case <-r.ctx.Done():
		r.t.Fatalf("%s: waits for ever\n%s", s.step, strings.Join(r.log, "\n"))
	}
}

// take notes what a statement gave. One that fails ends its transaction.
func (r *anomalyRun) take(s *anomalySession, res anomalyResult) {
	s.pending = nil
	if res.err != nil {
		s.outcome = sqlState(res.err)
		if s.outcome == "" {
			r.t.Fatalf("%s: %v", s.step, res.err)
		}
		r.log = append(r.log, fmt.Sprintf("%s   %v", s.step, res.err))
		if s.conn.PgConn().TxStatus() != 'I' {
			if _, err := s.conn.Exec(r.ctx, "ROLLBACK"); err != nil {
				r.t.Fatal(err)
			}
		}
		return
	}
	value := strings.Join(res.values, "; ")
	r.log = append(r.log, s.step+"   "+value)
	if _, name, ok := strings.Cut(s.step, " -> "); ok {
		r.values[name] = value
	}
	switch _, sql, _ := strings.Cut(s.step, ": "); sql {
	case "COMMIT":
		s.outcome = "committed"
	case "ROLLBACK":
		s.outcome = "rolled back"
	}
}

func (r *anomalyRun) close() {
	r.control.Close(context.Background())
	for _, s := range r.sessions {
		s.conn.Close(context.Background())
	}
}

// finish lets every session come to its end.
func (r *anomalyRun) finish() {
	for _, s := range r.sessions {
		if s.pending != nil {
			r.end(s)
		}
		if s.outcome == "" {
			r.t.Fatalf("%s does not end\n%s", s.name, strings.Join(r.log, "\n"))
		}
	}
	rows, err := r.control.Query(r.ctx, "SELECT k, v FROM t")
	if err != nil {
		r.t.Fatal(err)
	}
	var k string
	var v int
	if _, err := pgx.ForEachRow(rows, []any{&k, &v}, func() error { r.values[k] = fmt.Sprint(v); return nil }); err != nil {
		r.t.Fatal(err)
	}
	if os.Getenv("SHERD_COMPARE_URL") == "" {
		for _, wrong := range failedChecks(r.t, r.control) {
			r.t.Error(wrong)
		}
	}
}

// holds evaluates "x = 1", "x != y", "s1 committed". The rows' values at the end go by their names a, b and c.
func (r *anomalyRun) holds(conditions []string) bool {
	value := func(name string) string {
		if v, ok := r.values[name]; ok {
			return v
		}
		return strings.Trim(name, "'")
	}
	for _, c := range conditions {
		f := strings.SplitN(c, " ", 3)
		switch {
		case len(f) == 2 && f[1] == "committed":
			if r.sessions[f[0]].outcome != "committed" {
				return false
			}
		case len(f) == 3 && f[1] == "=":
			if value(f[0]) != value(f[2]) {
				return false
			}
		case len(f) == 3 && f[1] == "!=":
			if value(f[0]) == value(f[2]) {
				return false
			}
		default:
			r.t.Fatalf("condition %q is none", c)
		}
	}
	return true
}
