package ddl_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/types"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// world is a catalog whose tables are all empty.
type world struct {
	t   *testing.T
	env *ddl.Env
	out strings.Builder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c, err := catalog.Open(catalog.Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	_, err = c.Bootstrap(ctx, catalog.BootstrapOptions{
		ClusterID: "0191f2a4-8f6e-4000-8000-00000000002a", Fragments: 3,
		Node: catalog.Node{ID: 1, Name: "n1", Block: "A"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t}
	w.env = &ddl.Env{
		FillFragments: func(_ context.Context, now, _ *catalog.Database) (*catalog.Plan, error) {
			// The test has no fragments to ask.
			return &catalog.Plan{Epoch: now.Map.Epoch()}, nil
		},
		Catalog: c, Database: catalog.PostgresDB, Role: catalog.BootstrapRole,
		Namespaces: ddl.Namespaces{SearchPath: []string{"public"}},
		Env:        &types.Env{}, Notice: func(n *pgerr.Error) error { w.say(n); return nil },
		View:    c.View,
		Lock:    func(context.Context, []catalog.OID) error { return nil },
		Reserve: func(context.Context, []catalog.OID) error { return nil },
		Quiet:   func(context.Context, []catalog.OID) error { return nil },
		Barrier: func(context.Context, catalog.OID) error { return nil },
		Change: func(ctx context.Context, plan func(*catalog.View, *catalog.Change) error) error {
			_, err := c.Update(ctx, plan)
			return err
		},
		Query:   func(context.Context, *catalog.View, string, func([]types.Datum) error) error { return nil },
		Fill:    func(context.Context, *catalog.View, catalog.OID, catalog.OID) error { return nil },
		Rewrite: func(context.Context, *catalog.View, ddl.Rewrite) (bool, error) { return false, nil },
		Sequence: func(_ context.Context, s *catalog.Table) (int64, bool, error) {
			return s.Sequence.Value, s.Sequence.Called, nil
		},
		Setting:      func(_, value string) (string, error) { return value, nil },
		WaitDatabase: func(context.Context, *catalog.Database) error { return nil },
		Disconnect:   func(context.Context, catalog.OID, bool) (int, error) { return 0, nil },
	}
	return w
}

func (w *world) say(e *pgerr.Error) {
	severity := e.Severity
	if severity == "" {
		severity = "ERROR"
	}
	fmt.Fprintf(&w.out, "%s:  %s: %s\n", severity, e.Code, e.Message)
	if e.Detail != "" {
		fmt.Fprintf(&w.out, "DETAIL:  %s\n", e.Detail)
	}
	if e.Hint != "" {
		fmt.Fprintf(&w.out, "HINT:  %s\n", e.Hint)
	}
	if e.Position > 0 {
		fmt.Fprintf(&w.out, "POSITION:  %d\n", e.Position)
	}
}

// run runs a script and appends notices and errors to out.
func (w *world) run(script string) {
	w.t.Helper()
	for _, line := range strings.SplitAfter(script, ";\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		fmt.Fprintln(&w.out, line)
		stmts, err := parse.Parse(line)
		if err != nil {
			w.say(pgerr.From(err))
			continue
		}
		for _, st := range stmts {
			tag, err := ddl.Run(w.t.Context(), w.env, st)
			if err != nil {
				w.say(pgerr.From(err))
				continue
			}
			fmt.Fprintln(&w.out, tag)
		}
	}
}

func (w *world) table(name string) *catalog.Table {
	w.t.Helper()
	t := w.env.Catalog.View().FindTable(catalog.PostgresDB, "public", name)
	if t == nil {
		w.t.Fatalf("no table %s; so far:\n%s", name, w.out.String())
	}
	return t
}

// TestScripts runs testdata/*.sql and compares the output with the golden files next to them. If
// PostgreSQL has the statement, messages, codes, notices and positions are those of PostgreSQL 15.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			script, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t)
			w.run(string(script))
			golden := strings.TrimSuffix(f, ".sql") + ".golden"
			if *rewrite {
				if err := os.WriteFile(golden, []byte(w.out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, string(want), w.out.String())
		})
	}
}

// TestUnsupportedHasHint checks that every statement of the list returns 0A000 with a hint.
func TestUnsupportedHasHint(t *testing.T) {
	script, err := os.ReadFile("testdata/unsupported.sql")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	for _, line := range strings.SplitAfter(string(script), ";\n") {
		before := w.out.Len()
		w.run(line)
		said := w.out.String()[before:]
		if strings.Contains(said, "0A000") && !strings.Contains(said, "HINT:  ") {
			t.Error(said)
		}
	}
}

func compare(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			t.Fatalf("line %d:\nwant %s\ngot  %s", i+1, a, b)
		}
	}
}
