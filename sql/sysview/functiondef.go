package sysview

import (
	"strconv"
	"strings"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// procRows finds the row of pg_proc by OID.
var procRows = sync.OnceValue(func() map[uint32]Row {
	oid := place(pgcatalog.RelationByName(pgCatalog, "pg_proc"), "oid")
	m := map[uint32]Row{}
	for _, row := range staticRows("pg_proc") {
		m[row[oid].Oid()] = row
	}
	return m
})

// FunctionDef returns a function as pg_get_functiondef does; ok is false for aggregates too.
func (n *Names) FunctionDef(oid uint32) (string, bool) {
	if f := catalog.FunctionByOID(n.View, oid); f != nil && f.Database == n.Database.OID {
		return userFunctionDef(n, f), true
	}
	p := procRows()[oid]
	if p == nil {
		return "", false
	}
	r := &reader{at: positions(pgcatalog.RelationByName(pgCatalog, "pg_proc")), row: p}
	if r.char("prokind") == 'a' {
		return "", false
	}
	schema, _ := n.SchemaName(r.oid("pronamespace"))
	arguments, _ := n.FunctionArguments(oid)
	result, _ := n.FunctionResult(oid)
	language := strings.ToLower(languages[r.oid("prolang")])
	var b strings.Builder
	b.WriteString("CREATE OR REPLACE FUNCTION " + n.qualify(schema, r.text("proname"), false) + "(" + arguments +
		")\n RETURNS " + result +
		"\n LANGUAGE " + language + "\n")
	if marks := functionMarks(r); len(marks) > 0 {
		b.WriteString(" " + strings.Join(marks, " ") + "\n")
	}
	if body := r.get("prosqlbody"); !body.IsNull() {
		return b.String() + body.S + "\n", true
	}
	b.WriteString("AS ")
	if lib := r.get("probin"); !lib.IsNull() {
		b.WriteString(builtin.QuoteLiteral(lib.S) + ", ")
	}
	return b.String() + "$function$" + r.text("prosrc") + "$function$\n", true
}

// functionMarks returns the attributes of CREATE FUNCTION that are not defaults.
func functionMarks(r *reader) []string {
	var out []string
	add := func(on bool, mark string) {
		if on {
			out = append(out, mark)
		}
	}
	add(r.char("prokind") == 'w', "WINDOW")
	add(r.char("provolatile") == 'i', "IMMUTABLE")
	add(r.char("provolatile") == 's', "STABLE")
	add(r.char("proparallel") == 's', "PARALLEL SAFE")
	add(r.char("proparallel") == 'r', "PARALLEL RESTRICTED")
	add(r.bool("proisstrict"), "STRICT")
	add(r.bool("prosecdef"), "SECURITY DEFINER")
	add(r.bool("proleakproof"), "LEAKPROOF")
	usual := 100.0
	if lang := r.oid("prolang"); lang == internalLanguage || lang == cLanguage {
		usual = 1
	}
	if cost := r.get("procost").Float(); cost != usual {
		out = append(out, "COST "+strconv.FormatFloat(cost, 'g', -1, 32))
	}
	if rows := r.get("prorows").Float(); rows > 0 && rows != 1000 {
		out = append(out, "ROWS "+strconv.FormatFloat(rows, 'g', -1, 32))
	}
	if support := pgcatalog.ProcByOID(r.oid("prosupport")); support != nil {
		out = append(out, "SUPPORT "+support.Name)
	}
	return out
}

// languages are the languages of functions.
var languages = map[uint32]string{internalLanguage: "INTERNAL", cLanguage: "C", sqlLanguage: "SQL",
	plpgsqlLanguage: "plpgsql"}

const (
	internalLanguage = 12
	cLanguage        = 13
	sqlLanguage      = 14
	plpgsqlLanguage  = 13563
)

// userFunctionDef returns the definition of a function of a user.
func userFunctionDef(n *Names, f *catalog.Function) string {
	schema, _ := n.SchemaName(f.Schema)
	arguments, _ := n.FunctionArguments(f.OID)
	kind := "FUNCTION"
	if f.Kind == 'p' {
		kind = "PROCEDURE"
	}
	var b strings.Builder
	b.WriteString("CREATE OR REPLACE " + kind + " " + n.qualify(schema, f.Name, false) + "(" + arguments + ")\n")
	if result, ok := n.FunctionResult(f.OID); ok {
		b.WriteString(" RETURNS " + result + "\n")
	}
	b.WriteString(" LANGUAGE " + builtin.QuoteIdent(f.Language) + "\n")
	if marks := userFunctionMarks(f); len(marks) > 0 {
		b.WriteString(" " + strings.Join(marks, " ") + "\n")
	}
	for _, s := range f.Settings {
		name, value, _ := strings.Cut(s, "=")
		b.WriteString(" SET " + builtin.QuoteIdent(name) + " TO " + settingText(name, value) + "\n")
	}
	if text, ok := FunctionBody(n, f.OID); ok {
		return b.String() + text + "\n"
	}
	quote := "$" + strings.ToLower(kind)
	for strings.Contains(f.Source, quote) {
		quote += "x"
	}
	b.WriteString("AS " + quote + "$" + f.Source + quote + "$\n")
	return b.String()
}

// settingText quotes the value of a SET clause; lists of names are quoted one by one.
func settingText(name, value string) string {
	switch name {
	case "search_path", "temp_tablespaces", "local_preload_libraries", "session_preload_libraries",
		"shared_preload_libraries", "unix_socket_directories":
		parts := splitTypes(value)
		for i := range parts {
			if name, err := SplitName(parts[i]); err == nil && len(name) == 1 {
				parts[i] = name[0]
			}
			parts[i] = builtin.QuoteLiteral(parts[i])
		}
		return strings.Join(parts, ", ")
	}
	return builtin.QuoteLiteral(value)
}

// userFunctionMarks is functionMarks for a function of a user.
func userFunctionMarks(f *catalog.Function) []string {
	var out []string
	add := func(on bool, mark string) {
		if on {
			out = append(out, mark)
		}
	}
	add(f.Volatility == 'i', "IMMUTABLE")
	add(f.Volatility == 's', "STABLE")
	add(f.Parallel == 's', "PARALLEL SAFE")
	add(f.Parallel == 'r', "PARALLEL RESTRICTED")
	add(f.Strict, "STRICT")
	add(f.SecurityDefiner, "SECURITY DEFINER")
	add(f.Leakproof, "LEAKPROOF")
	add(f.Cost != 100, "COST "+strconv.FormatFloat(float64(f.Cost), 'g', -1, 32))
	add(f.Rows > 0 && f.Rows != 1000, "ROWS "+strconv.FormatFloat(float64(f.Rows), 'g', -1, 32))
	return out
}

// FunctionBody returns the body of a function as pg_get_function_sqlbody does; ok is false if it is a
// string.
func FunctionBody(n *Names, oid uint32) (text string, ok bool) {
	f := catalog.FunctionByOID(n.View, oid)
	if f == nil || f.Database != n.Database.OID || !f.Atomic && len(f.Body) == 0 {
		return "", false
	}
	if n.BodyText == nil {
		return strings.Join(f.Body, ";\n"), true
	}
	return n.BodyText(f), true
}
