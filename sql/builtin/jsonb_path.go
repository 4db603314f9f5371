package builtin

import (
	"strings"

	"github.com/sherddb/sherd/jsonb/jsonpath"
	"github.com/sherddb/sherd/sql/types"
)

// jsonbPaths are the functions and operators of jsonpath.
var jsonbPaths = map[string]Func{
	"jsonb_path_exists":      pathExists(false),
	"jsonb_path_exists_tz":   pathExists(true),
	"jsonb_path_exists_opr":  pathExists(false),
	"jsonb_path_match":       pathMatch(false),
	"jsonb_path_match_tz":    pathMatch(true),
	"jsonb_path_match_opr":   pathMatch(false),
	"jsonb_path_query_array": pathQueryArray(false), "jsonb_path_query_array_tz": pathQueryArray(true),
	"jsonb_path_query_first": pathFirst(false), "jsonb_path_query_first_tz": pathFirst(true),
}

var jsonbPathSets = map[string]SetFunc{"jsonb_path_query": pathQuery(false), "jsonb_path_query_tz": pathQuery(true)}

// pathMemo has the path that a call site used last.
type pathMemo struct {
	text string
	path *jsonpath.Path
}

// pathCall returns the path and the options of a call. Operators, which have two arguments,
// suppress errors.
func (c *Ctx) pathCall(a []types.Datum, withZone bool) (*jsonpath.Path, jsonpath.Options, error) {
	o := jsonpath.Options{Context: c.Context, Silent: true}
	if len(a) > 2 {
		o.Vars, o.Silent = doc(a[2]), len(a) > 3 && a[3].Bool()
	}
	if withZone {
		loc := c.zone()
		o.Zone = func(local int64) int {
			const shift = epochUnix * usSecond
			return int((local - shift - types.LocalToUTC(local-shift, loc)) / usSecond)
		}
	}
	if m, ok := c.Memo.(*pathMemo); ok && m.text == a[1].S {
		return m.path, o, nil
	}
	path, err := jsonpath.Parse(a[1].S)
	if err != nil {
		return nil, o, err
	}
	c.Memo = &pathMemo{text: strings.Clone(a[1].S), path: path}
	return path, o, nil
}

func boolOrNull(v, null bool, err error) (types.Datum, error) {
	if err != nil || null {
		return types.Null, err
	}
	return types.NewBool(v), nil
}

func pathExists(withZone bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		path, o, err := c.pathCall(a, withZone)
		if err != nil {
			return types.Null, err
		}
		return boolOrNull(path.Exists(doc(a[0]), o))
	}
}

func pathMatch(withZone bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		path, o, err := c.pathCall(a, withZone)
		if err != nil {
			return types.Null, err
		}
		return boolOrNull(path.Match(doc(a[0]), o))
	}
}

func pathQueryArray(withZone bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		path, o, err := c.pathCall(a, withZone)
		if err != nil {
			return types.Null, err
		}
		return newDoc(path.QueryArray(doc(a[0]), o))
	}
}

func pathFirst(withZone bool) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		path, o, err := c.pathCall(a, withZone)
		if err != nil {
			return types.Null, err
		}
		v, ok, err := path.First(doc(a[0]), o)
		if err != nil {
			return types.Null, err
		}
		return docOrNull(v, ok)
	}
}

func pathQuery(withZone bool) SetFunc {
	return func(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
		path, o, err := c.pathCall(a, withZone)
		if err != nil {
			return err
		}
		found, err := path.Query(doc(a[0]), o)
		if err != nil {
			return err
		}
		row := make([]types.Datum, 1)
		for _, v := range found {
			row[0] = fromDoc(v)
			if err := emit(row); err != nil {
				return err
			}
		}
		return nil
	}
}
