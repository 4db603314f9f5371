package sysview

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

// trigger returns the trigger with an OID and its table; nil if there is none.
func trigger(n *Names, oid uint32) (*catalog.Table, *catalog.Trigger) {
	t := n.View.TableOfPart(oid)
	if t == nil || t.Database != n.Database.OID {
		return nil, nil
	}
	i := slices.IndexFunc(t.Triggers, func(x catalog.Trigger) bool { return x.OID == oid })
	if i < 0 {
		return nil, nil
	}
	return t, &t.Triggers[i]
}

// triggerEvent is an event of triggers, in the order of pg_get_triggerdef.
type triggerEvent struct {
	bit  catalog.TriggerEvents
	word string
}

var triggerEvents = []triggerEvent{
	{catalog.TriggerInsert, "INSERT"}, {catalog.TriggerDelete, "DELETE"}, {catalog.TriggerUpdate, "UPDATE"},
	{catalog.TriggerTruncate, "TRUNCATE"},
}

var timingWords = map[catalog.TriggerEvents]string{
	0: "AFTER", catalog.TriggerBefore: "BEFORE", catalog.TriggerInstead: "INSTEAD OF",
}

// TriggerDef returns a trigger as pg_get_triggerdef does.
func (n *Names) TriggerDef(oid uint32, pretty bool) (string, bool) {
	t, x := trigger(n, oid)
	if t == nil {
		return "", false
	}
	var b strings.Builder
	b.WriteString("CREATE ")
	if x.Constraint != 0 {
		b.WriteString("CONSTRAINT ")
	}
	b.WriteString("TRIGGER " + builtin.QuoteIdent(x.Name) + " " + timingWords[x.Timing()])
	word := " "
	for _, e := range triggerEvents {
		if !x.Is(e.bit) {
			continue
		}
		b.WriteString(word + e.word)
		word = " OR "
		if e.bit == catalog.TriggerUpdate && len(x.Columns) > 0 {
			b.WriteString(" OF " + columnList(t, x.Columns))
		}
	}
	b.WriteString(" ON " + relationText(n, t, pretty) + " ")
	if x.Constraint != 0 {
		b.WriteString(constraintTiming(n, x))
	}
	if x.OldTable != "" || x.NewTable != "" {
		b.WriteString("REFERENCING ")
		if x.OldTable != "" {
			b.WriteString("OLD TABLE AS " + builtin.QuoteIdent(x.OldTable) + " ")
		}
		if x.NewTable != "" {
			b.WriteString("NEW TABLE AS " + builtin.QuoteIdent(x.NewTable) + " ")
		}
	}
	b.WriteString("FOR EACH " + orientation(x) + " ")
	if x.When != "" {
		b.WriteString("WHEN (" + n.Expression(x.OID, x.When, pretty) + ") ")
	}
	b.WriteString(triggerAction(n, x))
	return b.String(), true
}

// relationText returns the name of a table, with its schema; pretty leaves that out if the name alone
// finds the table.
func relationText(n *Names, t *catalog.Table, pretty bool) string {
	schema, _ := n.SchemaName(t.Schema)
	return n.qualify(schema, t.Name, pretty && n.first([]string{t.Name}, n.relationIn) == t.OID)
}

// constraintTiming returns the clauses of a constraint trigger.
func constraintTiming(n *Names, x *catalog.Trigger) string {
	out := ""
	if t := n.View.Table(x.Referenced); t != nil {
		out = "FROM " + relationText(n, t, true) + " "
	}
	switch {
	case !x.Deferrable:
		return out + "NOT DEFERRABLE INITIALLY IMMEDIATE "
	case x.InitiallyDeferred:
		return out + "DEFERRABLE INITIALLY DEFERRED "
	}
	return out + "DEFERRABLE INITIALLY IMMEDIATE "
}

func orientation(x *catalog.Trigger) string {
	if x.Is(catalog.TriggerRow) {
		return "ROW"
	}
	return "STATEMENT"
}

// triggerAction returns what a trigger executes.
func triggerAction(n *Names, x *catalog.Trigger) string {
	args := make([]string, len(x.Arguments))
	for i, a := range x.Arguments {
		args[i] = builtin.QuoteLiteral(a)
	}
	name := ""
	if f := catalog.FunctionByOID(n.View, x.Function); f != nil {
		schema, _ := n.SchemaName(f.Schema)
		visible := slices.Contains(n.Path, schema)
		for _, s := range n.Path {
			in := n.View.SchemaByName(n.Database.OID, s)
			if s == schema {
				break
			}
			if in != nil && slices.ContainsFunc(catalog.FunctionsNamed(n.View, in.OID, f.Name), f.SameArguments) {
				visible = false
			}
		}
		name = n.qualify(schema, f.Name, visible)
	}
	return "EXECUTE FUNCTION " + name + "(" + strings.Join(args, ", ") + ")"
}

// pgTrigger is pg_trigger.
func pgTrigger(b *builder) error {
	return b.relations(func(t *catalog.Table) error {
		for i := range t.Triggers {
			x := &t.Triggers[i]
			args := ""
			for _, a := range x.Arguments {
				args += a + "\x00"
			}
			r := b.row().oid("oid", x.OID).oid("tgrelid", t.OID).oid("tgparentid", 0).text("tgname", x.Name).
				oid("tgfoid", x.Function).int("tgtype", int64(x.Events)).char("tgenabled", x.Enabled).
				bool("tgisinternal", false).oid("tgconstrrelid", x.Referenced).oid("tgconstrindid", 0).
				oid("tgconstraint", x.Constraint).bool("tgdeferrable", x.Deferrable).
				bool("tginitdeferred", x.InitiallyDeferred).int("tgnargs", int64(len(x.Arguments))).
				numbers("tgattr", x.Columns).set("tgargs", types.NewBytes(args)).
				optional("tgqual", x.When).optional("tgoldtable", x.OldTable).optional("tgnewtable", x.NewTable)
			if err := r.send(); err != nil {
				return err
			}
		}
		return nil
	})
}

// triggerConstraints sends the rows of pg_constraint of a table's constraint triggers.
func triggerConstraints(b *builder, t *catalog.Table) error {
	const blank = ' '
	for i := range t.Triggers {
		x := &t.Triggers[i]
		if x.Constraint == 0 {
			continue
		}
		err := b.row().oid("oid", x.Constraint).text("conname", x.Name).oid("connamespace", t.Schema).
			char("contype", byte(catalog.TriggerConstraint)).bool("convalidated", true).oid("conrelid", t.OID).
			bool("conislocal", true).bool("connoinherit", true).bool("condeferrable", x.Deferrable).
			bool("condeferred", x.InitiallyDeferred).char("confupdtype", blank).char("confdeltype", blank).
			char("confmatchtype", blank).send()
		if err != nil {
			return err
		}
	}
	return nil
}

// triggerEdges returns the dependencies of a table's triggers.
func triggerEdges(t *catalog.Table) (out []edge) {
	for i := range t.Triggers {
		x := &t.Triggers[i]
		from := object{triggerClass, x.OID, 0}
		out = append(out, edge{from, object{procClass, x.Function, 0}, 'n'})
		if x.Constraint != 0 {
			out = append(out, edge{object{constraintClass, x.Constraint, 0}, object{relationClass, t.OID, 0}, 'a'},
				edge{from, object{constraintClass, x.Constraint, 0}, 'i'})
		} else {
			out = append(out, edge{from, object{relationClass, t.OID, 0}, 'a'})
		}
		for _, att := range x.Columns {
			out = append(out, edge{from, object{relationClass, t.OID, att}, 'n'})
		}
	}
	return out
}

// eachTrigger calls f for each trigger and each of its events other than TRUNCATE, of the tables that
// the role may see.
func eachTrigger(
	b *builder, f func(t *catalog.Table, x *catalog.Trigger, e triggerEvent, r *record) error,
) error {
	return b.relations(func(t *catalog.Table) error {
		if !b.canSee(t.Owner) {
			return nil
		}
		schema, _ := b.env.SchemaName(t.Schema)
		for i := range t.Triggers {
			x := &t.Triggers[i]
			for _, e := range triggerEvents[:3] {
				if !x.Is(e.bit) {
					continue
				}
				r := b.row().database("trigger_catalog", "event_object_catalog").text("trigger_schema", schema).
					text("trigger_name", x.Name).text("event_object_schema", schema).text("event_object_table", t.Name)
				if err := f(t, x, e, r); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// triggers is information_schema.triggers.
func triggers(b *builder) error {
	return eachTrigger(b, func(t *catalog.Table, x *catalog.Trigger, e triggerEvent, r *record) error {
		order := 1
		for i := range t.Triggers {
			o := &t.Triggers[i]
			if o.Is(e.bit) && o.Events&^triggerMask == x.Events&^triggerMask && o.Name < x.Name {
				order++
			}
		}
		if x.When != "" {
			r.text("action_condition", b.env.Expression(x.OID, x.When, false))
		}
		return r.text("event_manipulation", e.word).int("action_order", int64(order)).
			text("action_statement", triggerAction(&b.env.Names, x)).text("action_orientation", orientation(x)).
			text("action_timing", timingWords[x.Timing()]).
			optional("action_reference_old_table", x.OldTable).optional("action_reference_new_table", x.NewTable).
			send()
	})
}

// triggerMask is the bits of events: triggers that differ in others are ordered apart.
const triggerMask = catalog.TriggerInsert | catalog.TriggerDelete | catalog.TriggerUpdate | catalog.TriggerTruncate

// triggeredColumns is information_schema.triggered_update_columns.
func triggeredColumns(b *builder) error {
	return eachTrigger(b, func(t *catalog.Table, x *catalog.Trigger, e triggerEvent, _ *record) error {
		if e.bit != catalog.TriggerUpdate {
			return nil
		}
		schema, _ := b.env.SchemaName(t.Schema)
		for _, att := range x.Columns {
			err := b.row().database("trigger_catalog", "event_object_catalog").text("trigger_schema", schema).
				text("trigger_name", x.Name).text("event_object_schema", schema).text("event_object_table", t.Name).
				text("event_object_column", t.ColumnByNum(att).Name).send()
			if err != nil {
				return err
			}
		}
		return nil
	})
}
