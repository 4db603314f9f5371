package copy

import (
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/copydata"
	"github.com/sherddb/sherd/sql/settings"
)

// optionReader reads the options of COPY as PostgreSQL 15 does. The parser is of a later version,
// and accepts options that 15 does not have.
type optionReader struct {
	from  bool
	given map[string]*pg_query.DefElem
	pos   func(location int32) int
}

// readOptions returns the options of a COPY. pos returns the position of a location in the
// statement.
func readOptions(list []*pg_query.Node, from bool, pos func(int32) int) (copydata.Options, error) {
	r := &optionReader{from: from, given: map[string]*pg_query.DefElem{}, pos: pos}
	o := copydata.Defaults(copydata.Text)
	for _, x := range list {
		d := x.GetDefElem()
		if r.given[d.Defname] != nil {
			return o, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(pos(d.Location))
		}
		if err := r.check(d, &o); err != nil {
			return o, err
		}
		r.given[d.Defname] = d
	}
	format := o
	o = copydata.Defaults(format.Format)
	o.Header, o.MatchNames, o.Freeze = format.Header, format.MatchNames, format.Freeze
	o.ForceQuote, o.ForceNull, o.ForceNotNull = format.ForceQuote, format.ForceNull, format.ForceNotNull
	if err := r.combine(&o); err != nil {
		return o, err
	}
	return o, o.Validate()
}

// check reads an option by itself.
func (r *optionReader) check(d *pg_query.DefElem, o *copydata.Options) (err error) {
	switch d.Defname {
	case "format":
		return r.format(d, o)
	case "freeze":
		o.Freeze, err = optionBool(d)
		return err
	case "header":
		return r.header(d, o)
	case "delimiter", "null", "quote", "escape":
		_, err = optionText(d)
		return err
	case "force_quote":
		if d.GetArg().GetAStar() != nil {
			o.ForceQuote = map[string]bool{"*": true}
			return nil
		}
		o.ForceQuote, err = r.columns(d)
		return err
	case "force_not_null":
		o.ForceNotNull, err = r.columns(d)
		return err
	case "force_null":
		o.ForceNull, err = r.columns(d)
		return err
	case "encoding":
		return r.encoding(d)
	}
	return pgerr.New(pgerr.SyntaxError, `option "%s" not recognized`, d.Defname).At(r.pos(d.Location))
}

// combine refuses options of another format or direction, in PostgreSQL's order.
func (r *optionReader) combine(o *copydata.Options) error {
	csv, binary := o.Format == copydata.CSV, o.Format == copydata.Binary
	for _, name := range []string{"delimiter", "null"} {
		if binary && r.given[name] != nil {
			return pgerr.New(pgerr.SyntaxError, "cannot specify %s in BINARY mode", strings.ToUpper(name))
		}
	}
	if d := r.given["null"]; d != nil {
		o.Null, _ = optionText(d)
	}
	if err := r.oneByte("delimiter", &o.Delimiter); err != nil {
		return err
	}
	if err := o.ValidateDelimiter(); err != nil {
		return err
	}
	if binary && o.Header {
		return pgerr.New(pgerr.FeatureNotSupported, "cannot specify HEADER in BINARY mode")
	}
	for _, name := range []string{"quote", "escape"} {
		if r.given[name] != nil && !csv {
			return pgerr.New(pgerr.FeatureNotSupported, "COPY %s available only in CSV mode", name)
		}
	}
	if err := r.oneByte("quote", &o.Quote); err != nil {
		return err
	}
	if csv {
		o.Escape = o.Quote
	}
	if err := r.oneByte("escape", &o.Escape); err != nil {
		return err
	}
	for _, f := range []struct {
		name, words, direction string
		wrong                  bool
	}{
		{"force_quote", "force quote", "TO", r.from},
		{"force_not_null", "force not null", "FROM", !r.from},
		{"force_null", "force null", "FROM", !r.from},
	} {
		switch {
		case r.given[f.name] == nil:
		case !csv:
			return pgerr.New(pgerr.FeatureNotSupported, "COPY %s available only in CSV mode", f.words)
		case f.wrong:
			return pgerr.New(pgerr.FeatureNotSupported, "COPY %s only available using COPY %s", f.words, f.direction)
		}
	}
	return nil
}

func (r *optionReader) oneByte(name string, into *byte) error {
	d := r.given[name]
	if d == nil {
		return nil
	}
	text, err := optionText(d)
	if err != nil {
		return err
	}
	if len(text) != 1 {
		return pgerr.New(pgerr.FeatureNotSupported, "COPY %s must be a single one-byte character", name)
	}
	*into = text[0]
	return nil
}

func (r *optionReader) format(d *pg_query.DefElem, o *copydata.Options) error {
	text, err := optionText(d)
	if err != nil {
		return err
	}
	switch text {
	case "text":
		o.Format = copydata.Text
	case "csv":
		o.Format = copydata.CSV
	case "binary":
		o.Format = copydata.Binary
	default:
		return pgerr.New(pgerr.InvalidParameterValue, `COPY format "%s" not recognized`, text).At(r.pos(d.Location))
	}
	return nil
}

func (r *optionReader) header(d *pg_query.DefElem, o *copydata.Options) error {
	text, err := optionText(d)
	if err == nil && strings.EqualFold(text, "match") {
		if !r.from {
			return pgerr.New(pgerr.FeatureNotSupported, `cannot use "%s" with HEADER in COPY TO`, text)
		}
		o.Header, o.MatchNames = true, true
		return nil
	}
	if o.Header, err = optionBool(d); err != nil {
		return pgerr.New(pgerr.SyntaxError, `header requires a Boolean value or "match"`)
	}
	return nil
}

func (r *optionReader) columns(d *pg_query.DefElem) (map[string]bool, error) {
	list := d.GetArg().GetList()
	if list == nil {
		return nil, pgerr.New(pgerr.InvalidParameterValue,
			`argument to option "%s" must be a list of column names`, d.Defname).At(r.pos(d.Location))
	}
	out := map[string]bool{}
	for _, c := range list.GetItems() {
		out[c.GetString_().GetSval()] = true
	}
	return out, nil
}

func (r *optionReader) encoding(d *pg_query.DefElem) error {
	text, err := optionText(d)
	if err != nil {
		return err
	}
	if !strings.EqualFold(strings.ReplaceAll(text, "-", ""), "UTF8") {
		return pgerr.Unsupported("COPY encoding %q is not supported yet", text).WithHint("Use UTF8.")
	}
	return nil
}

// optionText is the value of an option as text.
func optionText(d *pg_query.DefElem) (string, error) {
	switch v := d.GetArg(); {
	case v == nil:
		return "", pgerr.New(pgerr.SyntaxError, "%s requires a parameter", d.Defname)
	case v.GetInteger() != nil:
		return strconv.FormatInt(int64(v.GetInteger().Ival), 10), nil
	case v.GetFloat() != nil:
		return v.GetFloat().Fval, nil
	case v.GetBoolean() != nil:
		return map[bool]string{true: "true", false: "false"}[v.GetBoolean().Boolval], nil
	case v.GetAStar() != nil:
		return "*", nil
	case v.GetList() != nil:
		var words []string
		for _, x := range v.GetList().Items {
			words = append(words, x.GetString_().GetSval())
		}
		return strings.Join(words, "."), nil
	default:
		return v.GetString_().GetSval(), nil
	}
}

// optionBool is the value of an option that is true if it has none.
func optionBool(d *pg_query.DefElem) (bool, error) {
	bad := pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", d.Defname)
	if d.Arg == nil {
		return true, nil
	}
	if i := d.Arg.GetInteger(); i != nil {
		if i.Ival != 0 && i.Ival != 1 {
			return false, bad
		}
		return i.Ival == 1, nil
	}
	text, err := optionText(d)
	if err != nil {
		return false, bad
	}
	switch strings.ToLower(text) {
	case "true", "false", "on", "off":
		on, _ := settings.ParseBool(text)
		return on, nil
	}
	return false, bad
}
