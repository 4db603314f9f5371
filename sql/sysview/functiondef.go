package sysview

import (
	"strconv"
	"strings"
	"sync"

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
var languages = map[uint32]string{internalLanguage: "INTERNAL", cLanguage: "C", sqlLanguage: "SQL"}

const (
	internalLanguage = 12
	cLanguage        = 13
	sqlLanguage      = 14
)
