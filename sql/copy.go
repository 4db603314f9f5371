package sql

import (
	"context"
	"errors"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/copydata"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/settings"
)

// copyStmt is COPY … FROM STDIN and TO STDOUT.
func (s *Session) copyStmt(ctx context.Context, st parse.Statement, n *pg_query.CopyStmt, w ResultWriter) error {
	if n.Filename != "" || n.IsProgram {
		return pgerr.Unsupported("COPY with a file or program of the server is not supported").
			WithHint(`Use \copy in psql, or COPY … FROM STDIN and TO STDOUT.`)
	}
	opts, err := copyOptions(n.Options, n.IsFrom)
	if err != nil {
		return err
	}
	if n.IsFrom {
		return s.copyFrom(ctx, n, opts, w)
	}
	return s.copyTo(ctx, st, n, opts, w)
}

func copyOptions(list []*pg_query.Node, from bool) (copydata.Options, error) {
	format := copydata.Text
	for _, x := range list {
		d := x.GetDefElem()
		if d.Defname != "format" {
			continue
		}
		switch v := d.GetArg().GetString_().GetSval(); v {
		case "text":
		case "csv":
			format = copydata.CSV
		case "binary":
			format = copydata.Binary
		default:
			return copydata.Options{}, pgerr.New(pgerr.InvalidParameterValue, `COPY format "%s" not recognized`, v)
		}
	}
	o := copydata.Defaults(format)
	for _, x := range list {
		if err := copyOption(&o, x.GetDefElem(), from); err != nil {
			return o, err
		}
	}
	return o, o.Validate()
}

func copyOption(o *copydata.Options, d *pg_query.DefElem, from bool) error {
	text := d.GetArg().GetString_().GetSval()
	single := func(into *byte) error {
		if len(text) != 1 {
			return pgerr.New(pgerr.FeatureNotSupported, "COPY %s must be a single one-byte character", d.Defname)
		}
		*into = text[0]
		return nil
	}
	csvOnly := func() error {
		if o.Format != copydata.CSV {
			return pgerr.New(pgerr.FeatureNotSupported, "COPY %s available only in CSV mode", strings.ReplaceAll(d.Defname, "_", " "))
		}
		return nil
	}
	switch d.Defname {
	case "format", "freeze", "on_error", "log_verbosity":
		return nil
	case "delimiter":
		return single(&o.Delimiter)
	case "null":
		o.Null = text
		return nil
	case "header":
		return headerOption(o, d, text, from)
	case "quote", "escape":
		into := &o.Quote
		if d.Defname == "escape" {
			into = &o.Escape
		}
		return errors.Join(csvOnly(), single(into))
	case "force_quote":
		o.ForceQuote = columnSet(d)
		return csvOnly()
	case "force_not_null":
		o.ForceNotNull = columnSet(d)
		return csvOnly()
	case "force_null":
		o.ForceNull = columnSet(d)
		return csvOnly()
	case "encoding":
		if !strings.EqualFold(strings.ReplaceAll(text, "-", ""), "UTF8") {
			return pgerr.Unsupported("COPY encoding %q is not supported yet", text).WithHint("Use UTF8.")
		}
		return nil
	}
	return pgerr.New(pgerr.SyntaxError, `option "%s" not recognized`, d.Defname)
}

func headerOption(o *copydata.Options, d *pg_query.DefElem, text string, from bool) error {
	if d.Arg == nil {
		o.Header = true
		return nil
	}
	if strings.EqualFold(text, "match") && from {
		o.Header, o.MatchNames = true, true
		return nil
	}
	if b := d.GetArg().GetBoolean(); b != nil {
		o.Header = b.Boolval
		return nil
	}
	if i := d.GetArg().GetInteger(); i != nil {
		o.Header = i.Ival != 0
		return nil
	}
	on, ok := settings.ParseBool(text)
	if !ok {
		return pgerr.New(pgerr.SyntaxError, "header requires a Boolean value or \"match\"")
	}
	o.Header = on
	return nil
}

func columnSet(d *pg_query.DefElem) map[string]bool {
	out := map[string]bool{}
	if d.GetArg().GetAStar() != nil {
		out["*"] = true
	}
	for _, c := range d.GetArg().GetList().GetItems() {
		out[c.GetString_().GetSval()] = true
	}
	return out
}

// copyTable finds the table that is copied to or from.
func (s *Session) copyTable(view *catalog.View, rv *pg_query.RangeVar, direction string) (*catalog.Table, error) {
	t, err := analyze.Table(s.analysis(view, s.query), rv)
	if pgerr.Is(err, pgerr.WrongObjectType) && pgerr.From(err).Detail != "" { // what kind it is of
		return nil, pgerr.New(pgerr.WrongObjectType, `cannot copy %s sequence "%s"`, direction, rv.Relname)
	}
	return t, err
}
