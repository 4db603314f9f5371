package ddl

import (
	"math"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/usertype"
)

// namedType is what the name of a type refers to; exactly one of its pointers is set.
type namedType struct {
	user   *catalog.Type
	array  bool           // it is the array type of user, or of the row type of table
	table  *catalog.Table // whose row type it is
	system *pgcatalog.Type
}

// findType finds the type of a name, which may be that of an array type.
func findType(c *change, names []*pg_query.Node, array bool) (namedType, error) {
	missing := pgerr.New(pgerr.UndefinedObject, `type "%s" does not exist`, strings.Join(texts(names), "."))
	schema, name, err := splitStatisticsName(c, names)
	if err != nil {
		return namedType{}, err
	}
	path := append([]string{"pg_catalog"}, c.SearchPath...)
	if schema != "" {
		path = []string{schema}
		if !catalog.IsBuiltinSchema(schema) && c.view.SchemaByName(c.Database, schema) == nil {
			return namedType{}, pgerr.New(pgerr.InvalidSchemaName, `schema "%s" does not exist`, schema)
		}
	}
	for _, p := range path {
		if t := pgcatalog.TypeByName(p, name); t != nil && t.Namespace != "sherd" {
			return namedType{system: t}, nil
		}
		if oid := usertype.Find(c.view, c.Database, p, name); oid != 0 {
			t := catalog.TypeByOID(c.view, catalog.TypeNumber(oid))
			return namedType{user: t, array: array || oid != t.TypeOID()}, nil
		}
		for i, bare := range []string{name, strings.TrimPrefix(name, "_")} {
			t := c.view.FindTable(c.Database, p, bare)
			if t != nil && t.Sequence == nil && t.Kind != catalog.KindParts {
				return namedType{table: t, array: array || i > 0}, nil
			}
		}
	}
	return namedType{}, missing
}

// usableType returns the type of a name, which the role may use for new objects.
func usableType(c *change, n *pg_query.TypeName) (types.OID, int32, error) {
	oid, typmod, err := analyze.TypeName(c.analysis(), c.source, n)
	if err == nil {
		err = mayUseType(c, oid)
	}
	return oid, typmod, err
}

// mayUseType returns an error unless the role may make new objects depend on a type.
func mayUseType(c *change, oid types.OID) error {
	t := catalog.TypeByOID(c.view, catalog.TypeNumber(oid))
	if t == nil || subject(c).Type(t, acl.Usage) != 0 {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for type %s", formatType(c, t.TypeOID(), -1))
}

// formatType returns the SQL name of a type.
func formatType(c *change, oid types.OID, typmod int32) string {
	if catalog.TypeNumber(oid) == 0 {
		return pgcatalog.FormatType(oid, typmod)
	}
	source := usertype.Source{View: c.view, Database: c.Database, Path: c.SearchPath}
	return source.Format(oid)
}

// shown returns the SQL name of the type.
func (n namedType) shown(c *change) string {
	name := ""
	switch {
	case n.user != nil:
		name = formatType(c, n.user.TypeOID(), -1)
	case n.table != nil:
		name = c.visibleName(n.table)
	default:
		return pgcatalog.FormatType(n.system.OID, -1)
	}
	if n.array {
		name += "[]"
	}
	return name
}

// typeToAlter finds a type whose name, schema or owner changes; the role must own it.
func typeToAlter(c *change, names []*pg_query.Node) (*catalog.Type, error) {
	n, err := findType(c, names, false)
	switch {
	case err != nil:
		return nil, err
	case n.array:
		bare := n
		bare.array = false
		return nil, pgerr.New(pgerr.WrongObjectType, "cannot alter array type %s", n.shown(c)).
			WithHint("You can alter type %s, which will alter the array type as well.", bare.shown(c))
	case n.table != nil:
		return nil, pgerr.New(pgerr.WrongObjectType, "%s is a table's row type", n.shown(c)).
			WithHint("Use ALTER TABLE instead.")
	case n.system != nil:
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of type %s", n.shown(c)).
			WithDetail("The type is part of the system.")
	}
	return n.user.Clone(), mustOwnType(c, n.user)
}

func mustOwnType(c *change, t *catalog.Type) error {
	if c.owns(t.Owner) {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of type %s", formatType(c, t.TypeOID(), -1))
}

// checkTypeName returns an error if a type of a schema, or a table whose row type is one, has a name.
func checkTypeName(c *change, schema catalog.OID, name string) *pgerr.Error {
	t := c.view.TableByName(schema, name)
	if catalog.TypeNamed(c.view, schema, name) == nil && (t == nil || t.Sequence != nil) {
		return nil
	}
	return pgerr.New(pgerr.DuplicateObject, `type "%s" already exists`, name)
}

// changeType changes the name, the schema or the owner of a type.
func changeType(r *runner, names []*pg_query.Node, domain bool, f func(*change, *catalog.Type) error) error {
	view := &change{runner: r, view: r.View()}
	if n, err := findType(view, names, false); domain || err == nil && n.user != nil && n.user.Domain != nil {
		return changeDomain(r, names, f) // plans have the name of a domain, for messages
	}
	return r.update(func(c *change) error {
		t, err := typeToAlter(c, names)
		if err != nil {
			return err
		}
		if err := f(c, t); err != nil {
			return err
		}
		return t.Put(c.ch)
	})
}

func renameType(r *runner, n *pg_query.RenameStmt) error {
	return changeType(r, n.Object.GetList().GetItems(), n.RenameType == pg_query.ObjectType_OBJECT_DOMAIN,
		func(c *change, t *catalog.Type) error { return placeType(c, t, t.Schema, n.Newname) })
}

func moveType(r *runner, n *pg_query.AlterObjectSchemaStmt) error {
	domain := n.ObjectType == pg_query.ObjectType_OBJECT_DOMAIN
	return changeType(r, n.Object.GetList().GetItems(), domain, func(c *change, t *catalog.Type) error {
		s, err := c.schemaToFill(n.Newschema, t.Name)
		if err != nil || s.OID == t.Schema {
			return err
		}
		if err := mayMove(c, t.Schema, s); err != nil {
			return err
		}
		return placeType(c, t, s.OID, t.Name)
	})
}

// placeType changes the schema or the name of a type.
func placeType(c *change, t *catalog.Type, schema catalog.OID, name string) error {
	if err := checkTypeName(c, schema, name); err != nil {
		if schema != t.Schema {
			err.Message += ` in schema "` + c.view.Schema(schema).Name + `"`
		}
		return err
	}
	t.Schema, t.Name = schema, name
	return nil
}

func typeOwner(r *runner, n *pg_query.AlterOwnerStmt) error {
	domain := n.ObjectType == pg_query.ObjectType_OBJECT_DOMAIN
	return changeType(r, n.Object.GetList().GetItems(), domain, func(c *change, t *catalog.Type) error {
		role, err := newOwnerIn(c, n.Newowner, t.Owner, t.Schema)
		if err != nil {
			return err
		}
		t.ACL, t.Owner = t.ACL.WithOwner(t.Owner, role.OID), role.OID
		return nil
	})
}

func commentOnType(r *runner, n *pg_query.CommentStmt) error {
	name := n.Object.GetTypeName()
	return r.update(func(c *change) error {
		found, err := findType(c, name.GetNames(), len(name.GetArrayBounds()) > 0)
		if err != nil {
			return err
		}
		if found.user == nil || found.array {
			return pgerr.Unsupported("comments on row types, array types and types that are built in are not supported")
		}
		if err := mustOwnType(c, found.user); err != nil {
			return err
		}
		t := found.user.Clone()
		t.Comment = n.Comment
		return t.Put(c.ch)
	})
}

// checkLabels returns an error if a text cannot be the label of an enum.
func checkLabels(labels ...string) error {
	for _, l := range labels {
		if len(l) > maxName {
			return pgerr.New(pgerr.InvalidName, `invalid enum label "%s"`, l).
				WithDetail("Labels must be %d bytes or less.", maxName)
		}
	}
	return nil
}

// createEnum is CREATE TYPE … AS ENUM.
func createEnum(r *runner, n *pg_query.CreateEnumStmt) error {
	return r.update(func(c *change) error {
		schema, name, err := splitStatisticsName(c, n.TypeName)
		if err != nil {
			return err
		}
		s, err := c.target(&pg_query.RangeVar{Schemaname: schema, Relname: name, Location: -1})
		if err != nil {
			return err
		}
		if err := checkTypeName(c, s.OID, name); err != nil {
			return err
		}
		oid, err := c.newOID()
		if err != nil {
			return err
		}
		t := &catalog.Type{OID: oid, Database: c.Database, Schema: s.OID, Name: name, Owner: c.me.OID,
			Kind: catalog.EnumType, ACL: defaultACL(c, 'T', c.me.OID, s.OID)}
		labels := texts(n.Vals)
		if err := checkLabels(labels...); err != nil {
			return err
		}
		for i, rank := range types.RanksOf(len(labels)) {
			if slices.Contains(labels[:i], labels[i]) {
				return pgerr.New(pgerr.UniqueViolation,
					`duplicate key value violates unique constraint "pg_enum_typid_label_index"`).
					WithDetail("Key (enumtypid, enumlabel)=(%d, %s) already exists.", t.TypeOID(), labels[i])
			}
			if oid, err = c.newOID(); err != nil {
				return err
			}
			t.Labels = append(t.Labels, catalog.EnumLabel{OID: oid, Text: labels[i], Rank: rank, Order: float32(i + 1)})
		}
		return t.Put(c.ch)
	})
}

// alterEnum is ALTER TYPE … ADD VALUE and RENAME VALUE.
func alterEnum(r *runner, n *pg_query.AlterEnumStmt) error {
	said := enumClauses(r.text)
	return r.update(func(c *change) error {
		found, err := findType(c, n.TypeName, false)
		switch {
		case err != nil:
			return err
		case found.user == nil || found.array || found.user.Kind != catalog.EnumType:
			return pgerr.New(pgerr.WrongObjectType, "%s is not an enum", found.shown(c))
		}
		if err := mustOwnType(c, found.user); err != nil {
			return err
		}
		if err := checkLabels(n.NewVal); err != nil {
			return err
		}
		t := found.user.Clone()
		if said.rename {
			err = renameLabel(t, n.OldVal, n.NewVal)
		} else {
			var done bool
			if done, err = addLabel(c, t, n, said.neighbor); done || err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		return t.Put(c.ch)
	})
}

// clauses is what an ALTER TYPE of an enum says besides texts. The tree does not have it if a text is
// empty.
type clauses struct{ rename, neighbor bool }

func enumClauses(text string) clauses {
	var out clauses
	tokens, err := pg_query.Scan(text)
	if err != nil {
		return out
	}
	value := false // the words that count are next to VALUE and behind it
	for i, t := range tokens.Tokens {
		switch t.Token {
		case pg_query.Token_VALUE_P:
			if !value && i > 0 {
				value, out.rename = true, tokens.Tokens[i-1].Token == pg_query.Token_RENAME
			}
		case pg_query.Token_BEFORE, pg_query.Token_AFTER:
			out.neighbor = out.neighbor || value
		}
	}
	return out
}

func noLabel(text string) error {
	return pgerr.New(pgerr.InvalidParameterValue, `"%s" is not an existing enum label`, text)
}

func labelExists(text string) *pgerr.Error {
	return pgerr.New(pgerr.DuplicateObject, `enum label "%s" already exists`, text)
}

func renameLabel(t *catalog.Type, from, to string) error {
	l := t.Label(from)
	switch {
	case l == nil:
		return noLabel(from)
	case t.Label(to) != nil:
		return labelExists(to)
	}
	l.Text = to
	return nil
}

// addLabel adds a value to an enum. done is set if the value exists already and IF NOT EXISTS allows
// it.
func addLabel(c *change, t *catalog.Type, n *pg_query.AlterEnumStmt, neighbor bool) (done bool, err error) {
	if t.Label(n.NewVal) != nil {
		if n.SkipIfNewValExists {
			c.noticeSkipped(labelExists(n.NewVal))
			return true, nil
		}
		return false, labelExists(n.NewVal)
	}
	at := len(t.Labels)
	if neighbor {
		at = slices.IndexFunc(t.Labels, func(l catalog.EnumLabel) bool { return l.Text == n.NewValNeighbor })
		if at < 0 {
			return false, noLabel(n.NewValNeighbor)
		}
		if n.NewValIsAfter {
			at++
		}
	}
	oid, err := c.newOID()
	if err != nil {
		return false, err
	}
	t.Labels = slices.Insert(t.Labels, at, catalog.EnumLabel{OID: oid, Text: n.NewVal})
	placeLabel(t.Labels, at)
	return false, nil
}

// placeLabel sets the rank of the new value at a position, and its enumsortorder as PostgreSQL does.
func placeLabel(labels []catalog.EnumLabel, at int) {
	l := &labels[at]
	var lo, hi string
	before, after := float32(math.NaN()), float32(math.NaN())
	if at > 0 {
		lo, before = labels[at-1].Rank, labels[at-1].Order
	}
	if at+1 < len(labels) {
		hi, after = labels[at+1].Rank, labels[at+1].Order
	}
	l.Rank = types.RankBetween(lo, hi)
	switch {
	case lo == "" && hi == "":
		l.Order = 1
	case hi == "":
		l.Order = before + 1
	case lo == "":
		l.Order = after - 1
	default:
		l.Order = (before + after) / 2
	}
	if l.Order == before || l.Order == after { // no room left
		for i := range labels {
			labels[i].Order = float32(i + 1)
		}
	}
}

// typesToDrop returns the types of DROP TYPE.
func typesToDrop(c *change, n *pg_query.DropStmt) ([]*catalog.Type, error) {
	var out []*catalog.Type
	for _, o := range n.Objects {
		name := o.GetTypeName()
		found, err := findType(c, name.GetNames(), len(name.GetArrayBounds()) > 0)
		if e := pgerr.From(err); e != nil {
			if !n.MissingOk || e.Code != pgerr.UndefinedObject && e.Code != pgerr.InvalidSchemaName {
				return nil, err
			}
			c.noticeSkipped(e)
			continue
		}
		bare := found
		bare.array = false
		requires := func(kind string) error {
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop type %s because %s %s requires it",
				found.shown(c), kind, bare.shown(c)).WithHint("You can drop %s %s instead.", kind, bare.shown(c))
		}
		switch {
		case n.RemoveType == pg_query.ObjectType_OBJECT_DOMAIN && (found.user == nil || found.user.Domain == nil):
			parts := texts(name.GetNames())
			return nil, pgerr.New(pgerr.WrongObjectType, `"%s" is not a domain`, parts[len(parts)-1])
		case found.system != nil:
			return nil, pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot drop type %s because it is required by the database system", found.shown(c))
		case found.array:
			return nil, requires("type")
		case found.table != nil:
			return nil, requires("table")
		}
		if s := c.view.Schema(found.user.Schema); s == nil || !c.owns(s.Owner) {
			if err := mustOwnType(c, found.user); err != nil {
				return nil, err
			}
		}
		if !slices.Contains(out, found.user) {
			out = append(out, found.user)
		}
	}
	return out, nil
}

// dropTypes is DROP TYPE.
func dropTypes(r *runner, n *pg_query.DropStmt) error {
	find := func(c *change) []catalog.OID {
		if n.Behavior != pg_query.DropBehavior_DROP_CASCADE {
			return nil
		}
		silent := *c
		list, _ := typesToDrop(&silent, n)
		return withViews(c, c.withReferring(usersOfTypes(c, withDomains(c, list)), n.Behavior))
	}
	return r.updateExclusive(find, func(c *change) error {
		list, err := typesToDrop(c, n)
		if err != nil || len(list) == 0 {
			return err
		}
		all := withDomains(c, list)
		if err := releaseTypes(c, all, n.Behavior); err != nil {
			return err
		}
		uses, lines, gone, err := droppedUses(c, all, len(list))
		if err != nil {
			return err
		}
		attributes := attributeUses(c, all)
		if len(attributes) > 0 && n.Behavior == pg_query.DropBehavior_DROP_CASCADE {
			return pgerr.Unsupported("DROP TYPE CASCADE does not drop attributes of composite types yet").
				WithDetail("%s.", attributes[0]).WithHint("Use ALTER TYPE … DROP ATTRIBUTE first.")
		}
		lines = slices.Insert(lines, arrayLines(lines), attributes...)
		what := "type " + formatType(c, list[0].TypeOID(), -1)
		if err := c.cascade(what, len(list) > 1, lines, gone, n.Behavior); err != nil {
			return err
		}
		if err := dropUses(c, uses); err != nil {
			return err
		}
		for _, t := range all {
			t.Drop(c.ch)
		}
		return nil
	})
}

// arrayLines returns how many messages at the begin are about array types.
func arrayLines(lines []string) int {
	n := slices.IndexFunc(lines, func(s string) bool { return !strings.HasSuffix(s, "[]") })
	if n < 0 {
		return len(lines)
	}
	return n
}

// attributeUses returns messages about the attributes of other composite types that have dropped types.
func attributeUses(c *change, dropped []*catalog.Type) (lines []string) {
	for _, t := range dropped {
		for _, x := range t.TypesOver(c.view) {
			if slices.Contains(dropped, x) {
				continue
			}
			for _, a := range x.Live() {
				if catalog.TypeNumber(a.Type) == t.OID {
					lines = append(lines, "column "+a.Name+" of composite type "+formatType(c, x.TypeOID(), -1)+
						" depends on type "+formatType(c, a.Type, -1))
				}
			}
		}
	}
	return lines
}

// droppedUses returns what uses types, the domains over the first n of them included, and the messages
// about it.
func droppedUses(c *change, all []*catalog.Type, n int) (uses []typeUse, lines, gone []string, err error) {
	for i, t := range slices.Backward(all) { // in PostgreSQL's order
		if i >= n {
			name := "type " + formatType(c, t.TypeOID(), -1)
			lines = append(lines, name+" depends on type "+formatType(c, t.Domain.Base, -1))
			gone = append(gone, name)
		}
		more, err := usesOf(c, t, nil)
		if err != nil {
			return nil, nil, nil, err
		}
		more = slices.DeleteFunc(more, func(u typeUse) bool {
			return slices.ContainsFunc(uses, func(o typeUse) bool { return o.what == u.what })
		})
		uses = append(uses, more...)
		on, what := describeUses(more)
		lines, gone = append(lines, on...), append(gone, what...)
	}
	return uses, lines, gone, nil
}

// usersOfTypes returns the tables that use types, to lock them.
func usersOfTypes(c *change, list []*catalog.Type) (out []catalog.OID) {
	for _, t := range list {
		for _, x := range t.UsersOf(c.view) {
			if !slices.Contains(out, x.OID) {
				out = append(out, x.OID)
			}
		}
	}
	return out
}

// dropTypesOf drops the types of a schema if cascade is set. It returns them, and what uses them
// outside of dropped tables, as messages name them.
func dropTypesOf(c *change, s *catalog.Schema, dropped []*catalog.Table, cascade bool) (gone, detail []string,
	err error) {
	if cascade {
		if err := checkOtherSchemas(c, s, slices.Collect(catalog.TypesIn(c.view, s.OID))); err != nil {
			return nil, nil, err
		}
	}
	for t := range catalog.TypesIn(c.view, s.OID) {
		what := "type " + formatType(c, t.TypeOID(), -1)
		uses, err := usesOf(c, t, dropped)
		if err != nil {
			return nil, nil, err
		}
		lines, names := describeUses(uses)
		gone = append(append(gone, what), names...)
		detail = append(append(detail, what+" depends on schema "+s.Name), lines...)
		if !cascade {
			continue
		}
		if err := dropUses(c, uses); err != nil {
			return nil, nil, err
		}
		t.Drop(c.ch)
	}
	return gone, detail, nil
}
