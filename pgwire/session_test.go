package pgwire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/txblock"
	"github.com/sherddb/sherd/sql/types"
)

// scriptSession is the session of the recorded conversations: it knows by heart the dozen
// statements of the traces, so that a trace shows the wire and nothing else. PostgreSQL answers the
// same statements alike; -oracle plays the traces against it.
type scriptSession struct {
	params     session.StartupParams
	status     txblock.Status
	implicit   bool // in the implicit transaction of a pipeline
	statements map[string]*scriptStatement
	portals    map[string]*scriptPortal
	env        types.Env
	closed     func()
}

type scriptStatement struct {
	text   string
	params []types.OID
}

type scriptPortal struct {
	*scriptStatement
	args []types.Datum
	at   int // rows given
}

func newScriptSession(p session.StartupParams) *scriptSession {
	return &scriptSession{params: p, status: txblock.Idle}
}

func (s *scriptSession) ReportedParameters() [][2]string {
	return [][2]string{{"server_version", "15.18"}, {"client_encoding", "UTF8"}, {"standard_conforming_strings", "on"},
		{"application_name", s.params.Settings["application_name"]}}
}

func (s *scriptSession) Status() txblock.Status                   { return s.status }
func (s *scriptSession) IdleLimit() (time.Duration, *pgerr.Error) { return 0, nil }
func (s *scriptSession) Notifications() []notify.Notification     { return nil }
func (s *scriptSession) Env() *types.Env                          { return &s.env }
func (s *scriptSession) FailPipeline()                            { s.fail() }
func (s *scriptSession) Close() {
	if s.closed != nil {
		s.closed()
	}
}

func (s *scriptSession) fail() {
	if s.status == txblock.InTransaction {
		s.status = txblock.Failed
	}
	if s.implicit {
		s.implicit = false
		clear(s.portals)
	}
}

func (s *scriptSession) Simple(ctx context.Context, text string, w stmt.ResultWriter) error {
	delete(s.statements, "")
	ran := false
	for _, one := range strings.Split(text, ";") {
		one = strings.TrimSpace(one)
		if one == "" {
			continue
		}
		ran = true
		p := &scriptPortal{scriptStatement: &scriptStatement{text: one}}
		if err := s.simpleStatement(ctx, p, w); err != nil {
			s.fail()
			return err
		}
	}
	if !ran {
		return w.EmptyQuery()
	}
	return nil
}

func (s *scriptSession) simpleStatement(ctx context.Context, p *scriptPortal, w stmt.ResultWriter) error {
	if err := s.check(p.text); err != nil {
		return err
	}
	if err := plan(p.text); err != nil {
		return err
	}
	if columns := s.columns(p.scriptStatement); columns != nil {
		if err := w.Describe(columns); err != nil {
			return err
		}
	}
	_, err := s.run(ctx, p, 0, w)
	return err
}

// plan fails as PostgreSQL's planner does, which folds constants.
func plan(text string) error {
	if text == "select 1/0" {
		return pgerr.New(pgerr.DivisionByZero, "division by zero")
	}
	return nil
}

var paramPattern = regexp.MustCompile(`\$(\d+)::(\w+)`)

var typesByName = map[string]types.OID{"int4": types.Int4, "text": types.Text}

func (s *scriptSession) Parse(_ context.Context, name, text string, params []types.OID) error {
	if err := s.check(text); err != nil {
		s.fail()
		return err
	}
	if _, taken := s.statements[name]; taken && name != "" {
		s.fail()
		return pgerr.New(pgerr.DuplicatePreparedStatement, `prepared statement "%s" already exists`, name)
	}
	st := &scriptStatement{text: strings.TrimSpace(text)}
	for _, m := range paramPattern.FindAllStringSubmatch(text, -1) {
		st.params = append(st.params, typesByName[m[2]])
	}
	if s.statements == nil {
		s.statements = map[string]*scriptStatement{}
	}
	s.statements[name] = st
	return nil
}

// check finds the errors of parsing and the failed transaction.
func (s *scriptSession) check(text string) error {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "selekt") {
		return pgerr.New(pgerr.SyntaxError, `syntax error at or near "selekt"`).At(1)
	}
	if s.status == txblock.Failed && text != "rollback" && text != "commit" {
		return pgerr.New(
			pgerr.InFailedSQLTransaction,
			"current transaction is aborted, commands ignored until end of transaction block",
		)
	}
	return nil
}

func (s *scriptSession) DescribeStatement(_ context.Context, name string) (session.Description, error) {
	st, ok := s.statements[name]
	if !ok {
		s.fail()
		if name == "" {
			return session.Description{}, pgerr.New(
				pgerr.InvalidSQLStatementName, "unnamed prepared statement does not exist",
			)
		}
		return session.Description{}, pgerr.New(
			pgerr.InvalidSQLStatementName, `prepared statement "%s" does not exist`, name,
		)
	}
	return session.Description{Params: st.params, Columns: s.columns(st)}, nil
}

func (s *scriptSession) Bind(_ context.Context, portal, statement string, args []types.Datum) error {
	if _, taken := s.portals[portal]; taken && portal != "" {
		s.fail()
		return pgerr.New(pgerr.DuplicateCursor, `cursor "%s" already exists`, portal)
	}
	if s.portals == nil {
		s.portals = map[string]*scriptPortal{}
	}
	if err := plan(s.statements[statement].text); err != nil {
		s.fail()
		return err
	}
	s.implicit = s.status == txblock.Idle
	s.portals[portal] = &scriptPortal{scriptStatement: s.statements[statement], args: args}
	return nil
}

func (s *scriptSession) DescribePortal(_ context.Context, portal string) (session.Description, error) {
	p, ok := s.portals[portal]
	if !ok {
		s.fail()
		return session.Description{}, pgerr.New(pgerr.InvalidCursorName, `portal "%s" does not exist`, portal)
	}
	return session.Description{Columns: s.columns(p.scriptStatement)}, nil
}

func (s *scriptSession) SyncFollows() {}

func (s *scriptSession) Execute(ctx context.Context, portal string, maxRows int, w stmt.ResultWriter) (bool, error) {
	p := s.portals[portal]
	suspended, err := s.run(ctx, p, maxRows, w)
	if err != nil {
		s.fail()
	}
	return suspended, err
}

func (s *scriptSession) CloseStatement(name string) { delete(s.statements, name) }
func (s *scriptSession) ClosePortal(name string)    { delete(s.portals, name) }

func (s *scriptSession) Sync(context.Context) error {
	if s.status == txblock.Idle {
		clear(s.portals)
	}
	s.implicit = false
	return nil
}

func column(name string, oid types.OID) stmt.Column {
	length := int16(-1)
	if oid == types.Int4 {
		length = 4
	}
	return stmt.Column{Name: name, Type: oid, Typmod: -1, Len: length}
}

// columns returns the columns of a statement, or nil if it has none.
func (s *scriptSession) columns(st *scriptStatement) []stmt.Column {
	switch {
	case st.text == "select":
		return []stmt.Column{}
	case strings.HasPrefix(st.text, "select generate_series"):
		return []stmt.Column{column("generate_series", types.Int4)}
	case strings.HasPrefix(st.text, "select $"):
		var out []stmt.Column
		for _, m := range paramPattern.FindAllStringSubmatch(st.text, -1) {
			out = append(out, column(m[2], typesByName[m[2]]))
		}
		return out
	case strings.HasPrefix(st.text, "select pg_sleep"):
		return []stmt.Column{{Name: "pg_sleep", Type: types.Void, Typmod: -1, Len: 4}}
	case strings.HasPrefix(st.text, "select repeat"):
		return []stmt.Column{column("repeat", types.Text)}
	case strings.HasPrefix(st.text, "select "):
		return []stmt.Column{column("?column?", types.Int4)}
	}
	return nil
}

// run executes a statement.
func (s *scriptSession) run(ctx context.Context, p *scriptPortal, maxRows int, w stmt.ResultWriter) (bool, error) {
	switch text := p.text; {
	case text == "":
		return false, w.EmptyQuery()
	case text == "begin":
		s.status = txblock.InTransaction
		return false, w.Complete("BEGIN")
	case text == "commit" || text == "rollback":
		return false, s.endTransaction(text, w)
	case text == "select panic":
		panic("a defect")
	case strings.HasPrefix(text, "select"):
		return s.selectRows(ctx, p, maxRows, w)
	case strings.HasPrefix(text, "set application_name to "):
		value := strings.Trim(strings.TrimPrefix(text, "set application_name to "), "'")
		if err := w.Parameter("application_name", value); err != nil {
			return false, err
		}
		return false, w.Complete("SET")
	case strings.HasPrefix(text, "create temp table"):
		return false, w.Complete("CREATE TABLE")
	case text == "savepoint s":
		if s.status != txblock.InTransaction {
			return false, pgerr.New(pgerr.NoActiveSQLTransaction, "SAVEPOINT can only be used in transaction blocks")
		}
		return false, w.Complete("SAVEPOINT")
	case strings.HasPrefix(text, "drop table if exists"):
		err := w.Notice(
			&pgerr.Error{
				Severity: "NOTICE", Code: pgerr.SuccessfulCompletion,
				Message: `table "nowhere" does not exist, skipping`,
			},
		)
		return false, errors.Join(err, w.Complete("DROP TABLE"))
	case strings.HasPrefix(text, "copy t from stdin"):
		return false, s.copyIn(ctx, w)
	case strings.HasPrefix(text, "copy (select"):
		return false, s.copyOut(w)
	}
	return false, pgerr.New(pgerr.SyntaxError, "the script session does not know %q", p.text)
}

func (s *scriptSession) endTransaction(text string, w stmt.ResultWriter) error {
	tag := strings.ToUpper(text)
	if s.status == txblock.Failed {
		tag = "ROLLBACK"
	}
	s.status = txblock.Idle
	clear(s.portals)
	return w.Complete(tag)
}

// selectRows returns the rows of a SELECT, at most maxRows of them at a time.
func (s *scriptSession) selectRows(
	ctx context.Context, p *scriptPortal, maxRows int, w stmt.ResultWriter,
) (bool, error) {
	total := 1
	var arg int
	if _, err := fmt.Sscanf(p.text, "select generate_series(1,%d)", &arg); err == nil {
		total = arg
	}
	given := 0
	for ; p.at < total; p.at++ {
		if maxRows > 0 && given == maxRows {
			return true, nil
		}
		row, err := s.row(ctx, p)
		if err != nil {
			return false, err
		}
		if err := w.Row(row); err != nil {
			return false, err
		}
		given++
	}
	// PostgreSQL finds the end only when it looks for another row.
	if maxRows > 0 && given == maxRows {
		return true, nil
	}
	return false, w.Complete("SELECT " + strconv.Itoa(given))
}

func (s *scriptSession) row(ctx context.Context, p *scriptPortal) ([]types.Datum, error) {
	switch text := p.text; {
	case text == "select":
		return []types.Datum{}, nil
	case strings.HasPrefix(text, "select generate_series"):
		return []types.Datum{types.NewInt(int64(p.at + 1))}, nil
	case strings.HasPrefix(text, "select $"):
		return p.args, nil
	case strings.HasPrefix(text, "select repeat"):
		var n int
		if _, err := fmt.Sscanf(text, "select repeat('x',%d)", &n); err != nil {
			return nil, err
		}
		return []types.Datum{types.NewText(strings.Repeat("x", n))}, nil
	case strings.HasPrefix(text, "select pg_sleep"):
		return []types.Datum{{K: types.KindVoid}}, s.sleep(ctx, text)
	}
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(p.text, "select ")))
	if err != nil {
		return nil, pgerr.New(pgerr.SyntaxError, "the script session does not know %q", p.text)
	}
	return []types.Datum{types.NewInt(int64(n))}, nil
}

func (s *scriptSession) sleep(ctx context.Context, text string) error {
	var seconds float64
	if _, err := fmt.Sscanf(text, "select pg_sleep(%f)", &seconds); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("sleeping: %w", ctx.Err())
	case <-time.After(time.Duration(seconds * float64(time.Second))):
		return nil
	}
}

// copyIn counts lines; a line "bad" is an error.
func (s *scriptSession) copyIn(ctx context.Context, w stmt.ResultWriter) error {
	r, err := w.CopyIn(stmt.CopyFormat{Columns: 1})
	if err != nil {
		return err
	}
	var data []byte
	for {
		part, err := r.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return copyContext(err)
		}
		data = append(data, part...)
		if line := strings.Count(string(data), "\n"); strings.Contains(string(data), "bad\n") {
			return &pgerr.Error{Code: pgerr.InvalidTextRepresentation, Message: `invalid input syntax for type integer: "bad"`,
				Where: fmt.Sprintf(`COPY t, line %d, column a: "bad"`, line)}
		}
	}
	return w.Complete(fmt.Sprintf("COPY %d", strings.Count(string(data), "\n")))
}

func copyContext(err error) error {
	e := *pgerr.From(err)
	e.Where = "COPY t, line 1"
	return &e
}

func (s *scriptSession) copyOut(w stmt.ResultWriter) error {
	if err := w.CopyOut(stmt.CopyFormat{Columns: 1}); err != nil {
		return err
	}
	for _, line := range []string{"1\n", "2\n"} {
		if err := w.CopyData([]byte(line)); err != nil {
			return err
		}
	}
	return errors.Join(w.CopyOutDone(), w.Complete("COPY 2"))
}
