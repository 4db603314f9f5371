package sql_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sherddb/sherd/internal/scenario"
	"github.com/sherddb/sherd/internal/testlog"
	"github.com/sherddb/sherd/pgwire"
	"github.com/sherddb/sherd/sql/session"
)

// TestScenarios plays testdata/scenarios: each script against a cluster of its own. It has three
// fragments, or as many as the directive `cluster fragments=(1, 3)` says: a script with two numbers
// is played twice.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		t.Parallel()
		for _, fragments := range fragmentsOf(t, path) {
			t.Run(fragments, func(t *testing.T) {
				n, err := strconv.Atoi(fragments)
				must(t, err)
				p := &served{t: t, w: newWorldOf(t, n)}
				scenario.Run(t, path, scenario.Config{URL: p.url, Directives: map[string]scenario.Directive{
					"cluster": func(*testing.T, *datadriven.TestData) string { return "" },
					"jobs":    p.jobs,
				}})
			})
		}
	})
}

// fragmentsOf returns the numbers of fragments that a script is played with.
func fragmentsOf(t *testing.T, path string) []string {
	text, err := os.ReadFile(path)
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "cluster ") {
			_, args, err := datadriven.ParseLine(strings.TrimSpace(line))
			must(t, err)
			return args[0].Vals
		}
	}
	return []string{"3"}
}

// served is the world of a script, with a port for clients.
type served struct {
	t     *testing.T
	w     *world
	addrs map[string]string // of each server
}

// jobs runs the background jobs of the server until the script ends.
func (p *served) jobs(*testing.T, *datadriven.TestData) string {
	p.w.runJobs(p.t)
	return ""
}

// url returns where a server listens, and starts it if it does not. Servers share the catalog and
// the fragments.
func (p *served) url(server string) string {
	if p.addrs == nil {
		p.addrs = map[string]string{}
	}
	if p.addrs[server] == "" {
		w := p.w
		if server != "" {
			w = w.another()
		}
		p.addrs[server] = w.listen(p.t, firstPID+uint32(len(p.addrs))*1000)
	}
	return "postgres://" + p.addrs[server] + "/postgres?sslmode=disable"
}

// firstPID is the number before the process number of a script's first session. It is large, so
// that no other number in an answer is taken for one.
const firstPID = 900_000

// listen serves clients on a port until the test ends. Their process numbers come after firstPID.
func (w *world) listen(t *testing.T, firstPID uint32) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := pgwire.NewServer(pgwire.Config{
		NewSession: func(ctx context.Context, p session.StartupParams) (pgwire.Session, error) {
			return w.server.NewSession(ctx, p)
		},
		Authenticate: w.server.Authenticate,
		FirstPID:     firstPID,
		Log:          testlog.New(t),
	})
	var served sync.WaitGroup
	served.Go(func() {
		if err := s.Serve(l); !errors.Is(err, pgwire.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(func() {
		s.Close()
		served.Wait()
	})
	return l.Addr().String()
}
