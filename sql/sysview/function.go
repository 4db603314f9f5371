package sysview

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// FunctionResult returns a function's result type as pg_get_function_result does.
func (n *Names) FunctionResult(oid uint32) (string, bool) {
	p := procOf(n, oid)
	if p == nil || p.Kind == 'p' {
		return "", false
	}
	if strings.Contains(p.ArgModes, "t") {
		return "TABLE(" + strings.Join(n.arguments(p, "t", false), ", ") + ")", true
	}
	name := n.FormatType(p.RetType, -1)
	if f := catalog.FunctionByOID(n.View, oid); f != nil && f.ResultRelation != 0 {
		name = RelationText(n, f.ResultRelation, false)
	}
	if p.RetSet {
		name = "SETOF " + name
	}
	return name, true
}

// FunctionArguments returns a function's arguments with defaults, as pg_get_function_arguments
// does.
func (n *Names) FunctionArguments(oid uint32) (string, bool) {
	p := procOf(n, oid)
	if p == nil {
		return "", false
	}
	return n.argumentList(p, "iobv", true), true
}

// FunctionIdentityArguments returns a function's input arguments without defaults.
func (n *Names) FunctionIdentityArguments(oid uint32) (string, bool) {
	p := procOf(n, oid)
	if p == nil {
		return "", false
	}
	return n.argumentList(p, "iobv", false), true
}

// argumentList joins the arguments. Those of an ordered-set aggregate have ORDER BY between the
// direct and the aggregated ones.
func (n *Names) argumentList(p *pgcatalog.Proc, modes string, defaults bool) string {
	list := n.arguments(p, modes, defaults)
	a := pgcatalog.AggregateOf(p.OID)
	if a == nil || a.Kind == 'n' {
		return strings.Join(list, ", ")
	}
	direct, aggregated := list[:a.NumDirect], list[a.NumDirect:]
	if len(aggregated) == 0 { // a VARIADIC argument is both
		aggregated = list[len(list)-1:]
	}
	text := "ORDER BY " + strings.Join(aggregated, ", ")
	if len(direct) > 0 {
		text = strings.Join(direct, ", ") + " " + text
	}
	return text
}

var argumentModes = map[byte]string{'o': "OUT ", 'b': "INOUT ", 'v': "VARIADIC "}

// arguments returns the arguments whose mode is in modes.
func (n *Names) arguments(p *pgcatalog.Proc, modes string, defaults bool) []string {
	all := p.AllArgTypes
	if all == nil {
		all = p.ArgTypes
	}
	var out []string
	input := 0
	for i, t := range all {
		mode := byte('i')
		if i < len(p.ArgModes) {
			mode = p.ArgModes[i]
		}
		isInput := mode == 'i' || mode == 'b' || mode == 'v'
		if isInput {
			input++
		}
		if strings.IndexByte(modes, mode) < 0 {
			continue
		}
		text := argumentModes[mode]
		if mode == 'i' && p.Kind == 'p' {
			text = "IN "
		}
		if i < len(p.ArgNames) && p.ArgNames[i] != "" {
			text += builtin.QuoteIdent(p.ArgNames[i]) + " "
		}
		text += n.FormatType(t, -1)
		if d := input - 1 - (len(p.ArgTypes) - len(p.Defaults)); defaults && isInput && d >= 0 && d < len(p.Defaults) {
			text += " DEFAULT " + defaultText(n, p, d)
		}
		out = append(out, text)
	}
	return out
}

// procOf returns a function that is built in, or one of a user of the database.
func procOf(n *Names, oid uint32) *pgcatalog.Proc {
	if f := catalog.FunctionByOID(n.View, oid); f != nil && f.Database != n.Database.OID {
		return nil
	}
	return function.ByOID(n.View, oid)
}

// defaultText returns the default of an argument; those of functions of users are stored expressions.
func defaultText(n *Names, p *pgcatalog.Proc, i int) string {
	if p.Language == "" || n.Spell == nil {
		return p.Defaults[i]
	}
	return n.Spell(0, p.Defaults[i], false)
}

// pgProc emits the functions of users.
func pgProc(b *builder) error {
	for f := range catalog.FunctionsOf(b.env.View, b.env.Database.OID) {
		p := function.Proc(b.env.View, f)
		result := p.RetType
		if f.ResultRelation != 0 {
			result = RowType(f.ResultRelation)
		}
		r := b.row().oid("oid", f.OID).text("proname", f.Name).oid("pronamespace", f.Schema).oid("proowner", f.Owner).
			oid("prolang", languageOID(f.Language)).set("procost", types.NewFloat4(f.Cost)).
			set("prorows", types.NewFloat4(f.Rows)).oid("provariadic", p.Variadic).char("prokind", f.Kind).
			bool("prosecdef", f.SecurityDefiner).bool("proleakproof", f.Leakproof).bool("proisstrict", f.Strict).
			bool("proretset", f.Set).char("provolatile", f.Volatility).char("proparallel", f.Parallel).
			int("pronargs", int64(len(p.ArgTypes))).oid("prorettype", result).oids("proargtypes", p.ArgTypes).
			text("prosrc", f.Source).acl("proacl", f.ACL)
		if p.ArgNames != nil {
			r.texts("proargnames", p.ArgNames)
		}
		if p.AllArgTypes != nil {
			r.oids("proallargtypes", p.AllArgTypes)
			r.set("proargmodes", charArray(p.ArgModes))
		}
		if len(p.Defaults) > 0 {
			r.int("pronargdefaults", int64(len(p.Defaults))).text("proargdefaults", strings.Join(p.Defaults, ", "))
		}
		if f.Atomic || len(f.Body) > 0 {
			r.text("prosqlbody", strings.Join(f.Body, ";\n"))
		}
		if len(f.Settings) > 0 {
			r.texts("proconfig", f.Settings)
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}

// languageOID returns the OID of a language in pg_language.
func languageOID(name string) uint32 {
	for oid, known := range languages {
		if strings.EqualFold(known, name) {
			return oid
		}
	}
	return 0
}

// sherdProcs returns the functions of the schema sherd.
func sherdProcs(b *builder) error {
	var list []*pgcatalog.Proc
	pgcatalog.Procs(func(p *pgcatalog.Proc) {
		if p.Namespace == "sherd" {
			list = append(list, p)
		}
	})
	slices.SortFunc(list, func(x, y *pgcatalog.Proc) int { return int(x.OID) - int(y.OID) })
	for _, p := range list {
		r := b.row().oid("oid", p.OID).text("proname", p.Name).oid("pronamespace", pgcatalog.SherdNamespace).
			oid("proowner", catalog.BootstrapRole).oid("prolang", internalLanguage).char("prokind", p.Kind).
			bool("proisstrict", p.Strict).
			bool("proretset", p.RetSet).char("provolatile", p.Volatility).char("proparallel", 'u').
			int("pronargs", int64(len(p.ArgTypes))).
			oid("prorettype", p.RetType).oids("proargtypes", p.ArgTypes).text("prosrc", p.Src).
			set("procost", types.NewFloat4(1))
		if p.RetSet {
			r.set("prorows", types.NewFloat4(1000))
		}
		if p.ArgNames != nil {
			r.texts("proargnames", p.ArgNames)
		}
		if p.AllArgTypes != nil {
			r.oids("proallargtypes", p.AllArgTypes)
			r.set("proargmodes", charArray(p.ArgModes))
		}
		if len(p.Defaults) > 0 {
			r.int("pronargdefaults", int64(len(p.Defaults))).text("proargdefaults", strings.Join(p.Defaults, ", "))
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}
