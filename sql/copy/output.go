package copy

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/copydata"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Output is a COPY TO under way.
type Output struct {
	w       stmt.ResultWriter
	opts    copydata.Options
	columns []stmt.Column
	env     *types.Env
	names   []string
	fields  []copydata.Field
	values  []byte
	buf     []byte // of one message; before the first one it holds the header of binary data
}

// Output begins a COPY TO of rows with columns. values is how they are printed.
func (s *Statement) Output(w stmt.ResultWriter, columns []stmt.Column, values *types.Env) (*Output, error) {
	if s.node.Query.GetMergeStmt() != nil {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "MERGE not supported in COPY")
	}
	if columns == nil {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "COPY query must have a RETURNING clause")
	}
	o := &Output{w: w, opts: s.opts, columns: columns, env: values}
	for _, c := range columns {
		o.names = append(o.names, c.Name)
	}
	return o, o.begin()
}

// begin sends what comes before the first row.
func (o *Output) begin() error {
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

// Row sends a row.
func (o *Output) Row(row []types.Datum) error {
	o.fields, o.values = o.fields[:0], o.values[:0]
	ends := make([]int, 0, len(row))
	for i, d := range row {
		if !d.IsNull() {
			if o.opts.Format == copydata.Binary {
				o.values = types.AppendSend(o.values, o.columns[i].Type, d, o.env)
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

// End sends what comes after the last row.
func (o *Output) End() error {
	if o.opts.Format == copydata.Binary {
		if err := o.w.CopyData(copydata.AppendTrailer(o.buf)); err != nil {
			return err
		}
	}
	return o.w.CopyOutDone()
}
