package settings

import (
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// Text joins the values of SET name as PostgreSQL does: lists with ", ", identifiers quoted if they
// must be.
func Text(name string, args []*pg_query.Node) (string, error) {
	list := isListSetting(name)
	if len(args) > 1 && !list && !strings.EqualFold(name, "DateStyle") {
		return "", pgerr.New(pgerr.InvalidParameterValue, "SET %s takes only one argument", name)
	}
	var out []string
	for _, a := range args {
		v, err := constantSetting(a)
		if err != nil {
			return "", err
		}
		if list && !plainIdentifier(v) {
			v = `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
		}
		out = append(out, v)
	}
	return strings.Join(out, ", "), nil
}

func isListSetting(name string) bool {
	switch strings.ToLower(name) {
	case "search_path", "temp_tablespaces", "session_preload_libraries", "local_preload_libraries":
		return true
	}
	return false
}

func plainIdentifier(v string) bool {
	for i, c := range v {
		if !(c >= 'a' && c <= 'z' || c == '_' || i > 0 && (c >= '0' && c <= '9' || c == '$')) {
			return false
		}
	}
	return v != ""
}

func constantSetting(a *pg_query.Node) (string, error) {
	if t := a.GetTypeCast(); t != nil { // SET TIME ZONE INTERVAL '…'
		text, err := constantSetting(t.Arg)
		if err != nil {
			return "", err
		}
		return intervalSetting(text, t.TypeName)
	}
	c := a.GetAConst()
	switch v := c.GetVal().(type) {
	case *pg_query.A_Const_Sval:
		return v.Sval.GetSval(), nil
	case *pg_query.A_Const_Ival:
		return strconv.Itoa(int(v.Ival.GetIval())), nil
	case *pg_query.A_Const_Fval:
		return v.Fval.GetFval(), nil
	case *pg_query.A_Const_Boolval:
		return OnOff(v.Boolval.GetBoolval()), nil
	}
	if c.GetVal() == nil && c != nil {
		return "0", nil // the integer zero has no field in the tree's wire form
	}
	return "", pgerr.New(pgerr.SyntaxError, "a setting's value must be a constant")
}

// intervalSetting returns the text of SET TIME ZONE INTERVAL '…'.
func intervalSetting(text string, t *pg_query.TypeName) (string, error) {
	typmod := int32(-1)
	if len(t.Typmods) > 0 {
		fields, precision := t.Typmods[0].GetAConst().GetIval().GetIval(), int32(0xFFFF)
		if len(t.Typmods) > 1 {
			precision = t.Typmods[1].GetAConst().GetIval().GetIval()
		}
		typmod = fields<<16 | precision
	}
	d, err := types.Input(types.Interval, typmod, text, nil)
	if err != nil {
		return "", err
	}
	return "INTERVAL '" + types.Output(types.Interval, d, nil) + "'", nil
}
