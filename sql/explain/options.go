package explain

import (
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/settings"
)

// Options are the options of EXPLAIN.
type Options struct {
	Analyze bool // run the statement, and show what each fragment did
	Timing  bool
}

// ReadOptions reads the options of an EXPLAIN.
func ReadOptions(n *pg_query.ExplainStmt) (Options, error) {
	o := Options{Timing: true}
	for _, x := range n.Options {
		d := x.GetDefElem()
		on := true
		if d.Arg != nil {
			v := optionText(d.Arg)
			if b, ok := settings.ParseBool(v); ok {
				on = b
			} else if d.Defname != "format" {
				return o, pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", d.Defname)
			} else if !strings.EqualFold(v, "text") {
				return o, pgerr.Unsupported("EXPLAIN (FORMAT %s) is not supported yet", strings.ToUpper(v)).
					WithHint("Use FORMAT TEXT.")
			}
		}
		switch d.Defname {
		case "analyze":
			o.Analyze = on
		case "timing":
			o.Timing = on
		case "summary", "verbose", "costs", "buffers", "wal", "settings", "format", "generic_plan", "memory",
			"serialize":
		default:
			return o, pgerr.New(pgerr.SyntaxError, `unrecognized EXPLAIN option "%s"`, d.Defname)
		}
	}
	return o, nil
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
