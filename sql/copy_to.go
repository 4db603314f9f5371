package sql

import (
	"context"
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/copydata"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// copyTo sends a table or the result of a query.
func (s *Session) copyTo(
	ctx context.Context, st parse.Statement, n *pg_query.CopyStmt, opts copydata.Options, w stmt.ResultWriter,
) error {
	inner := parse.Statement{Node: n.Query, Source: st.Source, Start: st.Start, End: st.End}
	if n.Relation != nil {
		var text string
		err := s.db.knownNames(ctx, func() (err error) {
			text, err = s.copySelect(n)
			return err
		})
		if err != nil {
			return err
		}
		stmts, err := parse.Parse(text)
		if err != nil {
			return err
		}
		inner = stmts[0]
	} else if n.Query.GetSelectStmt() != nil && !parse.IsQuery(n.Query) {
		return pgerr.New(pgerr.FeatureNotSupported, "COPY (SELECT INTO) is not supported")
	} else if !parse.IsQuery(n.Query) {
		return pgerr.Unsupported("COPY of %s is not supported yet", parse.Name(n.Query))
	}
	p, err := s.program(ctx, inner, nil)
	if err != nil {
		return err
	}
	if p.Columns == nil {
		return pgerr.New(pgerr.FeatureNotSupported, "COPY query must have a RETURNING clause")
	}
	out := &copyOutput{w: w, opts: opts, columns: p.Columns, env: s.Env()}
	if err := out.begin(); err != nil {
		return err
	}
	rows, err := s.run(ctx, p, nil, out.row)
	if err != nil {
		return err
	}
	if err := out.end(); err != nil {
		return err
	}
	if err := s.sendNotices(w); err != nil {
		return err
	}
	return w.Complete(fmt.Sprintf("COPY %d", rows))
}

func (s *Session) copySelect(n *pg_query.CopyStmt) (string, error) {
	view := s.view()
	t, err := s.copyTable(view, n.Relation, "from")
	if err != nil {
		return "", err
	}
	cols, err := copyColumns(t, n.Attlist)
	if err != nil {
		return "", err
	}
	var names []string
	for _, c := range cols {
		names = append(names, builtin.QuoteIdent(c.Name))
	}
	return fmt.Sprintf("SELECT %s FROM %s.%s", strings.Join(names, ", "), builtin.QuoteIdent(view.Schema(t.Schema).Name), builtin.QuoteIdent(t.Name)), nil
}

// copyOutput is a COPY TO under way.
type copyOutput struct {
	w       stmt.ResultWriter
	opts    copydata.Options
	columns []stmt.Column
	env     *types.Env
	names   []string
	fields  []copydata.Field
	values  []byte
	buf     []byte // of one message; before the first it holds what binary data begins with
}

func (o *copyOutput) begin() error {
	for _, c := range o.columns {
		o.names = append(o.names, c.Name)
	}
	format := stmt.CopyFormat{Binary: o.opts.Format == copydata.Binary, Columns: len(o.columns)}
	if err := o.w.CopyOut(format); err != nil {
		return err
	}
	switch {
	case o.opts.Format == copydata.Binary:
		o.buf = copydata.AppendHeader(nil) // in one message with the first row, as drivers expect it
	case o.opts.Header:
		var fields []copydata.Field
		for _, name := range o.names {
			fields = append(fields, copydata.Field{Bytes: []byte(name)})
		}
		head := o.opts
		head.ForceQuote = nil
		return o.w.CopyData(head.AppendRecord(nil, fields, o.names))
	}
	return nil
}

func (o *copyOutput) row(row []types.Datum) error {
	o.fields, o.values = o.fields[:0], o.values[:0]
	ends := make([]int, 0, len(row))
	for i, d := range row {
		if !d.IsNull() {
			if o.opts.Format == copydata.Binary {
				o.values = types.AppendSend(o.values, o.columns[i].Type, d)
			} else {
				o.values = types.AppendOutput(o.values, o.columns[i].Type, d, o.env)
			}
		}
		ends = append(ends, len(o.values))
	}
	from := 0
	for i, d := range row {
		o.fields = append(o.fields, copydata.Field{Bytes: o.values[from:ends[i]], Null: d.IsNull()})
		from = ends[i]
	}
	o.buf = o.opts.AppendRecord(o.buf, o.fields, o.names)
	err := o.w.CopyData(o.buf)
	o.buf = o.buf[:0]
	return err
}

func (o *copyOutput) end() error {
	if o.opts.Format == copydata.Binary {
		if err := o.w.CopyData(copydata.AppendTrailer(o.buf)); err != nil {
			return err
		}
	}
	return o.w.CopyOutDone()
}
