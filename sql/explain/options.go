package explain

import (
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Options are the options of EXPLAIN.
type Options struct {
	Analyze  bool // run the statement, and show what each step and each fragment did
	Verbose  bool
	Costs    bool
	Settings bool
	Timing   bool
	Summary  bool
	Format   Format
}

// Format is the form in which a plan is returned.
type Format uint8

// Formats.
const (
	Text Format = iota
	JSON
	YAML
	XML
)

// ReadOptions reads the options of an EXPLAIN in a source.
func ReadOptions(source string, n *pg_query.ExplainStmt) (Options, error) {
	o := Options{Costs: true}
	var buffers, wal, timing, summary bool // the last two: the option was given
	flags := map[string]*bool{
		"analyze": &o.Analyze, "verbose": &o.Verbose, "costs": &o.Costs, "settings": &o.Settings,
		"buffers": &buffers, "wal": &wal, "timing": &o.Timing, "summary": &o.Summary,
	}
	for _, x := range n.Options {
		d := x.GetDefElem()
		var err error
		if flag := flags[d.Defname]; flag != nil {
			*flag, err = readFlag(d)
		} else if d.Defname == "format" {
			o.Format, err = readFormat(source, d)
		} else {
			err = pgerr.New(pgerr.SyntaxError, `unrecognized EXPLAIN option "%s"`, d.Defname).
				At(parse.Position(source, int(d.Location)))
		}
		if err != nil {
			return o, err
		}
		timing, summary = timing || d.Defname == "timing", summary || d.Defname == "summary"
	}
	if !timing {
		o.Timing = o.Analyze
	}
	if !summary {
		o.Summary = o.Analyze
	}
	switch {
	case wal && !o.Analyze:
		return o, pgerr.New(pgerr.InvalidParameterValue, "EXPLAIN option WAL requires ANALYZE")
	case o.Timing && !o.Analyze:
		return o, pgerr.New(pgerr.InvalidParameterValue, "EXPLAIN option TIMING requires ANALYZE")
	}
	return o, nil
}

func readFlag(d *pg_query.DefElem) (bool, error) {
	if d.Arg == nil {
		return true, nil
	}
	on, ok := settings.ParseBool(optionText(d.Arg))
	if !ok {
		return false, pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", d.Defname)
	}
	return on, nil
}

func readFormat(source string, d *pg_query.DefElem) (Format, error) {
	text := optionText(d.Arg)
	f, ok := map[string]Format{"text": Text, "json": JSON, "yaml": YAML, "xml": XML}[text]
	switch {
	case d.Arg == nil:
		return f, pgerr.New(pgerr.SyntaxError, "format requires a parameter")
	case !ok:
		return f, pgerr.New(pgerr.InvalidParameterValue, `unrecognized value for EXPLAIN option "format": "%s"`, text).
			At(parse.Position(source, int(d.Location)))
	}
	return f, nil
}

// optionText returns the text of an option's value: a word or text is a String, a number an
// Integer or Float.
func optionText(arg *pg_query.Node) string {
	switch v := arg.GetNode().(type) {
	case *pg_query.Node_String_:
		return v.String_.GetSval()
	case *pg_query.Node_Integer:
		return strconv.Itoa(int(v.Integer.GetIval()))
	case *pg_query.Node_Float:
		return v.Float.GetFval()
	}
	return ""
}

// Query returns the query that an EXPLAIN of a statement without EXECUTE is about.
func Query(st parse.Statement, n *pg_query.ExplainStmt, o Options) (parse.Statement, error) {
	inner, ok := parse.Contained(st)
	switch {
	case !ok:
		return inner, pgerr.Unsupported("EXPLAIN of %s is not supported yet", parse.Name(n.Query))
	case o.Analyze && !parse.IsQuery(n.Query) && n.Query.GetDeclareCursorStmt() == nil:
		return inner, pgerr.Unsupported("EXPLAIN ANALYZE of %s is not supported yet", parse.Name(n.Query)).
			WithHint("Use EXPLAIN without ANALYZE, or EXPLAIN ANALYZE of the query alone.")
	}
	return inner, nil
}

// Columns are the columns of the rows that an EXPLAIN returns: lines of text, or one document. They
// follow its last format that is known.
func Columns(n *pg_query.ExplainStmt) []stmt.Column {
	c := stmt.TextColumn("QUERY PLAN")
	for _, x := range n.Options {
		if d := x.GetDefElem(); d.Defname == "format" {
			switch f, _ := readFormat("", d); f {
			case JSON:
				c.Type = types.JSON
			case XML:
				c.Type = types.XML
			default:
				c.Type = types.Text
			}
		}
	}
	return []stmt.Column{c}
}
