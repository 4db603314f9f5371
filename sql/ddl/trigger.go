package ddl

import (
	"errors"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// createTrigger is CREATE TRIGGER (CreateTriggerFiringOn).
func createTrigger(r *runner, n *pg_query.CreateTrigStmt) error {
	return r.updateExclusive(func(c *change) []catalog.OID { return c.find(n.Relation) }, func(c *change) error {
		f, err := c.lookup(n.Relation)
		if err == nil && f == (found{}) {
			err = undefinedRelation(n.Relation)
		}
		if err != nil {
			return err
		}
		d := &triggerDraft{n: n, x: &catalog.Trigger{Name: n.Trigname, Enabled: 'O'}}
		if err := d.relation(c, f); err != nil {
			return err
		}
		if err := c.requireLocked(f.table); err != nil {
			return err
		}
		d.draft = newDraft(c, f.table)
		if err := d.constraint(); err != nil {
			return err
		}
		if err := d.define(); err != nil {
			return err
		}
		return errors.Join(d.put(), d.ch.PutTable(d.t))
	})
}

// triggerDraft is a trigger that is being defined.
type triggerDraft struct {
	*draft
	n *pg_query.CreateTrigStmt
	x *catalog.Trigger
}

func invalidTrigger(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidObjectDefinition, format, args...)
}

// relation checks that a relation may have the trigger.
func (d *triggerDraft) relation(c *change, f found) error {
	n := d.n
	timing := catalog.TriggerEvents(n.Timing)
	wrong := func(is, detail string) error {
		return pgerr.New(pgerr.WrongObjectType, `"%s" is a %s`, n.Relation.Relname, is).WithDetail("%s", detail)
	}
	switch kind := f.kind(); {
	case f.system != nil:
		return pgerr.New(pgerr.InsufficientPrivilege, `permission denied: "%s" is a system catalog`, f.system.Name)
	case kind == "table" && timing == catalog.TriggerInstead:
		return wrong("table", "Tables cannot have INSTEAD OF triggers.")
	case kind == "view" && timing != catalog.TriggerInstead && n.Row:
		return wrong("view", "Views cannot have row-level BEFORE or AFTER triggers.")
	case kind == "view" && catalog.TriggerEvents(n.Events)&catalog.TriggerTruncate != 0:
		return wrong("view", "Views cannot have TRUNCATE triggers.")
	case kind != "table" && kind != "view":
		return pgerr.New(pgerr.WrongObjectType, `relation "%s" cannot have triggers`, n.Relation.Relname).
			WithDetail("This operation is not supported for %s.", kindPlural(kind))
	case subject(c).Relation(f.table, acl.Trigger, true) == 0:
		return privilege.Denied(f.table)
	case f.table.Hot != nil:
		return pgerr.Unsupported("triggers on a table with split documents are not supported").
			WithHint("Join the documents with sherd.hot_join before you create the trigger.")
	}
	return nil
}

// constraint reads the clauses of a constraint trigger.
func (d *triggerDraft) constraint() error {
	n, x := d.n, d.x
	if !n.Isconstraint {
		return nil
	}
	if n.Replace {
		return pgerr.Unsupported("CREATE OR REPLACE CONSTRAINT TRIGGER is not supported")
	}
	x.Deferrable, x.InitiallyDeferred = n.Deferrable, n.Initdeferred
	if n.Constrrel == nil {
		return nil
	}
	f, err := d.lookup(n.Constrrel)
	switch {
	case err != nil:
		return err
	case f == (found{}):
		return undefinedRelation(n.Constrrel)
	case f.table == nil:
		return pgerr.New(pgerr.InsufficientPrivilege, `permission denied: "%s" is a system catalog`, f.system.Name)
	}
	x.Referenced = f.table.OID
	return nil
}

// define checks the clauses in PostgreSQL's order, and sets the trigger's fields.
func (d *triggerDraft) define() error {
	n, x := d.n, d.x
	x.Events = catalog.TriggerEvents(n.Timing) | catalog.TriggerEvents(n.Events)
	if n.Row {
		x.Events |= catalog.TriggerRow
	}
	if x.Is(catalog.TriggerRow | catalog.TriggerTruncate) {
		return pgerr.Unsupported("TRUNCATE FOR EACH ROW triggers are not supported")
	}
	if x.Timing() == catalog.TriggerInstead {
		switch {
		case !n.Row:
			return pgerr.Unsupported("INSTEAD OF triggers must be FOR EACH ROW")
		case n.WhenClause != nil:
			return pgerr.Unsupported("INSTEAD OF triggers cannot have WHEN conditions")
		case len(n.Columns) > 0:
			return pgerr.Unsupported("INSTEAD OF triggers cannot have column lists")
		}
	}
	for _, t := range n.TransitionRels {
		if err := d.transition(t.GetTriggerTransition()); err != nil {
			return err
		}
	}
	if x.OldTable != "" && x.OldTable == x.NewTable {
		return invalidTrigger("OLD TABLE name and NEW TABLE name cannot be the same")
	}
	if n.WhenClause != nil {
		if err := d.when(); err != nil {
			return err
		}
	}
	if err := d.function(); err != nil {
		return err
	}
	if err := d.replaces(); err != nil {
		return err
	}
	for _, a := range n.Args {
		x.Arguments = append(x.Arguments, a.GetString_().GetSval())
	}
	return d.updateOf()
}

// transition reads an element of REFERENCING.
func (d *triggerDraft) transition(t *pg_query.TriggerTransition) error {
	x := d.x
	events := 0
	for _, e := range []catalog.TriggerEvents{catalog.TriggerInsert, catalog.TriggerUpdate, catalog.TriggerDelete} {
		if x.Is(e) {
			events++
		}
	}
	switch {
	case !t.IsTable:
		return pgerr.Unsupported("ROW variable naming in the REFERENCING clause is not supported").
			WithHint("Use OLD TABLE or NEW TABLE for naming transition tables.")
	case d.t.IsView():
		return pgerr.New(pgerr.WrongObjectType, `"%s" is a view`, d.t.Name).
			WithDetail("Triggers on views cannot have transition tables.")
	case x.Timing() != 0:
		return invalidTrigger("transition table name can only be specified for an AFTER trigger")
	case x.Is(catalog.TriggerTruncate):
		return pgerr.Unsupported("TRUNCATE triggers with transition tables are not supported")
	case events != 1:
		return pgerr.Unsupported("transition tables cannot be specified for triggers with more than one event")
	case len(d.n.Columns) > 0:
		return pgerr.Unsupported("transition tables cannot be specified for triggers with column lists")
	case t.IsNew && x.Is(catalog.TriggerDelete):
		return invalidTrigger("NEW TABLE can only be specified for an INSERT or UPDATE trigger")
	case t.IsNew && x.NewTable != "":
		return invalidTrigger("NEW TABLE cannot be specified multiple times")
	case t.IsNew:
		x.NewTable = t.Name
	case x.Is(catalog.TriggerInsert):
		return invalidTrigger("OLD TABLE can only be specified for a DELETE or UPDATE trigger")
	case x.OldTable != "":
		return invalidTrigger("OLD TABLE cannot be specified multiple times")
	default:
		x.OldTable = t.Name
	}
	return nil
}

// when reads WHEN.
func (d *triggerDraft) when() error {
	ctx := d.analysis()
	ctx.Source = d.source
	e, err := analyze.TriggerCondition(ctx, analyze.Source{Text: d.source, Node: d.n.WhenClause}, d.columns())
	if err != nil {
		return err
	}
	for _, v := range variables(e) {
		if err := d.refers(v); err != nil {
			return pgerr.From(err).At(d.pos(rowLocation(d.n.WhenClause, rowName(v), v.Name)))
		}
	}
	d.x.When = storedCondition(e)
	return nil
}

// refers returns an error if WHEN may not refer to a variable.
func (d *triggerDraft) refers(v *query.Var) error {
	x := d.x
	generated := slices.ContainsFunc(d.t.Columns, func(c catalog.Column) bool {
		return c.Stored() && c.Generated != ""
	})
	before := x.Timing() == catalog.TriggerBefore
	switch {
	case !x.Is(catalog.TriggerRow):
		return invalidTrigger("statement trigger's WHEN condition cannot reference column values")
	case v.Rel == analyze.OldRow && x.Is(catalog.TriggerInsert):
		return invalidTrigger("INSERT trigger's WHEN condition cannot reference OLD values")
	case v.Rel == analyze.OldRow:
	case x.Is(catalog.TriggerDelete):
		return invalidTrigger("DELETE trigger's WHEN condition cannot reference NEW values")
	case before && v.Col == query.ColWholeRow && generated:
		return invalidTrigger("BEFORE trigger's WHEN condition cannot reference NEW generated columns").
			WithDetail("A whole-row reference is used and the table contains generated columns.")
	case before && v.Col >= 0 && d.t.Columns[v.Col].Generated != "":
		return invalidTrigger("BEFORE trigger's WHEN condition cannot reference NEW generated columns").
			WithDetail(`Column "%s" is a generated column.`, v.Name)
	}
	return nil
}

// rowName returns the name of the row of a variable.
func rowName(v *query.Var) string {
	return [...]string{analyze.OldRow: "old", analyze.NewRow: "new"}[v.Rel]
}

// rowLocation returns the location at which an expression first names a column of a row, or the row
// itself; -1 if it does not.
func rowLocation(n *pg_query.Node, row, name string) int32 {
	found := int32(-1)
	walkNodes(n.ProtoReflect(), func(m protoreflect.Message) {
		if ref, ok := m.Interface().(*pg_query.ColumnRef); ok && found < 0 {
			parts := texts(ref.Fields)
			if parts[0] == row && (row == name || parts[len(parts)-1] == name) {
				found = ref.Location
			}
		}
	})
	return found
}

// storedCondition returns a condition in the form that the catalog keeps.
func storedCondition(e query.Expr) string { return deparse.Rows(e, nil, false, "old", "new") }

// function finds the trigger's function.
func (d *triggerDraft) function() error {
	list, err := routinesNamed(d.change, d.n.Funcname)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(p *query.Proc) bool { return len(p.ArgTypes) == 0 && p.Kind != 'p' })
	name := strings.Join(texts(d.n.Funcname), ".")
	switch {
	case i < 0:
		return pgerr.New(pgerr.UndefinedFunction, "function %s() does not exist", name)
	case list[i].RetType != types.TriggerType:
		return invalidTrigger("function %s must return type %s", name, "trigger")
	case catalog.FunctionByOID(d.view, list[i].OID) == nil:
		return pgerr.Unsupported("trigger function %s() is not supported", name).
			WithHint("Write the function in PL/pgSQL.")
	}
	d.x.Function = list[i].OID
	return subject(d.change).MayCall(catalog.FunctionByOID(d.view, d.x.Function))
}

// replaces checks that the name is free, or that of a trigger which may be replaced: the new one has its OID.
func (d *triggerDraft) replaces() error {
	old := d.t.Trigger(d.x.Name)
	switch {
	case old == nil:
		return nil
	case !d.n.Replace:
		return triggerExists(d.x.Name, d.t)
	case (old.Constraint != 0) != d.n.Isconstraint:
		return pgerr.New(pgerr.DuplicateObject, `trigger "%s" for relation "%s" is a constraint trigger`, old.Name,
			d.t.Name)
	}
	d.x.OID, d.x.Comment = old.OID, old.Comment
	return nil
}

func triggerExists(name string, t *catalog.Table) error {
	return pgerr.New(pgerr.DuplicateObject, `trigger "%s" for relation "%s" already exists`, name, t.Name)
}

// updateOf reads the columns of UPDATE OF.
func (d *triggerDraft) updateOf() error {
	for _, name := range texts(d.n.Columns) {
		col := d.t.Column(name)
		if col == nil {
			return undefinedColumn(d.t, name)
		}
		if slices.Contains(d.x.Columns, col.AttNum) {
			return pgerr.New(pgerr.DuplicateColumn, `column "%s" specified more than once`, name)
		}
		d.x.Columns = append(d.x.Columns, col.AttNum)
	}
	return nil
}

// put adds the trigger to its table, with a new OID if it replaces none.
func (d *triggerDraft) put() (err error) {
	if d.x.OID != 0 {
		*d.t.Trigger(d.x.Name) = *d.x
		return nil
	}
	if d.x.OID, err = d.newOID(); err == nil && d.n.Isconstraint {
		d.x.Constraint, err = d.newOID()
	}
	d.t.Triggers = append(d.t.Triggers, *d.x)
	return err
}

// enableTriggers is ENABLE and DISABLE TRIGGER (EnableDisableTrigger).
func enableTriggers(d *draft, k *pg_query.AlterTableCmd) error {
	state, all, user := byte('O'), false, false
	switch k.Subtype {
	case pg_query.AlterTableType_AT_EnableAlwaysTrig:
		state = 'A'
	case pg_query.AlterTableType_AT_EnableReplicaTrig:
		state = 'R'
	case pg_query.AlterTableType_AT_DisableTrig:
		state = 'D'
	case pg_query.AlterTableType_AT_EnableTrigAll:
		all = true
	case pg_query.AlterTableType_AT_DisableTrigAll:
		state, all = 'D', true
	case pg_query.AlterTableType_AT_EnableTrigUser:
		user = true
	case pg_query.AlterTableType_AT_DisableTrigUser:
		state, user = 'D', true
	}
	if all || user {
		for i := range d.t.Triggers {
			d.t.Triggers[i].Enabled = state
		}
		if user || len(d.view.Referrers(d.t.OID)) == 0 && !hasForeignKey(d.t) {
			return nil
		}
		if !d.me.Superuser {
			return pgerr.New(pgerr.InsufficientPrivilege,
				"permission denied: the triggers of foreign keys are system triggers")
		}
		d.t.KeyTriggers = state
		return nil
	}
	x := d.t.Trigger(k.Name)
	if x == nil {
		return noTrigger(k.Name, d.t)
	}
	x.Enabled = state
	return nil
}

func hasForeignKey(t *catalog.Table) bool {
	return slices.ContainsFunc(t.Constraints, func(k catalog.Constraint) bool { return k.Reference != nil })
}

// triggerWords names a trigger in messages.
func triggerWords(c *change, t *catalog.Table, x *catalog.Trigger) string {
	return "trigger " + x.Name + " on " + found{table: t}.kind() + " " + c.visibleName(t)
}

func noTrigger(name string, t *catalog.Table) *pgerr.Error {
	return pgerr.New(pgerr.UndefinedObject, `trigger "%s" for table "%s" does not exist`, name, t.Name)
}

// changeTrigger changes the triggers of a relation, which the role must own.
func changeTrigger(r *runner, rv *pg_query.RangeVar, f func(c *change, t *catalog.Table) error) error {
	return r.updateExclusive(func(c *change) []catalog.OID { return c.find(rv) }, func(c *change) error {
		found, err := c.relationToRename(rv)
		if err != nil {
			return err
		}
		if k := found.kind(); k != "table" && k != "view" {
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not a table, view, or foreign table`, rv.Relname)
		}
		t := found.table.Clone()
		if err := f(c, t); err != nil {
			return err
		}
		return c.ch.PutTable(t)
	})
}

// dropTrigger is DROP TRIGGER. Nothing depends on triggers, so CASCADE has no effect.
func dropTrigger(r *runner, n *pg_query.DropStmt) error {
	names := n.Objects[0].GetList().GetItems()
	name, rv := texts(names)[len(names)-1], rangeVarOf(names[:len(names)-1])
	missing, err := missingPart(r, n, func(c *change) bool {
		f, err := c.lookup(rv)
		return err == nil && f.table != nil && f.table.Trigger(name) != nil
	})
	if missing || err != nil {
		return err
	}
	return changeTrigger(r, rv, func(_ *change, t *catalog.Table) error {
		x := t.Trigger(name)
		if x == nil {
			return noTrigger(name, t)
		}
		cutParts(t, []catalog.OID{x.OID})
		return nil
	})
}

// missingPart reports whether DROP … IF EXISTS of a part of a table has nothing to do.
func missingPart(r *runner, n *pg_query.DropStmt, exists func(*change) bool) (missing bool, err error) {
	if !n.MissingOk {
		return false, nil
	}
	err = r.update(func(c *change) error {
		if exists(c) {
			return nil
		}
		missing = true
		c.notice(pgerr.SuccessfulCompletion, `%s does not exist, skipping`, c.missingText(n.RemoveType, n.Objects[0]))
		return nil
	})
	return missing, err
}

func renameTrigger(r *runner, n *pg_query.RenameStmt) error {
	return changeTrigger(r, n.Relation, func(_ *change, t *catalog.Table) error {
		x := t.Trigger(n.Subname)
		switch {
		case x == nil:
			return noTrigger(n.Subname, t)
		case t.Trigger(n.Newname) != nil:
			return triggerExists(n.Newname, t)
		}
		x.Name = n.Newname
		return nil
	})
}

func commentOnTrigger(r *runner, n *pg_query.CommentStmt) error {
	names := n.Object.GetList().GetItems()
	return changeTrigger(r, rangeVarOf(names[:len(names)-1]), func(_ *change, t *catalog.Table) error {
		name := texts(names)[len(names)-1]
		x := t.Trigger(name)
		if x == nil {
			return noTrigger(name, t)
		}
		x.Comment = n.Comment
		return nil
	})
}

// condition analyzes the WHEN of a trigger; nil: it has none.
func (x triggerOf) condition() (query.Expr, error) {
	if x.When == "" {
		return nil, nil
	}
	src, err := analyze.ParseExpression(x.When)
	if err != nil {
		return nil, err
	}
	return analyze.TriggerCondition(x.draft.analysis(), src, x.draft.columns())
}

// triggerOf is a trigger of a draft.
type triggerOf struct {
	*catalog.Trigger
	draft *draft
}

// uses reports whether a trigger uses a column: in UPDATE OF, or in WHEN.
func (x triggerOf) uses(att int16) (bool, error) {
	if slices.Contains(x.Columns, att) {
		return true, nil
	}
	e, err := x.condition()
	if err != nil || e == nil {
		return false, err
	}
	return slices.ContainsFunc(variables(e), func(v *query.Var) bool {
		return v.Col >= 0 && x.draft.t.Columns[v.Col].AttNum == att
	}), nil
}

// triggersOn returns the triggers that use a column.
func triggersOn(d *draft, att int16) (out []*catalog.Trigger, err error) {
	for i := range d.t.Triggers {
		x := d.t.Triggers[i]
		uses, err := triggerOf{&x, d}.uses(att)
		if err != nil {
			return nil, err
		}
		if uses {
			out = append(out, &x)
		}
	}
	return out, nil
}

// renameInTriggers writes the conditions of triggers with a new name for the variables that satisfy which.
func renameInTriggers(d *draft, which func(*query.Var) bool, to string) error {
	for i := range d.t.Triggers {
		e, err := triggerOf{&d.t.Triggers[i], d}.condition()
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		d.t.Triggers[i].When = storedCondition(query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
			if v, ok := x.(*query.Var); ok && v.Col >= 0 && which(v) {
				w := *v
				w.Name = to
				return &w, true
			}
			return x, false
		}))
	}
	return nil
}

// keepsTriggers refuses to change the type of a column that a trigger uses.
func keepsTriggers(d *draft, col *catalog.Column) error {
	list, err := triggersOn(d, col.AttNum)
	if err != nil || len(list) == 0 {
		return err
	}
	return pgerr.Unsupported("cannot alter type of a column used in a trigger definition").
		WithDetail(`%s depends on column "%s"`, triggerWords(d.change, d.was, list[0]), col.Name)
}

// triggerUses returns the triggers of a table that a type or a function is in, or is the function of.
func triggerUses(c *change, o dependee, t *catalog.Table) (out []typeUse) {
	for i := range t.Triggers {
		x := &t.Triggers[i]
		if o.number == 0 && x.Function == o.oid || o.inText(x.When) {
			out = append(out, typeUse{table: t, what: triggerWords(c, t, x), of: o.words, part: x.OID})
		}
	}
	return out
}
