package builtin

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/sql/pgcatalog"
)

// tables and setTables list every family.
var (
	tables = []family{
		{comparisonInt, Anywhere}, {comparisonFloat, Anywhere}, {comparisonText, Anywhere}, {comparisonTime, Anywhere},
		{comparisonNested, Anywhere}, {enums, Anywhere},
		{arithmeticInt, Anywhere}, {arithmeticFloat, Anywhere}, {bitwise, Anywhere}, {mathFloat, Anywhere},
		{mathTrig, Anywhere}, {logic, Anywhere},
		{numericBasic, Anywhere}, {numericMath, Anywhere}, {intCasts, Anywhere}, {textCasts, Anywhere},
		{timeCasts, Anywhere}, {jsonbCasts, Anywhere},
		{textBasic, Anywhere}, {textSubstr, Anywhere}, {textLike, Anywhere}, {textUnicode, Anywhere},
		{textFormat, Anywhere}, {textSplit, Anywhere},
		{quoting, Anywhere}, {encoding, Anywhere}, {bitStrings, Anywhere}, {regexTests, Anywhere},
		{regexEdits, Anywhere}, {similar, Anywhere},
		{timeToChar, Anywhere}, {numberToChar, Anywhere}, {fromChar, Anywhere}, {timeArithmetic, Anywhere},
		{timeParts, Anywhere},
		{jsonAccess, Anywhere}, {jsonBuild, Anywhere}, {jsonbAccess, Anywhere}, {jsonbEdit, Anywhere},
		{jsonbPaths, Anywhere},
		{arrayShape, Anywhere}, {arraySearch, Anywhere}, {arrayEdit, Anywhere},
		{populate, AtGateway}, {sysTransaction, AtGateway},
		{sysLock, AtGateway}, {sysPrivilege, AtGateway}, {sysCatalog, AtGateway},
		{sysSession, 0}, {sysSize, 0},
	}
	setTables = []setFamily{
		{series, Anywhere}, {jsonSets, Anywhere}, {jsonbPathSets, Anywhere}, {jsonbSets, Anywhere},
		{regexSets, Anywhere}, {textSplitSets, Anywhere},
		{arraySets, Anywhere}, {populateSets, AtGateway},
		{sysSets, 0},
	}
)

// index has every implementation by key. It is built once and then read-only.
var index = buildIndex()

func buildIndex() map[string]*Impl {
	m := make(map[string]*Impl, 2048)
	for _, t := range tables {
		for name, f := range t.funcs {
			m[name] = &Impl{Func: f}
		}
	}
	for _, t := range setTables {
		for name, f := range t.funcs {
			m[name] = &Impl{Set: f}
		}
	}
	for name, f := range windowFuncs {
		m[name] = &Impl{Window: f}
	}
	for name, a := range aggregates {
		m["aggregate "+name] = &Impl{Agg: a}
	}
	return m
}

// Lookup finds the implementation that pg_proc.prosrc names. Aggregates and functions whose body is
// SQL have no prosrc name; For finds them too.
func Lookup(src string) (*Impl, bool) {
	impl, ok := index[src]
	return impl, ok
}

// For finds the implementation of a pg_proc row. Functions of schema sherd that this package does not
// have, and functions of users, are called through the session's Gateway.
func For(p *pgcatalog.Proc) (*Impl, bool) {
	if p.Language != "" {
		return throughGateway(p), true
	}
	if impl, ok := Lookup(keyOf(p)); ok || p.Namespace != "sherd" {
		return impl, ok
	}
	return throughGateway(p), true
}

// keyOf returns the key of a function's implementation.
func keyOf(p *pgcatalog.Proc) string {
	switch {
	case p.Kind == 'a':
		return "aggregate " + sqlKey(p)
	case p.Src == "" || strings.HasPrefix(p.Src, "select ") || strings.HasPrefix(p.Src, "see system_functions"):
		return sqlKey(p)
	}
	return p.Src
}

// sqlKey returns the key of a function whose body is SQL: name(argument type OIDs).
func sqlKey(p *pgcatalog.Proc) string {
	b := append([]byte(p.Name), '(')
	for i, t := range p.ArgTypes {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(t), 10)
	}
	return string(append(b, ')'))
}
