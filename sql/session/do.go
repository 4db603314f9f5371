package session

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/plpgsql"
	"github.com/sherddb/sherd/sql/routine"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// anonymous runs anonymous blocks, for one statement of the session.
type anonymous struct {
	*Session
	w stmt.ResultWriter
}

// environment is what the statements of functions use of the session.
func (r anonymous) environment() *routine.Environment {
	s := r.Session
	return &routine.Environment{
		Compiler: s.currentCompiler, Version: func() uint64 { return s.block.View().DefinitionVersion() },
		Known: s.node.knownNames, Values: s.Env, Portals: s.portals, Transaction: r,
		Notice: r.notice, Report: r.w.Parameter,
		Run: func(
			ctx context.Context, p *stmt.Program, args []types.Datum, emit exec.Emit,
		) (int64, error) {
			return s.run(ctx, nil, p, args, emit)
		},
		Utility:        r.utility,
		UtilityColumns: func(st parse.Statement) []stmt.Column { return utilityColumns(st.Node) },
		Expressions: func(ctx context.Context) expr.Ctx {
			return expr.Ctx{Context: ctx, Session: info{objects{s}, ctx}}
		},
		Memory: func() *memory.Account {
			return memory.Limited(s.derived.Memory).WithFiles(s.node.TempDir)
		},
	}
}

// utility runs a statement of a function that is not a query.
func (r anonymous) utility(ctx context.Context, st parse.Statement, b routine.Bound, w stmt.ResultWriter) error {
	text, outer := r.query, r.bound
	r.bound = &bound{vars: b.Vars, args: b.Args}
	err := r.Session.utility(ctx, st, w, true)
	r.query, r.bound = text, outer
	return err
}

// BeginSub implements routine.Transaction.
func (r anonymous) BeginSub() int { return r.block.BeginSub() }

// EndSub implements routine.Transaction.
func (r anonymous) EndSub(i int, keep bool) { r.block.EndSub(i, keep) }

// End implements routine.Transaction. The statement is not run again from here on.
func (r anonymous) End(ctx context.Context, commit, chain bool) error {
	if h, ok := r.w.(*stmt.HoldingWriter); ok {
		if err := h.Once(); err != nil {
			return err
		}
	}
	return r.block.Next(unbounded(ctx), commit, chain)
}

// severities are those of messages for clients, in the order of client_min_messages.
var severities = []string{"debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"}

// notice sends a message of a function, if the client wants messages of its severity.
func (r anonymous) notice(e *pgerr.Error) error {
	if e.Severity == "DEBUG" {
		e.Severity = "DEBUG1"
	}
	least, _ := r.vars.Get("client_min_messages")
	at := slices.Index(severities, strings.ToLower(e.Severity))
	if at >= 0 && at < slices.Index(severities, strings.ToLower(least)) {
		return nil
	}
	if err := r.sendNotices(r.w); err != nil {
		return err
	}
	return r.w.Notice(e)
}

// do runs DO.
func (r anonymous) do(ctx context.Context, st parse.Statement, n *pg_query.DoStmt, implicitBlock bool) error {
	source, err := inlineSource(n)
	if err != nil {
		return err
	}
	atomic := !r.isAutocommit(implicitBlock)
	t := r.block.Join(implicitBlock)
	alone := t.ImplicitBlock
	t.Used, t.ImplicitBlock = true, true // its statements follow one another
	defer func() {
		if t := r.block.Tx; t != nil {
			t.ImplicitBlock = alone
		}
	}()
	x := routine.New(r.environment(), atomic)
	d := &function.Definition{Result: types.Void, Source: source}
	body, err := plpgsql.Language{}.Compile(d, x)
	if err != nil {
		return inLiteral(err, st, source)
	}
	_, err = body.Call(&function.Call{
		Context: ctx, Values: r.Env(), Statements: x, Notice: r.notice, Setting: r.vars.Get, Atomic: atomic,
	})
	if nerr := r.sendNotices(r.w); err == nil {
		err = nerr
	}
	return complete(r.w, "DO", err)
}

// inlineSource returns the text of a DO, whose language must be PL/pgSQL.
func inlineSource(n *pg_query.DoStmt) (string, error) {
	source, language, given := "", "plpgsql", map[string]bool{}
	for _, a := range n.Args {
		d := a.GetDefElem()
		if given[d.Defname] {
			return "", pgerr.New(pgerr.SyntaxError, "conflicting or redundant options")
		}
		given[d.Defname] = true
		if d.Defname == "as" {
			source = d.Arg.GetString_().GetSval()
		} else {
			language = d.Arg.GetString_().GetSval()
		}
	}
	switch {
	case !given["as"]:
		return "", pgerr.New(pgerr.SyntaxError, "no inline code specified")
	case language == "sql" || language == "c" || language == "internal":
		return "", pgerr.New(pgerr.FeatureNotSupported, "language %q does not support inline code execution", language)
	case language != "plpgsql":
		return "", pgerr.New(pgerr.UndefinedObject, "language %q does not exist", language)
	}
	return source, nil
}

// inLiteral makes the position of an error in the body of a function one in the client's statement,
// if the body is a literal without escapes.
func inLiteral(err error, st parse.Statement, source string) error {
	e := *pgerr.From(err)
	if e.InnerQuery != source || e.InnerPosition == 0 {
		return err
	}
	at := strings.Index(st.Source[st.Start:st.End], source)
	if at < 0 || source == "" {
		return err
	}
	e.Position = utf8.RuneCountInString(st.Source[:st.Start+at]) + e.InnerPosition
	e.InnerPosition, e.InnerQuery = 0, ""
	return &e
}
