package stmt

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// newCompiler makes a compiler of the superuser over the definitions that a cluster begins with.
func newCompiler(t *testing.T) *Compiler {
	t.Helper()
	c, err := catalog.Open(catalog.Options{Dir: filepath.Join(t.TempDir(), "catalog"), Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
		err = c.WaitReady(t.Context())
	}
	if err == nil {
		_, err = c.Bootstrap(context.WithoutCancel(t.Context()), catalog.BootstrapOptions{
			ClusterID: "0191f2a4-8f6e-4000-8000-00000000002a", Fragments: 1, Node: catalog.Node{ID: 1, Name: "n1", Block: "A"},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return &Compiler{
		Database: catalog.PostgresDB, Role: catalog.BootstrapRole, Path: []string{"nowhere", "public"},
		Values: func() *types.Env { return &types.Env{} }, View: c.View(), Cache: NewCache(), Storages: &tx.Storages{},
	}
}

// compile returns the program of a text.
func (c *Compiler) compileText(t *testing.T, text string, params ...types.OID) *Program {
	t.Helper()
	stmts, err := parse.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Program(stmts[0], params)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// TestCache: a program is kept when its text comes again, and shared by compilers with the same settings; nothing is
// kept of definitions that may never come into force.
func TestCache(t *testing.T) {
	c := newCompiler(t)
	const text = "SELECT 1 AS one"
	c.compileText(t, text)
	kept := c.compileText(t, text)
	if c.compileText(t, text) != kept {
		t.Error("a text that came three times was compiled again")
	}
	if p := c.compileText(t, text, types.Int4); p == kept {
		t.Error("a text with another parameter type got the same program")
	}
	other := *c
	other.Ambient = "other settings"
	if other.compileText(t, text) == kept {
		t.Error("a client with other settings got the same program")
	}
	if c.Against(c.View).compileText(t, text) == kept {
		t.Error("definitions that are not in force got a program from the cache")
	}
	if len(kept.Columns) != 1 || kept.Columns[0].Name != "one" || kept.Columns[0].Len != 4 || kept.Writes {
		t.Errorf("got %+v", kept)
	}
}

// step is a Step that only says which form it would run.
type step struct{ form *Program }

func (s step) Run(*Executor, *tx.Tx, *exec.Ctx, exec.Emit) (*Program, error) { return s.form, nil }

// TestHooks: what the hooks return is attached to the program, with its locks on tables; by id nothing follows.
func TestHooks(t *testing.T) {
	c := newCompiler(t)
	c.Hooks = Hooks{
		Integrity: func(_ *catalog.View, _ *query.Query, env *plan.Env) (any, []tx.TableUse) {
			env.Watch = func(*catalog.Table) []plan.KeyWatch { return nil }
			return "integrity", []tx.TableUse{{Table: 7, Mode: 1}, {Table: 3, Mode: 1}, {Table: 3, Mode: 1}}
		},
		Split: func(r Replan) (Step, error) {
			again, err := r.As(func(env *plan.Env) {
				if (env.Watch == nil) != c.ByID {
					t.Errorf("the program by id %v is planned again with Watch %v", c.ByID, env.Watch != nil)
				}
			})
			return step{again}, err
		},
	}
	p := c.compileText(t, "SELECT 1")
	again, _ := p.Split.(step)
	if p.Integrity != "integrity" || again.form == nil || again.form.Exec == p.Exec || len(p.Tables) != 2 || p.Tables[0].Table != 3 {
		t.Errorf("got %+v", p)
	}
	c.ByID = true
	if p := c.compileText(t, "SELECT 1"); p.Integrity != nil || p.Split == nil {
		t.Errorf("by id: got %+v", p)
	}
}

func TestSearchPath(t *testing.T) {
	c := newCompiler(t)
	if got := c.SearchPath(); len(got) != 1 || got[0] != "public" {
		t.Errorf("got %v", got)
	}
}

// TestNoParameters: the error names the parameter if there is one.
func TestNoParameters(t *testing.T) {
	c := newCompiler(t)
	for text, code := range map[string]string{"SELECT $1::int": "42P02", "SELECT 1": "42P18"} {
		stmts, err := parse.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := pgerr.Code(c.NoParameters(stmts[0])); got != code {
			t.Errorf("%s: got %s, want %s", text, got, code)
		}
	}
}
