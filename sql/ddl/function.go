package ddl

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/types"
)

// createFunction is CREATE FUNCTION and CREATE PROCEDURE.
func createFunction(r *runner, n *pg_query.CreateFunctionStmt) error {
	return r.update(func(c *change) error {
		schema, name, err := splitStatisticsName(c, n.Funcname)
		if err != nil {
			return err
		}
		s, err := c.target(&pg_query.RangeVar{Schemaname: schema, Relname: name, Location: -1})
		if err != nil {
			return err
		}
		f := &catalog.Function{Database: c.Database, Schema: s.OID, Name: name, Owner: c.me.OID, Kind: 'f'}
		if n.IsProcedure {
			f.Kind = 'p'
		}
		d := &functionDraft{change: c, f: f, n: n}
		if err := d.options(); err != nil {
			return err
		}
		if err := d.parameters(); err != nil {
			return err
		}
		if err := d.body(); err != nil {
			return err
		}
		if err := d.replace(); err != nil {
			return err
		}
		if c.CheckBodies == nil || c.CheckBodies() {
			if err := d.check(); err != nil {
				return err
			}
		}
		return f.Put(c.ch)
	})
}

// functionDraft is a function that is being defined.
type functionDraft struct {
	*change
	f *catalog.Function
	n *pg_query.CreateFunctionStmt
}

func invalidFunction(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidFunctionDefinition, format, args...)
}

// options reads the clauses behind the arguments (compute_function_attributes).
func (d *functionDraft) options() error {
	f := d.f
	f.Volatility, f.Parallel, f.Cost = 'v', 'u', 100
	seen := map[string]bool{}
	rows := float32(-1)
	for _, node := range d.n.Options {
		e := node.GetDefElem()
		if e.Defname != "set" {
			if seen[e.Defname] {
				return pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(d.pos(e.Location))
			}
			seen[e.Defname] = true
		}
		switch e.Defname {
		case "as":
			items := e.Arg.GetList().GetItems()
			if len(items) > 1 {
				return invalidFunction("only one AS item needed for language \"%s\"", f.Language)
			}
			f.Source = items[0].GetString_().GetSval()
		case "language":
			f.Language = e.Arg.GetString_().GetSval()
		case "transform":
			return pgerr.Unsupported("TRANSFORM is not supported").WithHint("Convert the values in the function.")
		case "window":
			return pgerr.Unsupported("window functions of users are not supported").
				WithHint("Use a function that is built in, or an aggregate.")
		default:
			if err := d.common(e, &rows); err != nil {
				return err
			}
		}
	}
	if f.Language == "" {
		if d.n.SqlBody == nil {
			return invalidFunction("no language specified")
		}
		f.Language = function.SQL
	}
	if err := checkLanguage(d.change, f.Language); err != nil {
		return err
	}
	if !seen["as"] && d.n.SqlBody == nil {
		return invalidFunction("no function body specified")
	}
	if seen["as"] && d.n.SqlBody != nil {
		return invalidFunction("duplicate function body specified")
	}
	if d.n.SqlBody != nil && f.Language != function.SQL {
		return invalidFunction("inline SQL function body only valid for language SQL")
	}
	f.Rows = rows
	return nil
}

// checkLanguage returns an error if functions cannot be written in a language.
func checkLanguage(c *change, name string) error {
	oid, trusted := privilege.LanguageOID(name)
	if trusted && subject(c).Language(oid, acl.Usage) == 0 {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for language %s", name)
	}
	switch name {
	case function.SQL:
		return nil
	case "c", "internal":
		return pgerr.Unsupported("functions in language %s are not supported", name).
			WithHint("Write the function in SQL or PL/pgSQL.")
	}
	if c.Languages[name] != nil {
		return nil
	}
	return pgerr.New(pgerr.UndefinedObject, `language "%s" does not exist`, name)
}

// common reads a clause that ALTER FUNCTION has too (compute_common_attribute).
func (d *functionDraft) common(e *pg_query.DefElem, rows *float32) error {
	f := d.f
	if f.Kind == 'p' && e.Defname != "set" && e.Defname != "security" {
		return invalidFunction("invalid attribute in procedure definition").At(d.pos(e.Location))
	}
	switch e.Defname {
	case "volatility":
		word := e.Arg.GetString_().GetSval()
		f.Volatility = word[0]
	case "strict":
		f.Strict = e.Arg.GetBoolean().GetBoolval()
	case "security":
		f.SecurityDefiner = e.Arg.GetBoolean().GetBoolval()
	case "leakproof":
		f.Leakproof = e.Arg.GetBoolean().GetBoolval()
		if f.Leakproof && !d.me.Superuser {
			return pgerr.New(pgerr.InsufficientPrivilege, "only superuser can define a leakproof function")
		}
	case "set":
		return d.set(e.Arg.GetVariableSetStmt())
	case "cost", "rows":
		v, err := positive(e)
		if err != nil {
			return err
		}
		if e.Defname == "cost" {
			f.Cost = v
		} else {
			*rows = v
		}
	case "support":
		return pgerr.Unsupported("SUPPORT is not supported").WithHint("Use COST and ROWS.")
	case "parallel":
		switch word := strings.ToLower(e.Arg.GetString_().GetSval()); word {
		case "safe", "unsafe", "restricted":
			f.Parallel = word[0]
		default:
			return pgerr.New(pgerr.SyntaxError, `parameter "parallel" must be SAFE, RESTRICTED, or UNSAFE`)
		}
	default:
		return pgerr.New(pgerr.InternalError, `option "%s" not recognized`, e.Defname)
	}
	return nil
}

func positive(e *pg_query.DefElem) (float32, error) {
	d, err := types.Input(types.Float4, -1, optionText(e.Arg), nil)
	if err != nil {
		return 0, err
	}
	if v := float32(d.Float()); v > 0 {
		return v, nil
	}
	return 0, pgerr.New(pgerr.InvalidParameterValue, "%s must be positive", strings.ToUpper(e.Defname))
}

// set applies a SET or RESET clause.
func (d *functionDraft) set(n *pg_query.VariableSetStmt) error {
	f := d.f
	old := map[string]string{}
	for _, s := range f.Settings {
		name, value, _ := strings.Cut(s, "=")
		old[name] = value
	}
	if n.Kind == pg_query.VariableSetKind_VAR_SET_CURRENT {
		return pgerr.Unsupported("SET … FROM CURRENT is not supported yet").WithHint("Write the value out.")
	}
	now, err := d.changeSettings(old, n)
	if err != nil {
		return err
	}
	f.Settings = slices.DeleteFunc(slices.Clone(f.Settings), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		_, kept := now[name]
		return !kept
	})
	name := strings.ToLower(n.Name)
	if _, ok := now[name]; !ok {
		return nil
	}
	value, err := settings.Text(n.Name, n.Args) // as it is written
	if err != nil {
		return err
	}
	i := slices.IndexFunc(f.Settings, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	if i < 0 {
		f.Settings = append(f.Settings, name+"="+value)
	} else {
		f.Settings[i] = name + "=" + value
	}
	return nil
}

// body reads a body of SQL: RETURN or BEGIN ATOMIC.
func (d *functionDraft) body() error {
	if d.n.SqlBody == nil {
		return nil
	}
	var list []*pg_query.Node
	if l := d.n.SqlBody.GetList(); l != nil {
		d.f.Atomic = true
		for _, x := range l.Items {
			if inner := x.GetList(); inner != nil {
				list = append(list, inner.Items...)
			} else {
				list = append(list, x)
			}
		}
	} else {
		list = []*pg_query.Node{d.n.SqlBody}
	}
	for _, node := range list {
		if node == nil || node.Node == nil {
			continue
		}
		if ret := node.GetReturnStmt(); ret != nil {
			node = &pg_query.Node{Node: &pg_query.Node_SelectStmt{SelectStmt: &pg_query.SelectStmt{
				TargetList: []*pg_query.Node{{Node: &pg_query.Node_ResTarget{ResTarget: &pg_query.ResTarget{
					Val: ret.Returnval, Location: -1}}}},
				Op: pg_query.SetOperation_SETOP_NONE, LimitOption: pg_query.LimitOption_LIMIT_OPTION_DEFAULT,
			}}}
		}
		if node.GetSelectStmt() == nil {
			return pgerr.Unsupported("only SELECT is supported in BEGIN ATOMIC so far").
				WithHint("Write the body as a string: AS $$ … $$.")
		}
		ctx := d.analysis()
		ctx.Source = d.source
		def, err := analyze.DefineBody(ctx, d.f, node)
		if err != nil {
			return err
		}
		d.f.Body, d.f.Uses = append(d.f.Body, def.Stored), mergeUses(d.f.Uses, def.Uses)
	}
	if len(d.f.Body) == 0 {
		d.f.Source, d.f.Atomic = "", true
	}
	return nil
}

func mergeUses(a, b []catalog.Use) []catalog.Use {
	for _, u := range b {
		i := slices.IndexFunc(a, func(o catalog.Use) bool {
			return o.Relation == u.Relation && o.Constraint == u.Constraint
		})
		if i < 0 {
			a = append(a, u)
			continue
		}
		for _, n := range u.Columns {
			if !slices.Contains(a[i].Columns, n) {
				a[i].Columns = append(a[i].Columns, n)
			}
		}
		slices.Sort(a[i].Columns)
	}
	return a
}

// replace sets the number of the function: a new one, or that of the function that it replaces.
func (d *functionDraft) replace() error {
	f := d.f
	var old *catalog.Function
	for _, g := range catalog.FunctionsNamed(d.view, f.Schema, f.Name) {
		if g.SameArguments(f) {
			old = g
		}
	}
	if old == nil {
		oid, err := d.newOID()
		f.OID, f.ACL = oid, defaultACL(d.change, 'f', f.Owner, f.Schema)
		return err
	}
	if !d.n.Replace {
		return pgerr.New(pgerr.DuplicateFunction, `function "%s" already exists with same argument types`, f.Name)
	}
	if !d.owns(old.Owner) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of %s %s", routineWord(old.Kind), f.Name)
	}
	if old.Kind != f.Kind {
		return pgerr.New(pgerr.WrongObjectType, "cannot change routine kind").
			WithDetail(`"%s" is a %s.`, f.Name, routineWord(old.Kind))
	}
	f.OID, f.Owner, f.Comment, f.ACL = old.OID, old.Owner, old.Comment, old.ACL
	return d.keepsSignature(old)
}

// keepsSignature refuses to replace a function by one that callers cannot call as before.
func (d *functionDraft) keepsSignature(old *catalog.Function) error {
	f := d.f
	signature := signatureOf(d.change, function.Proc(d.view, old))
	drop := "Use DROP " + strings.ToUpper(d.word()) + " " + signature + " first."
	if old.Result != f.Result || old.ResultRelation != f.ResultRelation || old.Set != f.Set {
		if f.Kind == 'p' {
			return invalidFunction("cannot change whether a procedure has output parameters").WithHint("%s", drop)
		}
		return invalidFunction("cannot change return type of existing function").WithHint("%s", drop)
	}
	outputs := func(g *catalog.Function) []catalog.Argument {
		out := slices.DeleteFunc(slices.Clone(g.Arguments), func(a catalog.Argument) bool {
			return a.Mode == 'i' || a.Mode == 'v'
		})
		for i := range out {
			out[i].Default, out[i].Mode = "", 'o'
		}
		return out
	}
	if f.Result == types.Record && !slices.Equal(outputs(old), outputs(f)) {
		return invalidFunction("cannot change return type of existing function").
			WithDetail("Row type defined by OUT parameters is different.").WithHint("%s", drop)
	}
	inputs := func(g *catalog.Function) []catalog.Argument {
		return slices.DeleteFunc(slices.Clone(g.Arguments), func(a catalog.Argument) bool { return !a.IsInput() })
	}
	was, now := inputs(old), inputs(f)
	for i := range was {
		if was[i].Name != "" && was[i].Name != now[i].Name {
			return invalidFunction(`cannot change name of input parameter "%s"`, was[i].Name).WithHint("%s", drop)
		}
	}
	for i := range was {
		if was[i].Default != "" && now[i].Default == "" {
			return invalidFunction("cannot remove parameter defaults from existing function").WithHint("%s", drop)
		}
	}
	return nil
}

// signatureOf returns a function as messages name it: f(integer,text).
func signatureOf(c *change, p *query.Proc) string {
	names := make([]string, len(p.ArgTypes))
	for i, t := range p.ArgTypes {
		names[i] = formatType(c, t, -1)
	}
	name := p.Name
	visible := false
	for _, schema := range c.SearchPath {
		if i := slices.IndexFunc(function.Named(c.view, c.Database, schema, p.Name), func(o *query.Proc) bool {
			return slices.Equal(o.ArgTypes, p.ArgTypes)
		}); i >= 0 {
			visible = schema == p.Namespace
			break
		}
	}
	if !visible && p.Namespace != "pg_catalog" {
		name = p.Namespace + "." + name
	}
	return name + "(" + strings.Join(names, ",") + ")"
}

// check analyzes the body as calls will.
func (d *functionDraft) check() error {
	if d.f.Language != function.SQL {
		return d.Languages[d.f.Language](d.analysis(), d.f)
	}
	if len(d.f.Body) > 0 {
		return nil
	}
	ctx := d.analysis()
	ctx.Catalog = d.view
	err := analyze.CheckBody(ctx, d.f)
	if err == nil {
		return nil
	}
	e := *pgerr.From(err)
	if at := strings.Index(d.source, d.f.Source); e.InnerQuery != "" && at >= 0 &&
		strings.Count(d.source, d.f.Source) == 1 { // the position in the statement
		e.Position, e.InnerQuery, e.InnerPosition = d.pos(int32(at))+e.InnerPosition-1, "", 0
		return &e
	}
	return pgerr.InContext(&e, `SQL function "`+d.f.Name+`"`)
}

// undefinedType returns the error for an argument or result whose type does not exist.
func undefinedType(err error, format string, t *pg_query.TypeName) error {
	if !pgerr.Is(err, pgerr.UndefinedObject) {
		return err
	}
	return pgerr.New(pgerr.UndefinedObject, format, strings.Join(texts(t.Names), "."))
}
