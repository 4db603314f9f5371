package copy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/copydata"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/integrity"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// Input is a COPY FROM under way.
type Input struct {
	table   *catalog.Table
	columns []catalog.Column
	program *stmt.Program
	reader  *copydata.Reader
	opts    copydata.Options
	env     *types.Env
	where   analyze.Source // Node is nil if there is no WHERE
	ended   bool           // all rows are read
	lines   lineNumbers
}

// IsTemporary reports whether the rows go into a temporary table.
func (in *Input) IsTemporary() bool { return in.table.IsTemporary() }

// Input finds the table of a COPY FROM, locks it, and compiles the program that inserts. compiler
// returns one with the definitions that the transaction sees now.
func (s *Statement) Input(ctx context.Context, t *tx.Tx, compiler func() *stmt.Compiler) (*Input, error) {
	for {
		c := compiler()
		table, err := s.table(c, "to")
		if err != nil {
			return nil, err
		}
		uses := append(integrity.InsertUses(c.View, table), tx.TableUse{Table: table.OID, Mode: locks.RowExclusive})
		version := c.View.DefinitionVersion()
		if err := t.LockTables(ctx, tx.InOrder(uses)); err != nil {
			return nil, err
		}
		if version != t.View().DefinitionVersion() {
			continue
		}
		in := &Input{table: table, opts: s.opts, where: analyze.Source{Text: s.st.Source, Node: s.node.WhereClause}}
		if in.columns, err = s.columns(table); err != nil {
			return nil, err
		}
		return in, in.compile(compiler())
	}
}

// Run reads the client's rows and inserts them, all or none, within the buckets of a scope. It
// returns their number.
func (in *Input) Run(
	ctx context.Context, x *stmt.Executor, t *integrity.Transaction, scope txn.Scope, w stmt.ResultWriter,
) (int64, error) {
	format := stmt.CopyFormat{Binary: in.opts.Format == copydata.Binary, Columns: len(in.columns)}
	client, err := w.CopyIn(format)
	if err != nil {
		return 0, err
	}
	in.reader = copydata.NewReader(in.opts, func() ([]byte, error) { return client.Next(ctx) })
	in.env = x.Values
	if err := t.TakeSnapshot(ctx); err != nil {
		return 0, err
	}
	c := x.Context(ctx, t.Tx, nil)
	t.Used = true
	if err := t.Parts.Bound(scope); err != nil {
		return 0, err
	}
	c.Hooks.Source = in.rows
	if _, err := t.Perform(x, in.program, c, func([]types.Datum) error { return nil }); err != nil {
		return 0, in.located(err, "", nil)
	}
	return c.Affected, nil
}

// Insert inserts the rows that a source emits. It returns their number.
func (in *Input) Insert(c *exec.Ctx, source func(exec.Emit) error) (int64, error) {
	c.Hooks.Source = source
	err := in.program.Exec.Run(c, func([]types.Datum) error { return nil })
	return c.Affected, err
}

// compile makes the program of the INSERT of the rows that are read.
func (in *Input) compile(c *stmt.Compiler) (err error) {
	var names, params []string
	var cols []plan.Col
	domains := false
	for i, c := range in.columns {
		names, params = append(names, builtin.QuoteIdent(c.Name)), append(params, fmt.Sprintf("$%d", i+1))
		domains = domains || types.IsDomain(c.Type)
		cols = append(cols, plan.Col{Name: c.Name, Type: types.BaseOf(c.Type), Typmod: -1})
	}
	text := fmt.Sprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE VALUES (%s)",
		stmt.TableName(c.View, in.table), strings.Join(names, ", "), strings.Join(params, ", "))
	if domains { // a query's columns are checked after they are read, those of VALUES before
		text = fmt.Sprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s",
			stmt.TableName(c.View, in.table), strings.Join(names, ", "), strings.Join(params, ", "))
	}
	where, err := in.condition(c)
	if err != nil {
		return err
	}
	in.program, err = c.ForCopy(text, cols, where)
	return err
}

// condition returns the WHERE of the statement over the columns that are read, as Var{Rel: 0}; nil: it
// has none. Other columns are null.
func (in *Input) condition(c *stmt.Compiler) (query.Expr, error) {
	if in.where.Node == nil {
		return nil, nil
	}
	e, err := analyze.CopyCondition(c.Analysis(in.where.Text), in.where, in.table)
	if err != nil {
		return nil, err
	}
	e = query.Rewrite(e, func(e query.Expr) (query.Expr, bool) {
		v, ok := e.(*query.Var)
		if !ok || err != nil {
			return nil, false
		}
		if v.Col < 0 || v.Col >= len(in.table.Columns) {
			err = pgerr.Unsupported("system columns are not supported in COPY FROM WHERE conditions")
			return nil, false
		}
		col := &in.table.Columns[v.Col]
		at := slices.IndexFunc(in.columns, func(x catalog.Column) bool { return x.AttNum == col.AttNum })
		switch {
		case at >= 0:
			of := *v
			of.Col = at
			return &of, true
		case col.Generated != "":
			err = pgerr.New(pgerr.InvalidColumnReference,
				"generated columns are not supported in COPY FROM WHERE conditions").
				WithDetail(`Column "%s" is a generated column.`, col.Name)
		case col.Default != "" || col.Identity != 0:
			err = pgerr.Unsupported(
				`a condition on column "%s", which has a default and is not copied, is not supported`, col.Name).
				WithHint("Copy into a temporary table, and INSERT … SELECT … WHERE from it.")
		}
		return &query.Const{T: query.Of(v.Type()), Value: types.Null}, true
	})
	return e, err
}

// rows reads the client's data to its end.
func (in *Input) rows(emit exec.Emit) error {
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

func (in *Input) matchHeader(fields []copydata.Field) error {
	for i, f := range fields {
		if i >= len(in.columns) || string(f.Bytes) != in.columns[i].Name {
			return pgerr.New(pgerr.BadCopyFileFormat,
				`column name mismatch in header line field %d: got "%s"`, i+1, f.Bytes)
		}
	}
	if len(fields) != len(in.columns) {
		return pgerr.New(pgerr.BadCopyFileFormat, "wrong number of fields in header line: got %d, expected %d",
			len(fields), len(in.columns))
	}
	return nil
}

func (in *Input) decode(row []types.Datum, fields []copydata.Field) error {
	if len(fields) > len(in.columns) {
		return pgerr.New(pgerr.BadCopyFileFormat, "extra data after last expected column")
	}
	if len(fields) < len(in.columns) {
		return pgerr.New(pgerr.BadCopyFileFormat,
			`missing data for column "%s"`, in.columns[len(fields)].Name)
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
			row[i], err = types.Receive(c.Type, c.Typmod, f.Bytes, in.env)
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
func (in *Input) forced(column string, f copydata.Field) copydata.Field {
	if f.Null && in.opts.ForceNotNull[column] {
		return copydata.Field{Bytes: []byte(in.opts.Null)}
	}
	if f.Quoted && in.opts.ForceNull[column] && string(f.Bytes) == in.opts.Null {
		return copydata.Field{Null: true}
	}
	return f
}

// located adds to an error the line in which it was found, and the text: the column's value, or the
// line. An error that is found after all lines were read is about none of them, unless a fragment
// names the row.
func (in *Input) located(err error, column string, text []byte) error {
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
	if c.Where != "" { // the place in the value: "JSON data, line 1: …"
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
