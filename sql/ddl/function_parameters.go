package ddl

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

var parameterModes = map[pg_query.FunctionParameterMode]byte{
	pg_query.FunctionParameterMode_FUNC_PARAM_IN:       'i',
	pg_query.FunctionParameterMode_FUNC_PARAM_DEFAULT:  'i',
	pg_query.FunctionParameterMode_FUNC_PARAM_OUT:      'o',
	pg_query.FunctionParameterMode_FUNC_PARAM_INOUT:    'b',
	pg_query.FunctionParameterMode_FUNC_PARAM_VARIADIC: 'v',
	pg_query.FunctionParameterMode_FUNC_PARAM_TABLE:    't',
}

// parameters reads the arguments and the result (interpret_function_parameter_list).
func (d *functionDraft) parameters() error {
	f := d.f
	variadic, defaults := false, false
	var outputs []types.OID
	for i, node := range d.n.Parameters {
		p := node.GetFunctionParameter()
		a := catalog.Argument{Name: p.Name, Mode: parameterModes[p.Mode]}
		if err := d.argumentType(p, &a); err != nil {
			return err
		}
		if a.IsInput() {
			if variadic {
				return invalidFunction("VARIADIC parameter must be the last input parameter")
			}
		} else if f.Kind == 'p' && variadic {
			return invalidFunction("VARIADIC parameter must be the last parameter")
		}
		if a.Mode == 'o' || a.Mode == 'b' || a.Mode == 't' {
			outputs = append(outputs, a.Type)
		}
		if a.Mode == 'v' {
			variadic = true
			if !isVariadicType(a.Type) {
				return invalidFunction("VARIADIC parameter must be an array")
			}
		}
		for k := range f.Arguments[:i] {
			o := &f.Arguments[k]
			pureIn, otherIn := a.Mode == 'i' || a.Mode == 'v', o.Mode == 'i' || o.Mode == 'v'
			pureOut, otherOut := a.Mode == 'o' || a.Mode == 't', o.Mode == 'o' || o.Mode == 't'
			if a.Name == "" || o.Name != a.Name || pureIn && otherOut || pureOut && otherIn {
				continue
			}
			return invalidFunction(`parameter name "%s" used more than once`, a.Name)
		}
		switch {
		case p.Defexpr != nil && !a.IsInput():
			return invalidFunction("only input parameters can have default values")
		case p.Defexpr != nil:
			defaults = true
			if err := d.defaultValue(p, &a); err != nil {
				return err
			}
		case defaults && a.IsInput():
			return invalidFunction("input parameters after one with a default value must also have defaults")
		case defaults && f.Kind == 'p' && a.Mode == 'o':
			return invalidFunction("procedure OUT parameters cannot appear after one with a default value")
		}
		f.Arguments = append(f.Arguments, a)
	}
	return d.result(outputs)
}

func isVariadicType(t types.OID) bool {
	return t == types.Any || t == types.AnyArray || t == types.AnyCompatibleArray || types.ElemOf(t) != 0
}

// argumentType reads the type of a parameter.
func (d *functionDraft) argumentType(p *pg_query.FunctionParameter, a *catalog.Argument) error {
	oid, relation, converted, err := analyze.RoutineType(d.analysis(), d.source, p.ArgType)
	if err == nil {
		err = mayUseType(d.change, oid)
	}
	if err != nil {
		return undefinedType(err, "type %s does not exist", p.ArgType)
	}
	if p.ArgType.Setof {
		return invalidFunction("%ss cannot accept set arguments", d.word())
	}
	a.Relation = relation
	if converted {
		d.noticeConverted(p.ArgType, oid)
	}
	a.Type = oid
	if t := pgcatalog.TypeByOID(oid); t != nil && t.Kind == 'p' && !isPolymorphic(oid) {
		switch {
		case d.f.Language == function.SQL && !(a.Mode == 'o' || a.Mode == 't'):
			return invalidFunction("SQL functions cannot have arguments of type %s", formatType(d.change, oid, -1))
		case oid == types.Record && a.IsInput() && d.f.Language != function.SQL:
		case a.Mode == 'o' || a.Mode == 't':
			return invalidFunction("SQL functions cannot return type %s", formatType(d.change, oid, -1))
		}
	}
	return nil
}

func (d *functionDraft) noticeConverted(t *pg_query.TypeName, oid types.OID) {
	name := strings.Join(texts(t.Names), ".") + "%TYPE"
	d.notice(pgerr.SuccessfulCompletion, "type reference %s converted to %s", name, formatType(d.change, oid, -1))
}

func isPolymorphic(t types.OID) bool {
	switch t {
	case types.AnyElement, types.AnyArray, types.AnyNonArray, types.AnyEnum, types.AnyCompatible,
		types.AnyCompatibleArray, types.AnyCompatibleNonArray:
		return true
	}
	return false
}

// word is the kind of the routine in messages.
func (d *functionDraft) word() string { return routineWord(d.f.Kind) }

func routineWord(kind byte) string {
	switch kind {
	case 'p':
		return "procedure"
	case 'a':
		return "aggregate function"
	case 'w':
		return "window function"
	}
	return "function"
}

// defaultValue reads the default of a parameter.
func (d *functionDraft) defaultValue(p *pg_query.FunctionParameter, a *catalog.Argument) error {
	e, err := analyze.ParameterDefault(d.analysis(), analyze.Source{Text: d.source, Node: p.Defexpr}, a.Type)
	if err != nil {
		return err
	}
	a.Default = deparse.Expr(e)
	return nil
}

// result determines the result type, from RETURNS and the OUT parameters.
func (d *functionDraft) result(outputs []types.OID) error {
	f := d.f
	implied := types.OID(0)
	switch {
	case len(outputs) > 1 || len(outputs) == 1 && f.Kind == 'p':
		implied = types.Record
	case len(outputs) == 1:
		implied = outputs[0]
	}
	f.Result = implied
	switch t := d.n.ReturnType; {
	case f.Kind == 'p':
		if implied == 0 {
			f.Result = types.Void
		}
	case t != nil:
		oid, relation, converted, err := analyze.RoutineType(d.analysis(), d.source, t)
		if err == nil {
			err = mayUseType(d.change, oid)
		}
		if err != nil {
			return undefinedType(err, `type "%s" does not exist`, t)
		}
		if converted {
			d.noticeConverted(t, oid)
		}
		if relation != 0 {
			oid = types.Record
		}
		table := slices.ContainsFunc(f.Arguments, func(a catalog.Argument) bool { return a.Mode == 't' })
		if implied != 0 && (oid != implied || relation != 0) && !table {
			return invalidFunction("function result type must be %s because of OUT parameters",
				formatType(d.change, implied, -1))
		}
		f.Set, f.ResultRelation = t.Setof, relation
		if !table {
			f.Result = oid
		}
	case implied == 0:
		return invalidFunction("function result type must be specified")
	}
	switch {
	case f.Set && f.Rows < 0:
		f.Rows = 1000
	case !f.Set && f.Rows > 0:
		return pgerr.New(pgerr.InvalidParameterValue, "ROWS is not applicable when function does not return a set")
	case !f.Set:
		f.Rows = 0
	}
	return d.checkResult()
}

// checkResult refuses types that a function cannot return.
func (d *functionDraft) checkResult() error {
	f := d.f
	for _, t := range append([]types.OID{f.Result}, outputTypes(f)...) {
		if !isPolymorphic(t) || determined(t, f.InputTypes()) {
			continue
		}
		if strings.HasPrefix(pgcatalog.FormatType(t, -1), "anycompatible") {
			return invalidFunction("cannot determine result data type").
				WithDetail("A result of type %s requires at least one input of type anycompatible, "+
					"anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange.",
					pgcatalog.FormatType(t, -1))
		}
		return invalidFunction("cannot determine result data type").
			WithDetail("A result of type %s requires at least one input of type anyelement, anyarray, anynonarray, "+
				"anyenum, anyrange, or anymultirange.", pgcatalog.FormatType(t, -1))
	}
	p := pgcatalog.TypeByOID(f.Result)
	if f.Language == function.SQL && p != nil && p.Kind == 'p' && !isPolymorphic(f.Result) &&
		f.Result != types.Record && f.Result != types.Void {
		return invalidFunction("SQL functions cannot return type %s", pgcatalog.FormatType(f.Result, -1))
	}
	return nil
}

func outputTypes(f *catalog.Function) []types.OID {
	var out []types.OID
	for i := range f.Arguments {
		if m := f.Arguments[i].Mode; m == 'o' || m == 't' || m == 'b' {
			out = append(out, f.Arguments[i].Type)
		}
	}
	return out
}

// determined reports whether the inputs determine a polymorphic type.
func determined(t types.OID, inputs []types.OID) bool {
	second := strings.HasPrefix(pgcatalog.FormatType(t, -1), "anycompatible")
	return slices.ContainsFunc(inputs, func(in types.OID) bool {
		return isPolymorphic(in) && strings.HasPrefix(pgcatalog.FormatType(in, -1), "anycompatible") == second
	})
}
