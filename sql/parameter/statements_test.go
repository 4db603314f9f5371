package parameter

import (
	"strings"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/txblock"
	"github.com/sherddb/sherd/sql/types"
)

// writer keeps what a statement tells its client.
type writer struct {
	stmt.ResultWriter
	log []string
}

func (w *writer) say(text ...string) error {
	w.log = append(w.log, strings.Join(text, " "))
	return nil
}

func (w *writer) Describe(columns []stmt.Column) error { return w.say("column", columns[0].Name) }
func (w *writer) Row(row []types.Datum) error          { return w.say(row[0].S) }
func (w *writer) Complete(tag string) error            { return w.say(tag) }
func (w *writer) Notice(n *pgerr.Error) error          { return w.say("notice", string(n.Code)) }
func (w *writer) Parameter(name, value string) error   { return w.say(name, "=", value) }

// TestStatements runs statements outside of a transaction.
func TestStatements(t *testing.T) {
	values := settings.NewValues(settings.Sources{
		State:   func(string) (string, bool) { return "", false },
		Cluster: func(string) (string, bool) { return "", false },
	})
	if err := values.Start(settings.Startup{Role: "ann"}); err != nil {
		t.Fatal(err)
	}
	values.Report()
	s := &Statements{
		Values: values,
		Block:  txblock.New(txblock.Environment{Environment: &tx.Environment{Setting: values.Get}, Settings: values}),
		Check: func(name, value string) error {
			if name == "role" && value == "bob" {
				return pgerr.New(pgerr.InvalidParameterValue, "no such role")
			}
			if name == settings.Fragment && value == "none" {
				return pgerr.New(pgerr.InvalidParameterValue, "no such fragment")
			}
			return nil
		},
	}
	for _, test := range []struct{ text, want string }{
		{"SHOW datestyle", "column DateStyle, ISO, MDY, SHOW"},
		{"SET datestyle = 'German'", "DateStyle = German, DMY, SET"},
		{"SET datestyle = 'German'", "SET"},
		{"RESET datestyle", "DateStyle = ISO, MDY, RESET"},
		{"SET work_mem TO DEFAULT", "SET"},
		{"SET work_mem = '1'", "error 22023"},
		{"SHOW nothing", "error 42704"},
		{"SET role = 'ann'", "SET"},
		{"SET role = 'bob'", "error 22023"},
		{"SET SESSION AUTHORIZATION bob", "session_authorization = bob, SET"},
		{"SHOW role", "column role, none, SHOW"},
		{"SET role = 'ann'", "SET"},
		{"RESET SESSION AUTHORIZATION", "session_authorization = ann, RESET"},
		{"SHOW role", "column role, none, SHOW"},
		{"SET sherd.fragment = 'none'", "error 22023"},
		{"RESET transaction_isolation", "notice 25P01, RESET"},
		{"RESET ALL", "RESET"},
	} {
		tree, err := pg_query.Parse(test.text)
		if err != nil {
			t.Fatal(err)
		}
		w := &writer{}
		if n := tree.Stmts[0].Stmt.GetVariableShowStmt(); n != nil {
			err = s.Show(n, w)
		} else {
			err = s.Set(t.Context(), tree.Stmts[0].Stmt.GetVariableSetStmt(), w)
		}
		if err != nil {
			_ = w.say("error", pgerr.Code(err))
		}
		if got := strings.Join(w.log, ", "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.text, got, test.want)
		}
	}
	w := &writer{}
	if err := s.Show(&pg_query.VariableShowStmt{Name: "all"}, w); err != nil || len(w.log) != len(settings.All())+2 {
		t.Errorf("SHOW ALL: %d lines, %v", len(w.log), err)
	}
}
