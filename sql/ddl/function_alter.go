package ddl

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// routineKinds are the kinds of pg_proc that a statement about a kind of object may name.
var routineKinds = map[pg_query.ObjectType]string{
	pg_query.ObjectType_OBJECT_FUNCTION: "fw", pg_query.ObjectType_OBJECT_PROCEDURE: "p",
	pg_query.ObjectType_OBJECT_ROUTINE: "fwpa",
}

// findRoutine finds the function that a statement names (LookupFuncWithArgs).
func findRoutine(c *change, kind pg_query.ObjectType, o *pg_query.ObjectWithArgs) (*query.Proc, error) {
	word := strings.ToLower(kindWord(kind))
	if kind == pg_query.ObjectType_OBJECT_ROUTINE {
		word = "procedure"
	}
	name := strings.Join(texts(o.Objname), ".")
	list, err := routinesNamed(c, o.Objname)
	if err != nil {
		return nil, err
	}
	var found []*query.Proc
	if o.ArgsUnspecified {
		for _, p := range list {
			if strings.IndexByte(routineKinds[kind], p.Kind) >= 0 {
				found = append(found, p)
			}
		}
		switch {
		case len(found) > 1:
			return nil, pgerr.New(pgerr.AmbiguousFunction, `%s name "%s" is not unique`, word, name).
				WithHint("Specify the argument list to select the %s unambiguously.", word)
		case len(found) == 0 && len(list) > 0:
			found = list[:1]
		case len(found) == 0:
			return nil, pgerr.New(pgerr.UndefinedFunction, `could not find a %s named "%s"`, word, name)
		}
	} else {
		args, err := routineArguments(c, o)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			whole := p.Kind == 'p' && p.AllArgTypes != nil && slices.Equal(p.AllArgTypes, args)
			if whole || slices.Equal(p.ArgTypes, args) {
				found = append(found, p)
			}
		}
		if len(found) == 0 {
			names := make([]string, len(args))
			for i, t := range args {
				names[i] = formatType(c, t, -1)
			}
			return nil, pgerr.New(pgerr.UndefinedFunction, "%s %s(%s) does not exist", word, name,
				strings.Join(names, ", "))
		}
	}
	p := found[0]
	if strings.IndexByte(routineKinds[kind], p.Kind) >= 0 {
		return p, nil
	}
	return nil, pgerr.New(pgerr.WrongObjectType, "%s is not a %s",
		strings.ReplaceAll(signatureOf(c, p), ",", ", "), word)
}

// routinesNamed returns the functions that a name refers to, in the order of the search path: those with
// the same arguments as earlier ones are hidden.
func routinesNamed(c *change, names []*pg_query.Node) ([]*query.Proc, error) {
	schema, name, err := splitStatisticsName(c, names)
	if err != nil {
		return nil, err
	}
	path := []string{schema}
	if schema == "" {
		path = c.SearchPath
		if !slices.Contains(path, "pg_catalog") {
			path = append([]string{"pg_catalog"}, path...)
		}
	} else if !catalog.IsBuiltinSchema(schema) && c.view.SchemaByName(c.Database, schema) == nil {
		return nil, pgerr.New(pgerr.InvalidSchemaName, `schema "%s" does not exist`, schema)
	}
	var out []*query.Proc
	add := func(p *query.Proc) {
		if !slices.ContainsFunc(out, func(o *query.Proc) bool { return slices.Equal(o.ArgTypes, p.ArgTypes) }) {
			out = append(out, p)
		}
	}
	for _, s := range path {
		for _, p := range pgcatalog.ProcsByName(name) {
			if p.Namespace == s {
				add(p)
			}
		}
		for _, p := range function.Named(c.view, c.Database, s, name) {
			add(p)
		}
	}
	return out, nil
}

// routineArguments returns the types in the argument list of a statement.
func routineArguments(c *change, o *pg_query.ObjectWithArgs) ([]types.OID, error) {
	out := []types.OID{}
	for _, a := range o.Objargs {
		t, _, _, err := analyze.RoutineType(c.analysis(), c.source, a.GetTypeName())
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// routineToAlter finds a function of a user, which the role must own.
func routineToAlter(c *change, kind pg_query.ObjectType, o *pg_query.ObjectWithArgs) (*catalog.Function, error) {
	p, err := findRoutine(c, kind, o)
	if err != nil {
		return nil, err
	}
	f := catalog.FunctionByOID(c.view, p.OID)
	if f == nil {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of %s %s", routineWord(p.Kind), p.Name).
			WithDetail("The function is part of the system.")
	}
	if !c.owns(f.Owner) {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of %s %s", routineWord(p.Kind), p.Name)
	}
	return f.Clone(), nil
}

// changeRoutine changes a function that a statement names.
func changeRoutine(
	r *runner, kind pg_query.ObjectType, o *pg_query.ObjectWithArgs, f func(*change, *catalog.Function) error,
) error {
	return r.update(func(c *change) error {
		g, err := routineToAlter(c, kind, o)
		if err != nil {
			return err
		}
		if err := f(c, g); err != nil {
			return err
		}
		return g.Put(c.ch)
	})
}

// alterFunction is ALTER FUNCTION with clauses of CREATE FUNCTION.
func alterFunction(r *runner, n *pg_query.AlterFunctionStmt) error {
	return changeRoutine(r, n.Objtype, n.Func, func(c *change, f *catalog.Function) error {
		d := &functionDraft{change: c, f: f}
		seen := map[string]bool{}
		rows := float32(-1)
		for _, node := range n.Actions {
			e := node.GetDefElem()
			if seen[e.Defname] && e.Defname != "set" {
				return pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(d.pos(e.Location))
			}
			seen[e.Defname] = true
			if err := d.common(e, &rows); err != nil {
				return err
			}
		}
		if rows < 0 {
			return nil
		}
		if !f.Set {
			return pgerr.New(pgerr.InvalidParameterValue, "ROWS is not applicable when function does not return a set")
		}
		f.Rows = rows
		return nil
	})
}

func renameRoutine(r *runner, n *pg_query.RenameStmt) error {
	return changeRoutine(r, n.RenameType, n.Object.GetObjectWithArgs(), func(c *change, f *catalog.Function) error {
		return placeRoutine(c, f, f.Schema, n.Newname)
	})
}

func moveRoutine(r *runner, n *pg_query.AlterObjectSchemaStmt) error {
	return changeRoutine(r, n.ObjectType, n.Object.GetObjectWithArgs(), func(c *change, f *catalog.Function) error {
		s, err := c.schemaToFill(n.Newschema, f.Name)
		if err != nil || s.OID == f.Schema {
			return err
		}
		if err := mayMove(c, f.Schema, s); err != nil {
			return err
		}
		return placeRoutine(c, f, s.OID, f.Name)
	})
}

// placeRoutine changes the schema or the name of a function.
func placeRoutine(c *change, f *catalog.Function, schema catalog.OID, name string) error {
	for _, g := range catalog.FunctionsNamed(c.view, schema, name) {
		if g.SameArguments(f) {
			shown := *function.Proc(c.view, f)
			shown.Name = name
			names := make([]string, len(shown.ArgTypes))
			for i, t := range shown.ArgTypes {
				names[i] = formatType(c, t, -1)
			}
			return pgerr.New(pgerr.DuplicateFunction, `function %s(%s) already exists in schema "%s"`, name,
				strings.Join(names, ", "), c.view.Schema(schema).Name)
		}
	}
	f.Schema, f.Name = schema, name
	return nil
}

func routineOwner(r *runner, n *pg_query.AlterOwnerStmt) error {
	return changeRoutine(r, n.ObjectType, n.Object.GetObjectWithArgs(), func(c *change, f *catalog.Function) error {
		role, err := newOwnerIn(c, n.Newowner, f.Owner, f.Schema)
		if err != nil {
			return err
		}
		f.ACL, f.Owner = f.ACL.WithOwner(f.Owner, role.OID), role.OID
		return nil
	})
}

func commentOnRoutine(r *runner, n *pg_query.CommentStmt) error {
	return changeRoutine(r, n.Objtype, n.Object.GetObjectWithArgs(), func(_ *change, f *catalog.Function) error {
		f.Comment = n.Comment
		return nil
	})
}

// dropRoutines is DROP FUNCTION, PROCEDURE and ROUTINE.
func dropRoutines(r *runner, n *pg_query.DropStmt) error {
	find := func(c *change) []catalog.OID {
		var list []*catalog.Function
		for _, o := range n.Objects {
			if p, err := findRoutine(c, n.RemoveType, o.GetObjectWithArgs()); err == nil {
				if f := catalog.FunctionByOID(c.view, p.OID); f != nil {
					list = append(list, f)
				}
			}
		}
		return c.withReferring(usersOfFunctions(c, list), n.Behavior)
	}
	return r.updateExclusive(find, func(c *change) error {
		var list []*catalog.Function
		for _, o := range n.Objects {
			f, err := routineToDrop(c, n, o)
			if err != nil {
				return err
			}
			if f != nil && !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
		if len(list) == 0 {
			return nil
		}
		all, uses, lines, gone, err := functionDependents(c, list, nil)
		if err != nil {
			return err
		}
		what := functionWords(c, list[0])
		if err := c.cascade(what, len(list) > 1, lines, gone, n.Behavior); err != nil {
			return err
		}
		if err := dropUses(c, uses); err != nil {
			return err
		}
		for _, f := range all {
			f.Drop(c.ch)
		}
		return nil
	})
}

// routineToDrop finds a function to drop; it returns nil if IF EXISTS allows that there is none.
func routineToDrop(c *change, n *pg_query.DropStmt, o *pg_query.Node) (*catalog.Function, error) {
	p, err := findRoutine(c, n.RemoveType, o.GetObjectWithArgs())
	if n.MissingOk && (pgerr.Is(err, pgerr.UndefinedFunction) || pgerr.Is(err, pgerr.InvalidSchemaName) ||
		pgerr.Is(err, pgerr.UndefinedObject)) {
		if e := *pgerr.From(err); e.Code == pgerr.UndefinedObject { // a type
			c.noticeSkipped(&e)
			return nil, nil
		}
		c.notice(pgerr.SuccessfulCompletion, `%s does not exist, skipping`, c.missingText(n.RemoveType, o))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := catalog.FunctionByOID(c.view, p.OID)
	if f == nil {
		return nil, pgerr.New(pgerr.DependentObjectsStillExist,
			"cannot drop function %s because it is required by the database system", signatureOf(c, p))
	}
	s := c.view.Schema(f.Schema)
	if !c.owns(f.Owner) && !(s != nil && c.owns(s.Owner)) {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of %s %s", routineWord(p.Kind), p.Name)
	}
	return f, nil
}

// functionWords names a function in messages: function f(integer).
func functionWords(c *change, f *catalog.Function) string {
	return routineWord(f.Kind) + " " + signatureOf(c, function.Proc(c.view, f))
}

// usersOfFunctions returns the tables that use functions, directly or through others, to lock them.
func usersOfFunctions(c *change, list []*catalog.Function) (out []catalog.OID) {
	list = slices.Clone(list)
	for i := 0; i < len(list); i++ {
		users := list[i].UsersOf(c.view)
		for _, t := range users.Tables {
			if !slices.Contains(out, t.OID) {
				out = append(out, t.OID)
			}
		}
		for _, t := range usersOfTypes(c, users.Domains) {
			if !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
		for _, f := range users.Functions {
			if !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	return out
}

// functionDependents returns functions with those that depend on them, what else depends on them, and
// the messages about it, except what is in dropped tables.
func functionDependents(c *change, list []*catalog.Function, dropped []*catalog.Table) (
	all []*catalog.Function, uses []typeUse, lines, gone []string, err error,
) {
	all = slices.Clone(list)
	for i := 0; i < len(all); i++ {
		f := all[i]
		o := dependee{words: functionWords(c, f), inText: f.UsedInText, users: f.UsersOf(c.view).Tables,
			oid: f.OID}
		more, err := usesOfObject(c, o, dropped)
		if err != nil {
			return nil, nil, nil, nil, err
		}
		more = slices.DeleteFunc(more, func(u typeUse) bool {
			return slices.ContainsFunc(uses, func(v typeUse) bool { return v.what == u.what })
		})
		uses = append(uses, more...)
		on, what := describeUses(more)
		lines, gone = append(lines, on...), append(gone, what...)
		users := f.UsersOf(c.view)
		if len(users.Domains) > 0 {
			return nil, nil, nil, nil, pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot drop %s because other objects depend on it", o.words).
				WithDetail("type %s depends on %s", users.Domains[0].Name, o.words).
				WithHint("Drop the default or the constraint of the domain first.")
		}
		for _, g := range users.Functions {
			if !slices.Contains(all, g) {
				all = append(all, g)
				words := functionWords(c, g)
				lines, gone = append(lines, words+" depends on "+o.words), append(gone, words)
			}
		}
	}
	return all, uses, lines, gone, nil
}

// dropFunctionsOf drops the functions of a schema if cascade is set, as dropTypesOf does with types.
func dropFunctionsOf(c *change, s *catalog.Schema, dropped []*catalog.Table, cascade bool) (
	gone, detail []string, err error,
) {
	list := slices.Collect(catalog.FunctionsIn(c.view, s.OID))
	if len(list) == 0 {
		return nil, nil, nil
	}
	for _, f := range list {
		words := functionWords(c, f)
		gone, detail = append(gone, words), append(detail, words+" depends on schema "+s.Name)
	}
	all, uses, lines, names, err := functionDependents(c, list, dropped)
	if err != nil {
		return nil, nil, err
	}
	gone, detail = append(gone, names...), append(detail, lines...)
	if !cascade {
		return gone, detail, nil
	}
	if err := dropUses(c, uses); err != nil {
		return nil, nil, err
	}
	for _, f := range all {
		f.Drop(c.ch)
	}
	return gone, detail, nil
}

// usesRelation returns the functions that use any of relations: their row types, or in a body.
func usesRelation(c *change, relations ...catalog.OID) []*catalog.Function {
	var out []*catalog.Function
	for f := range catalog.FunctionsOf(c.view, c.Database) {
		used := f.UsedRelations()
		if slices.ContainsFunc(relations, func(oid catalog.OID) bool { return slices.Contains(used, oid) }) {
			out = append(out, f)
		}
	}
	return out
}

// releaseRelations drops the functions that use relations, if CASCADE allows it.
func releaseRelations(c *change, list []*catalog.Table, behavior pg_query.DropBehavior) error {
	var functions []*catalog.Function
	var lines, gone []string
	for _, t := range list {
		for _, f := range usesRelation(c, t.OID) {
			if slices.Contains(functions, f) {
				continue
			}
			on := found{table: t}.kind() + " " + c.visibleName(t)
			if f.UseOf(t.OID) == nil {
				on = "type " + c.visibleName(t)
			}
			words := functionWords(c, f)
			functions = append(functions, f)
			lines, gone = append(lines, words+" depends on "+on), append(gone, words)
		}
	}
	if len(functions) == 0 {
		return nil
	}
	what := found{table: list[0]}.kind() + " " + c.visibleName(list[0])
	return releaseFunctions(c, functions, released{what, len(list) > 1, lines, gone, list}, behavior)
}

// released is what is dropped with functions: its name, if there are several, and the messages about
// the functions.
type released struct {
	what        string
	many        bool
	lines, gone []string
	dropped     []*catalog.Table
}

// releaseFunctions drops functions, with what depends on them, if CASCADE allows it.
func releaseFunctions(c *change, list []*catalog.Function, r released, behavior pg_query.DropBehavior) error {
	all, uses, lines, gone, err := functionDependents(c, list, r.dropped)
	if err != nil {
		return err
	}
	if len(uses) > 0 && r.dropped == nil && behavior == pg_query.DropBehavior_DROP_CASCADE {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", r.what).
			WithDetail("%s", reported(append(r.lines, lines...))).
			WithHint("Drop the functions first: DROP FUNCTION ... CASCADE.")
	}
	if err := c.cascade(r.what, r.many, append(r.lines, lines...), append(r.gone, gone...), behavior); err != nil {
		return err
	}
	if err := dropUses(c, uses); err != nil {
		return err
	}
	for _, f := range all {
		f.Drop(c.ch)
	}
	return nil
}

// releaseTypes drops the functions that use types, if CASCADE allows it.
func releaseTypes(c *change, list []*catalog.Type, behavior pg_query.DropBehavior) error {
	var functions []*catalog.Function
	var lines, gone []string
	for _, t := range list {
		for _, f := range usesType(c, t) {
			if !slices.Contains(functions, f) {
				words := functionWords(c, f)
				functions = append(functions, f)
				lines = append(lines, words+" depends on type "+formatType(c, t.TypeOID(), -1))
				gone = append(gone, words)
			}
		}
	}
	if len(functions) == 0 {
		return nil
	}
	what := "type " + formatType(c, list[0].TypeOID(), -1)
	return releaseFunctions(c, functions, released{what: what, many: len(list) > 1, lines: lines, gone: gone}, behavior)
}

func usesType(c *change, list ...*catalog.Type) []*catalog.Function {
	var out []*catalog.Function
	for f := range catalog.FunctionsOf(c.view, c.Database) {
		used := f.UsedTypes()
		if slices.ContainsFunc(list, func(t *catalog.Type) bool { return slices.Contains(used, t.OID) }) {
			out = append(out, f)
		}
	}
	return out
}

// checkFunctionsOf refuses to drop a column that the body of a function uses.
func checkFunctionsOf(d *draft, col *catalog.Column) error {
	for _, f := range usesRelation(d.change, d.t.OID) {
		if u := f.UseOf(d.t.OID); u != nil && slices.Contains(u.Columns, col.AttNum) {
			column := "column " + col.Name + " of table " + d.visibleName(d.was)
			return pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot drop %s because other objects depend on it", column).
				WithDetail("%s depends on %s", functionWords(d.change, f), column).
				WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		}
	}
	return nil
}

// withFunctions returns the relations of names, and the tables that use functions which use them, to lock
// them.
func withFunctions(c *change, names []*pg_query.RangeVar) []catalog.OID {
	out := c.find(names...)
	for _, oid := range usersOfFunctions(c, usesRelation(c, out...)) {
		if !slices.Contains(out, oid) {
			out = append(out, oid)
		}
	}
	return out
}
