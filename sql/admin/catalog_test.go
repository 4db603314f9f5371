package admin

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/stmt"
)

var rewrite = flag.Bool("rewrite", false, "write the rows of pg_proc")

// TestCatalogRows compares the rows of pg_proc that follow from the table of functions with those that
// package pgcatalog has.
func TestCatalogRows(t *testing.T) {
	const file = "../pgcatalog/data/sherd_proc.tsv"
	var b strings.Builder
	b.WriteString(strings.Join(rowColumns, "\t") + "\n")
	for i := range functions {
		row, err := catalogRow(&functions[i])
		if err != nil {
			t.Fatalf("%s: %v", functions[i].Signature, err)
		}
		b.WriteString(strings.Join(row, "\t") + "\n")
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(old) != b.String() {
		t.Errorf("%s does not follow from the table: run with -rewrite and read the diff", file)
	}
}

// TestEveryFunction checks that each function of schema sherd is either here or in package builtin.
func TestEveryFunction(t *testing.T) {
	here := map[uint32]bool{}
	for _, f := range functions {
		if here[f.OID] {
			t.Errorf("OID %d is used twice", f.OID)
		}
		here[f.OID] = true
		if (f.Call == nil) == (f.Rows == nil) {
			t.Errorf("%s has to have either Call or Rows", f.Signature)
		}
	}
	pgcatalog.Procs(func(p *pgcatalog.Proc) {
		_, pure := builtin.Lookup(p.Src)
		if p.Namespace == "sherd" && pure == here[p.OID] {
			t.Errorf("%s (%d): in builtin %v, here %v", p.Name, p.OID, pure, here[p.OID])
		}
		if f := byOID[p.OID]; f != nil && p.RetSet != (f.Rows != nil) {
			t.Errorf("%s: a table has Rows, a value has Call", f.Signature)
		}
	})
}

// TestOverloadsDefineAlike checks that either all functions of one name change definitions, or none.
func TestOverloadsDefineAlike(t *testing.T) {
	defines, found := map[string]bool{}, 0
	pgcatalog.Procs(func(p *pgcatalog.Proc) {
		if byOID[p.OID] == nil {
			return
		}
		now := stmt.DefiningFunctions[p.Src]
		if now {
			found++
		}
		if before, again := defines[p.Name]; again && before != now {
			t.Errorf("%s (%d) changes definitions: %v, another function of the name: %v", p.Src, p.OID, now, before)
		}
		defines[p.Name] = now
	})
	if found != len(stmt.DefiningFunctions) {
		t.Errorf("%d of %d names in stmt.DefiningFunctions are functions", found, len(stmt.DefiningFunctions))
	}
}

var rowColumns = []string{
	"oid", "proname", "pronamespace", "provariadic", "prokind", "proisstrict", "options", "proretset", "provolatile",
	"prorettype", "proargtypes", "proallargtypes", "proargmodes", "proargnames", "proargdefaults", "prosrc",
	"description",
}

// catalogRow returns the row of a function, with the cells of rowColumns.
func catalogRow(f *Function) ([]string, error) {
	s, err := parseSignature(f.Signature)
	if err != nil {
		return nil, err
	}
	source, volatility := f.Source, "v"
	if source == "" {
		source = "sherd_" + s.name
	}
	if f.Stable {
		volatility = "s"
	}
	options := s.options()
	row := map[string]string{
		"oid": fmt.Sprint(f.OID), "proname": s.name, "pronamespace": fmt.Sprint(pgcatalog.SherdNamespace),
		"provariadic": "0", "prokind": "f", "proisstrict": boolean(options == 0), "options": fmt.Sprint(options),
		"proretset": boolean(s.columns != nil), "provolatile": volatility, "prorettype": fmt.Sprint(s.result),
		"proargtypes":    strings.Trim(fmt.Sprint(typesOf(s.arguments)), "[]"),
		"proallargtypes": `\N`, "proargmodes": `\N`, "proargnames": `\N`, "proargdefaults": `\N`,
		"prosrc": source, "description": f.Comment,
	}
	all := slices.Concat(s.arguments, s.columns)
	if s.columns != nil || s.variadic() {
		modes := ""
		for _, x := range all {
			modes += "," + string(x.mode)
		}
		row["proallargtypes"] = "{" + strings.ReplaceAll(strings.Trim(fmt.Sprint(typesOf(all)), "[]"), " ", ",") + "}"
		row["proargmodes"] = "{" + modes[1:] + "}"
	}
	if s.variadic() {
		element := pgcatalog.ElementOf(s.arguments[len(s.arguments)-1].typ)
		if element == 0 {
			element = s.arguments[len(s.arguments)-1].typ // VARIADIC "any"
		}
		row["provariadic"] = fmt.Sprint(element)
	}
	var names, defaults []string
	for _, x := range all {
		names = append(names, x.name)
		if x.otherwise != "" {
			defaults = append(defaults, x.otherwise)
		}
	}
	if strings.Join(names, "") != "" {
		row["proargnames"] = "{" + strings.Join(names, ",") + "}"
	}
	if defaults != nil {
		text, err := json.Marshal(defaults)
		if err != nil {
			return nil, err
		}
		row["proargdefaults"] = string(text)
	}
	out := make([]string, len(rowColumns))
	for i, c := range rowColumns {
		out[i] = row[c]
	}
	return out, nil
}

func boolean(b bool) string { return fmt.Sprint(b)[:1] }
