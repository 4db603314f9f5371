package scenario

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/internal/eventually"
)

// Directive is a directive that a package adds. It returns the answer.
type Directive func(t *testing.T, d *datadriven.TestData) string

// Config says what scripts are played against.
type Config struct {
	// URL returns the connection string of a server: "" is the one that sessions have unless they
	// ask for another.
	URL func(server string) string
	// Directives are those of the package, by their names.
	Directives map[string]Directive
}

// Run plays a script.
func Run(t *testing.T, path string, cfg Config) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "# ") {
		t.Fatalf("%s: the first line must be a comment that says what the script shows", path)
	}
	p := &player{cfg: cfg, sessions: map[string]*session{}, values: map[string]string{}}
	defer p.end(t)
	datadriven.RunTest(t, path, p.play)
	for _, s := range p.sessions {
		if s.pending != nil {
			t.Errorf("%s: session %s is not finished", path, s.name)
		}
	}
}

// player plays a script.
type player struct {
	cfg      Config
	sessions map[string]*session
	values   map[string]string // what {x} stands for
	watcher  *pgconn.PgConn    // asks about the sessions
}

func (p *player) end(t *testing.T) {
	for _, s := range p.sessions {
		if s.conn != nil {
			_ = s.conn.Close(context.WithoutCancel(t.Context()))
		}
	}
	if p.watcher != nil {
		_ = p.watcher.Close(context.WithoutCancel(t.Context()))
	}
}

// play runs a directive and returns its answer.
func (p *player) play(t *testing.T, d *datadriven.TestData) string {
	if own, ok := p.cfg.Directives[d.Cmd]; ok {
		return own(t, d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), eventually.Timeout)
	defer cancel()
	lines := p.lines(d.Input)
	c := parse(t, d)
	if d.Cmd == "session" {
		p.connect(ctx, t, d, c.session)
		return ""
	}
	s := p.sessions[c.session]
	if s == nil {
		s = p.connect(ctx, t, d, c.session)
	}
	var out string
	switch {
	case d.Cmd == "finish":
		out = p.finish(ctx, t, d, s)
	case s.pending != nil:
		d.Fatalf(t, "session %s has not finished what was started", c.session)
	default:
		out = p.run(ctx, t, d, s, lines)
	}
	if c.value != "" {
		p.values[c.value] = s.last
	}
	if c.brief {
		out = details.ReplaceAllString(out, "")
	}
	return p.named(out)
}

var details = regexp.MustCompile(`(?m)^DETAIL: .*\n?`)

// call is a directive that was read.
type call struct {
	session string
	value   string // the name of the first value of the last row
	brief   bool   // errors without DETAIL
}

func parse(t *testing.T, d *datadriven.TestData) call {
	c := call{session: "a"}
	if d.Cmd == "session" {
		if len(d.CmdArgs) == 0 {
			d.Fatalf(t, "which session?")
		}
		c.session = d.CmdArgs[0].Key
		return c
	}
	for i := 0; i < len(d.CmdArgs); i++ {
		switch key := d.CmdArgs[i].Key; {
		case key == "brief":
			c.brief = true
		case key == "->" && i+1 < len(d.CmdArgs):
			i++
			c.value = d.CmdArgs[i].Key
		case i == 0:
			c.session = key
		default:
			d.Fatalf(t, "unknown argument %q", key)
		}
	}
	return c
}

// run runs a directive of a session.
func (p *player) run(ctx context.Context, t *testing.T, d *datadriven.TestData, s *session, lines []string) string {
	switch d.Cmd {
	case "exec":
		return s.exec(ctx, lines)
	case "start":
		return p.start(t, s, lines)
	case "await":
		return p.await(ctx, t, d, s, lines)
	case "pipeline":
		return s.pipeline(ctx, lines)
	case "copy":
		raw := strings.Split(d.Input, "\n")
		return s.copy(ctx, p.filled(raw[0]), raw[1:])
	case "heard":
		return s.notifications(ctx)
	case "check":
		return check(ctx, s)
	case "close":
		p.disconnect(ctx, t, d, s)
		return ""
	}
	d.Fatalf(t, "unknown directive %q", d.Cmd)
	return ""
}

// check runs sherd.check() and lists what is wrong.
func check(ctx context.Context, s *session) string {
	const wrong = `SELECT "check", subject, detail FROM sherd.check() WHERE NOT ok`
	if out := s.exec(ctx, []string{wrong}); out != "SELECT 0" {
		return out
	}
	s.exec(ctx, []string{`SELECT count(*) FROM sherd.check() WHERE "check" = 'index'`})
	return "ok, " + s.last + " indexes"
}

// connect opens a session.
func (p *player) connect(ctx context.Context, t *testing.T, d *datadriven.TestData, name string) *session {
	if p.sessions[name] != nil {
		d.Fatalf(t, "session %s is connected already", name)
	}
	options := map[string]string{"server": "", "user": "postgres", "database": "postgres"}
	if d.Cmd == "session" {
		for _, arg := range d.CmdArgs[1:] {
			if _, ok := options[arg.Key]; !ok {
				d.Fatalf(t, "unknown option %q", arg.Key)
			}
			options[arg.Key] = arg.SingleVal(t)
		}
	}
	s := &session{name: name}
	conn, err := p.dial(ctx, options, s.listen)
	if err != nil {
		d.Fatalf(t, "session %s: %v", name, err)
	}
	s.conn = conn
	p.sessions[name] = s
	return s
}

func (p *player) dial(ctx context.Context, o map[string]string, f func(*pgconn.Config)) (*pgconn.PgConn, error) {
	c, err := pgconn.ParseConfig(p.cfg.URL(o["server"]))
	if err != nil {
		return nil, err
	}
	c.User, c.Database = o["user"], o["database"]
	if f != nil {
		f(c)
	}
	return pgconn.ConnectConfig(ctx, c)
}

// start runs a query string in the background until it waits for a lock. If it does not, its
// answer is returned.
func (p *player) start(t *testing.T, s *session, lines []string) string {
	done := make(chan string, 1)
	s.pending = done
	ctx, cancel := context.WithTimeout(t.Context(), eventually.Timeout)
	go func() {
		defer cancel()
		done <- s.exec(ctx, lines)
	}()
	var out string
	eventually.Holds(t, "session "+s.name+" waits", func() bool {
		select {
		case out = <-done:
			s.pending = nil
			return true
		default:
		}
		out = p.blockers(t, s)
		return out != ""
	})
	return out
}

// disconnect ends a session and waits until the server has released what it had.
func (p *player) disconnect(ctx context.Context, t *testing.T, d *datadriven.TestData, s *session) {
	if err := s.conn.Close(ctx); err != nil {
		d.Fatalf(t, "%v", err)
	}
	delete(p.sessions, s.name)
	eventually.Holds(t, "the server has forgotten session "+s.name, func() bool {
		return len(p.ask(t, fmt.Sprintf("SELECT 1 FROM pg_stat_activity WHERE pid = %d", s.conn.PID()))) == 0
	})
}

// blockers returns which sessions a session waits for, "" if it does not wait.
func (p *player) blockers(t *testing.T, s *session) string {
	var names []string
	for _, pid := range p.ask(t, fmt.Sprintf("SELECT unnest(pg_blocking_pids(%d))", s.conn.PID())) {
		names = append(names, p.sessionOf(pid))
	}
	if names == nil {
		return ""
	}
	slices.Sort(names)
	return "waits for " + strings.Join(slices.Compact(names), ", ")
}

// ask returns the first column of a query of the watcher.
func (p *player) ask(t *testing.T, text string) []string {
	ctx, cancel := context.WithTimeout(t.Context(), eventually.Timeout)
	defer cancel()
	if p.watcher == nil {
		conn, err := p.dial(ctx, map[string]string{"user": "postgres", "database": "postgres"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.watcher = conn
	}
	results, err := p.watcher.Exec(ctx, text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, row := range results[0].Rows {
		out = append(out, string(row[0]))
	}
	return out
}

// sessionOf returns the name of the session with a process number.
func (p *player) sessionOf(pid string) string {
	for _, s := range p.sessions {
		if strconv.FormatUint(uint64(s.conn.PID()), 10) == pid {
			return s.name
		}
	}
	if pid == "0" {
		return "a prepared transaction"
	}
	return "another"
}

// finish waits for what was started.
func (p *player) finish(ctx context.Context, t *testing.T, d *datadriven.TestData, s *session) string {
	if s.pending == nil {
		d.Fatalf(t, "session %s has started nothing", s.name)
	}
	done := s.pending
	s.pending = nil
	select {
	case out := <-done:
		return out
	case <-ctx.Done():
		d.Fatalf(t, "session %s does not finish", s.name)
		return ""
	}
}

// await runs query strings until they answer what is expected. If they do not, the last answer
// shows what was missing.
func (p *player) await(ctx context.Context, t *testing.T, d *datadriven.TestData, s *session, lines []string) string {
	var out string
	defer func() {
		if t.Failed() {
			t.Logf("%s: the last answer was\n%s", d.Pos, out)
		}
	}()
	eventually.Holds(t, d.Pos+": the answer is the expected one", func() bool {
		out = s.exec(ctx, lines)
		return p.named(out) == strings.TrimSuffix(d.Expected, "\n")
	})
	return out
}

// lines splits an input into query strings: an indented line continues the one before.
func (p *player) lines(input string) []string {
	var out []string
	for line := range strings.Lines(p.filled(input)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "--"):
		case len(out) > 0 && (line[0] == ' ' || line[0] == '\t'):
			out[len(out)-1] += "\n" + line
		default:
			out = append(out, line)
		}
	}
	return out
}

// filled replaces {x} and {pid a} by their values.
func (p *player) filled(s string) string {
	for name, v := range p.values {
		s = strings.ReplaceAll(s, "{"+name+"}", v)
	}
	for name, session := range p.sessions {
		s = strings.ReplaceAll(s, "{pid "+name+"}", strconv.FormatUint(uint64(session.conn.PID()), 10))
	}
	return s
}

// longEnough is the length from which a value is not part of another one by chance.
const longEnough = 6

// named replaces values in an answer by {x} and {pid a}.
func (p *player) named(s string) string {
	for name, session := range p.sessions {
		number := regexp.MustCompile(`\b` + strconv.FormatUint(uint64(session.conn.PID()), 10) + `\b`)
		s = number.ReplaceAllLiteralString(s, "{pid "+name+"}")
	}
	for name, v := range p.values {
		if len(v) >= longEnough {
			s = strings.ReplaceAll(s, v, "{"+name+"}")
		}
	}
	return s
}
