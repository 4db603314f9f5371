package builtin

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/sql/pgcatalog"
)

// tables and setTables list every family.
var (
	tables = []map[string]Func{
		comparisonInt, comparisonFloat, comparisonText, arithmeticInt, arithmeticFloat, bitwise, mathFloat,
		logic, intCasts, textBasic, textSubstr, textLike, quoting, encoding, numericBasic, jsonbAccess, jsonbEdit, jsonbCasts,
		comparisonTime, comparisonNested, regexTests, regexEdits, similar,
		mathTrig, numericMath, textUnicode, timeToChar, numberToChar, fromChar, bitStrings, populate, sysSession, sysTransaction, sysLock, sysCatalog, sysSize, sysPrivilege,
		timeArithmetic, timeParts, timeCasts, textCasts, jsonbPaths, jsonAccess,
		jsonBuild, textFormat, textSplit, arrayShape, arraySearch, arrayEdit,
	}
	setTables = []map[string]SetFunc{populateSets, sysSets, series, jsonSets, jsonbPathSets, jsonbSets, regexSets, textSplitSets, arraySets}
)

// index is every implementation by key, built once; read-only afterwards.
var index = buildIndex()

func buildIndex() map[string]*Impl {
	m := make(map[string]*Impl, 2048)
	for _, t := range tables {
		for name, f := range t {
			m[name] = &Impl{Func: f}
		}
	}
	for _, t := range setTables {
		for name, f := range t {
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

// Lookup finds the implementation that pg_proc.prosrc names. Aggregates and functions whose body is SQL have no name of their own
// there: For finds those too.
func Lookup(src string) (*Impl, bool) {
	impl, ok := index[src]
	return impl, ok
}

// For finds the implementation of a pg_proc row.
func For(p *pgcatalog.Proc) (*Impl, bool) {
	switch {
	case p.Kind == 'a':
		return Lookup("aggregate " + sqlKey(p))
	case p.Src == "" || strings.HasPrefix(p.Src, "select ") || strings.HasPrefix(p.Src, "see system_functions"):
		return Lookup(sqlKey(p))
	}
	return Lookup(p.Src)
}

// sqlKey names a function whose body is SQL: name(argument type OIDs).
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
