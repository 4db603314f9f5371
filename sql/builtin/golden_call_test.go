package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// testCall is a parsed call of a golden file.
type testCall struct {
	name      string
	typeNames []string
	args      []*string // nil is null
	variadic  bool
	aggregate bool
	within    bool // WITHIN GROUP
	direct    int  // ordered-set aggregates: direct arguments, given in every row
	rows      [][]*string
}

func callOf(t *testing.T, line string) *testCall {
	c := &testCall{}
	rest := line
	if strings.HasPrefix(line, "@") {
		c.aggregate, rest = true, line[1:]
	}
	var ok bool
	c.name, rest, ok = strings.Cut(rest, "(")
	if !ok {
		t.Fatalf("no call: %s", line)
	}
	if c.aggregate {
		args, rows, _ := strings.Cut(rest, ") ")
		if direct, sorted, ok := strings.Cut(args, ";"); ok {
			c.within = true
			if direct != "" {
				c.typeNames = strings.Split(direct, ",")
			}
			c.direct = len(c.typeNames)
			args = sorted
		}
		if args != "" {
			c.typeNames = append(c.typeNames, strings.Split(args, ",")...)
		}
		if err := json.Unmarshal([]byte(rows), &c.rows); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return c
	}
	for rest != ")" {
		rest = c.argument(t, strings.TrimLeft(rest, ", "))
	}
	return c
}

// argument parses one argument and returns the rest of the text.
func (c *testCall) argument(t *testing.T, s string) (rest string) {
	if after, ok := strings.CutPrefix(s, "variadic "); ok {
		c.variadic, s = true, after
	}
	var value *string
	if after, ok := strings.CutPrefix(s, "null"); ok {
		s = after
	} else {
		var b strings.Builder
		i := 1
		for ; i < len(s) && (s[i] != '\'' || i+1 < len(s) && s[i+1] == '\''); i++ {
			if s[i] == '\'' {
				i++
			}
			b.WriteByte(s[i])
		}
		text := b.String()
		value, s = &text, s[i+1:]
	}
	s, ok := strings.CutPrefix(s, "::")
	end := strings.IndexAny(s, ",)")
	if !ok || end < 0 {
		t.Fatalf("bad argument: %s", s)
	}
	c.args = append(c.args, value)
	c.typeNames = append(c.typeNames, strings.TrimSpace(s[:end]))
	return s[end:]
}

func literal(v *string, typ string) string {
	if v == nil {
		return "null::" + typ
	}
	return QuoteLiteral(*v) + "::" + typ
}

func (c *testCall) sql() string {
	if c.aggregate {
		return c.aggregateSQL()
	}
	var args []string
	for i, a := range c.args {
		arg := literal(a, c.typeNames[i])
		if c.variadic && i == len(c.args)-1 {
			arg = "variadic " + arg
		}
		args = append(args, arg)
	}
	return fmt.Sprintf(`pg_catalog."%s"(%s)`, c.name, strings.Join(args, ", "))
}

func (c *testCall) aggregateSQL() string {
	columns := make([]string, len(c.typeNames))
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d", i)
	}
	var rows []string
	for _, r := range c.rows {
		var vals []string
		for i, v := range r {
			vals = append(vals, literal(v, c.typeNames[i]))
		}
		rows = append(rows, "("+strings.Join(append(vals, "0"), ",")+")")
	}
	where := ""
	if len(rows) == 0 {
		var nulls []string
		for _, typ := range c.typeNames {
			nulls = append(nulls, "null::"+typ)
		}
		rows, where = []string{"(" + strings.Join(append(nulls, "0"), ",") + ")"}, " where false"
	}
	call := fmt.Sprintf(`"%s"(%s)`, c.name, strings.Join(columns, ","))
	if len(columns) == 0 {
		call = c.name + "(*)"
	}
	if c.within {
		var direct []string
		for i := range c.direct {
			direct = append(direct, literal(c.rows[0][i], c.typeNames[i]))
		}
		call = fmt.Sprintf(`"%s"(%s) within group (order by %s)`, c.name, strings.Join(direct, ","),
			strings.Join(columns[c.direct:], ","))
	}
	return fmt.Sprintf("(select %s from (values %s) v(%s)%s)", call, strings.Join(rows, ","),
		strings.Join(append(columns, "pad"), ","), where)
}

func typeOf(t *testing.T, name string) uint32 {
	elem, isArray := strings.CutSuffix(name, "[]")
	elem = strings.Trim(elem, `"`)
	typ := pgcatalog.TypeByName("pg_catalog", elem)
	if typ == nil {
		t.Fatalf("no type %s", name)
	}
	if isArray {
		return typ.Array
	}
	return typ.OID
}

// procOf finds the function of a call: its declared types equal those of the call, or are
// polymorphic.
func procOf(t *testing.T, c *testCall, argTypes []uint32) *pgcatalog.Proc {
	var found *pgcatalog.Proc
	best := -1
	for _, p := range pgcatalog.ProcsByName(c.name) {
		if (p.Kind == 'a') != c.aggregate {
			continue
		}
		if n := fit(p, argTypes, c.variadic); n > best {
			found, best = p, n
		}
	}
	if found == nil {
		t.Fatalf("no function %s%v", c.name, c.typeNames)
	}
	return found
}

// fit counts the exact matches of argument types; -1 means that the function does not fit.
func fit(p *pgcatalog.Proc, argTypes []uint32, variadic bool) int {
	if p.Variadic == 0 && len(p.ArgTypes) != len(argTypes) || variadic && p.Variadic == 0 ||
		len(argTypes) < len(p.ArgTypes)-1 {
		return -1
	}
	exact := 0
	for i, typ := range argTypes {
		want := p.ArgTypes[min(i, len(p.ArgTypes)-1)]
		switch {
		case want == typ:
			exact++
		case p.Variadic == types.Any && i >= len(p.ArgTypes)-1:
		case (want == types.AnyArray || want == types.AnyCompatibleArray) && !types.IsArray(typ),
			want == types.AnyNonArray && types.IsArray(typ):
			return -1
		case isPolymorphic(want):
		default:
			return -1
		}
	}
	return exact
}

func isPolymorphic(oid uint32) bool {
	switch oid {
	case types.Any, types.AnyElement, types.AnyArray, types.AnyNonArray, types.AnyCompatible, types.AnyCompatibleArray,
		types.AnyCompatibleNonArray, types.Record:
		return true
	}
	return false
}

func inputRow(t *testing.T, texts []*string, argTypes []uint32, env *types.Env) ([]types.Datum, error) {
	args := make([]types.Datum, len(texts))
	for i, text := range texts {
		if text == nil {
			continue
		}
		d, err := types.Input(argTypes[i], -1, *text, env)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		args[i] = d
	}
	return args, nil
}

// evaluate runs a golden call through its implementation.
func evaluate(t *testing.T, e *goldenEntry, env *types.Env) string {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: panic: %v", e.call, p)
			panic(p)
		}
	}()
	call := callOf(t, e.call)
	argTypes := make([]uint32, len(call.typeNames))
	for i, name := range call.typeNames {
		argTypes[i] = typeOf(t, name)
	}
	p := procOf(t, call, argTypes)
	impl, ok := For(p)
	if !ok {
		return "no implementation of " + p.Name + ": " + p.Src
	}
	c := &Ctx{Env: env, ArgTypes: argTypes, RetType: e.retType, Variadic: call.variadic}
	var rows []string
	var err error
	if call.aggregate {
		rows, err = runAggregate(t, c, impl.Agg, call, env)
	} else {
		rows, err = runFunction(t, c, p, impl, call)
	}
	if err != nil {
		rows = append(rows, show("!"+pgerr.Code(err)+" "+pgerr.From(err).Message))
	}
	return strings.Join(rows, "\n")
}

func runFunction(t *testing.T, c *Ctx, p *pgcatalog.Proc, impl *Impl, call *testCall) (rows []string, err error) {
	args, err := inputRow(t, call.args, c.ArgTypes, c.Env)
	if err != nil {
		return nil, err
	}
	for _, a := range args {
		if a.IsNull() && p.Strict {
			if impl.Set == nil {
				rows = []string{"NULL"}
			}
			return rows, nil
		}
	}
	if impl.Set == nil {
		d, err := impl.Func(c, args)
		if err != nil {
			return nil, err
		}
		return []string{showDatum(c, c.RetType, d)}, nil
	}
	err = impl.Set(c, args, func(row []types.Datum) error {
		d, typ := row[0], c.RetType
		if len(row) > 1 {
			d = types.NewRecord(outTypes(p), row)
			typ = types.Record
		}
		rows = append(rows, showDatum(c, typ, d))
		return nil
	})
	return rows, err
}

func outTypes(p *pgcatalog.Proc) (out []uint32) {
	for i, m := range p.ArgModes {
		if m == 'o' || m == 't' {
			out = append(out, p.AllArgTypes[i])
		}
	}
	return out
}

func showDatum(c *Ctx, typ uint32, d types.Datum) string {
	if d.IsNull() {
		return "NULL"
	}
	return show(types.Output(typ, d, c.Env))
}
