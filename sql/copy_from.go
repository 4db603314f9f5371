package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/copydata"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/integrity"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// copyFrom loads rows from the client, all or none.
func (s *Session) copyFrom(
	ctx context.Context, n *pg_query.CopyStmt, opts copydata.Options, w stmt.ResultWriter,
) error {
	if n.WhereClause != nil {
		return pgerr.Unsupported("COPY FROM … WHERE is not supported yet").WithHint("Copy into a staging table and INSERT … SELECT … WHERE from it.")
	}
	if s.tx == nil {
		s.begin()
	}
	if s.tx.IsReadOnly() {
		return s.tx.ReadOnlyError("COPY FROM")
	}
	var in *copyInput
	err := s.db.knownNames(ctx, func() (err error) {
		in, err = s.copyTarget(ctx, n)
		return err
	})
	if err != nil {
		return err
	}
	reader, err := w.CopyIn(stmt.CopyFormat{Binary: opts.Format == copydata.Binary, Columns: len(in.columns)})
	if err != nil {
		return err
	}
	in.reader = copydata.NewReader(opts, func() ([]byte, error) { return reader.Next(ctx) })
	in.opts, in.env = opts, s.Env()
	if err := s.tx.TakeSnapshot(ctx); err != nil {
		return err
	}
	s.running = ctx
	x := s.executor(ctx)
	c := x.Context(ctx, s.tx.Tx, nil)
	c.Hooks.Source = in.rows
	s.tx.Used = true
	if err := s.tx.Parts.Bound(s.txEnv.Scope()); err != nil {
		return err
	}
	s.tx.constraints.BeforeStatement(&x, in.program, c)
	if err := in.program.Exec.Run(c, func([]types.Datum) error { return nil }); err != nil {
		return in.located(err, "", nil)
	}
	if err := s.tx.constraints.AfterStatement(&x, in.program, c); err != nil {
		return err
	}
	if err := s.sendNotices(w); err != nil {
		return err
	}
	return w.Complete(fmt.Sprintf("COPY %d", c.Affected))
}

// copyInput is a COPY FROM under way.
type copyInput struct {
	table   *catalog.Table
	columns []catalog.Column
	program *stmt.Program
	reader  *copydata.Reader
	opts    copydata.Options
	env     *types.Env
	ended   bool // all rows are read
	lines   lineNumbers
}

// copyTarget makes the program that inserts: defaults, constraints and placement are those of INSERT.
func (s *Session) copyTarget(ctx context.Context, n *pg_query.CopyStmt) (*copyInput, error) {
	for {
		view := s.view()
		t, err := s.copyTable(view, n.Relation, "to")
		if err != nil {
			return nil, err
		}
		uses := append(integrity.InsertUses(view, t), tx.TableUse{Table: t.OID, Mode: locks.RowExclusive})
		if err := s.tx.LockTables(ctx, tx.InOrder(uses)); err != nil {
			return nil, err
		}
		if view.DefinitionVersion() != s.view().DefinitionVersion() {
			continue
		}
		in := &copyInput{table: t}
		if in.columns, err = copyColumns(t, n.Attlist); err != nil {
			return nil, err
		}
		return in, in.compile(s.currentCompiler())
	}
}

func copyColumns(t *catalog.Table, names []*pg_query.Node) ([]catalog.Column, error) {
	var out []catalog.Column
	if len(names) == 0 {
		for _, c := range t.Columns {
			if !c.Dropped && c.Generated == "" {
				out = append(out, c)
			}
		}
		return out, nil
	}
	for _, n := range names {
		name := n.GetString_().GetSval()
		c := t.Column(name)
		if c == nil {
			return nil, pgerr.New(pgerr.UndefinedColumn, `column "%s" of relation "%s" does not exist`, name, t.Name)
		}
		if c.Generated != "" {
			return nil, pgerr.New(pgerr.InvalidColumnReference, `column "%s" is a generated column`, name).
				WithDetail("Generated columns cannot be used in COPY.")
		}
		if slices.ContainsFunc(out, func(o catalog.Column) bool { return o.Name == name }) {
			return nil, pgerr.New(pgerr.DuplicateColumn, `column "%s" specified more than once`, name)
		}
		out = append(out, *c)
	}
	return out, nil
}

// compile makes the program of the INSERT of the rows that are read.
func (in *copyInput) compile(c *stmt.Compiler) (err error) {
	var names, params []string
	var cols []plan.Col
	for i, c := range in.columns {
		names, params = append(names, builtin.QuoteIdent(c.Name)), append(params, fmt.Sprintf("$%d", i+1))
		cols = append(cols, plan.Col{Name: c.Name, Type: c.Type, Typmod: -1})
	}
	text := fmt.Sprintf("INSERT INTO %s.%s (%s) OVERRIDING SYSTEM VALUE VALUES (%s)",
		builtin.QuoteIdent(c.View.Schema(in.table.Schema).Name), builtin.QuoteIdent(in.table.Name),
		strings.Join(names, ", "), strings.Join(params, ", "))
	in.program, err = c.ForCopy(text, cols)
	return err
}

// rows reads the client's data to its end.
func (in *copyInput) rows(emit exec.Emit) error {
	row := make([]types.Datum, len(in.columns))
	for first := true; ; first = false {
		fields, err := in.reader.Read()
		if errors.Is(err, io.EOF) {
			in.ended = true
			return nil
		}
		if err == nil && first && in.opts.MatchNames {
			if err = in.matchHeader(fields); err == nil {
				continue
			}
		}
		if err == nil {
			err = in.decode(row, fields)
		}
		if err != nil {
			return in.located(err, "", in.reader.Raw())
		}
		in.lines.note(in.reader.Line())
		if err := emit(row); err != nil {
			return in.located(err, "", in.reader.Raw())
		}
	}
}

func (in *copyInput) matchHeader(fields []copydata.Field) error {
	for i, f := range fields {
		if i >= len(in.columns) || string(f.Bytes) != in.columns[i].Name {
			return pgerr.New(pgerr.BadCopyFileFormat, `column name mismatch in header line field %d: got "%s"`, i+1, f.Bytes)
		}
	}
	if len(fields) != len(in.columns) {
		return pgerr.New(pgerr.BadCopyFileFormat, "wrong number of fields in header line: got %d, expected %d", len(fields), len(in.columns))
	}
	return nil
}

func (in *copyInput) decode(row []types.Datum, fields []copydata.Field) error {
	if len(fields) > len(in.columns) {
		return pgerr.New(pgerr.BadCopyFileFormat, "extra data after last expected column")
	}
	if len(fields) < len(in.columns) {
		return pgerr.New(pgerr.BadCopyFileFormat, `missing data for column "%s"`, in.columns[len(fields)].Name)
	}
	for i := range in.columns {
		c, f := &in.columns[i], fields[i]
		if in.opts.Format == copydata.CSV {
			f = in.forced(c.Name, f)
		}
		var err error
		switch {
		case f.Null:
			row[i] = types.Null
			continue
		case in.opts.Format == copydata.Binary:
			row[i], err = types.Receive(c.Type, c.Typmod, f.Bytes)
		default:
			row[i], err = types.Input(c.Type, c.Typmod, string(f.Bytes), in.env)
		}
		if err != nil {
			return in.located(err, c.Name, f.Bytes)
		}
	}
	return nil
}

// forced applies FORCE_NULL and FORCE_NOT_NULL.
func (in *copyInput) forced(column string, f copydata.Field) copydata.Field {
	if f.Null && in.opts.ForceNotNull[column] {
		return copydata.Field{Bytes: []byte(in.opts.Null)}
	}
	if f.Quoted && in.opts.ForceNull[column] && string(f.Bytes) == in.opts.Null {
		return copydata.Field{Null: true}
	}
	return f
}

// located says in which line an error was found, and of which text: the column's value, or the line. What is found when all lines are read is
// of none of them, unless a fragment says of which.
func (in *copyInput) located(err error, column string, text []byte) error {
	var e *pgerr.Error
	if !errors.As(err, &e) || strings.Contains(e.Where, "COPY ") {
		return err
	}
	c := *e
	var of *txn.RowError
	if errors.As(err, &of) { // found by a fragment, perhaps while later lines were read
		c.Where = fmt.Sprintf("COPY %s, line %d", in.table.Name, in.lines.of(of.Place))
		return &c
	}
	if in.ended {
		return err
	}
	if c.Where != "" { // where in the value: "JSON data, line 1: …"
		c.Where += "\n"
	}
	c.Where += fmt.Sprintf("COPY %s, line %d", in.table.Name, in.reader.Line())
	if column != "" {
		c.Where += ", column " + column
	}
	if text != nil && in.opts.Format != copydata.Binary && utf8.Valid(text) {
		c.Where += `: "` + shown(text) + `"`
	}
	return &c
}

// shownBytes bounds the text that an error of COPY quotes.
const shownBytes = 100

func shown(text []byte) string {
	if len(text) <= shownBytes {
		return string(text)
	}
	end := shownBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return string(text[:end]) + "..."
}
