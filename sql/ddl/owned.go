package ddl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/privilege"
)

// holding is something that a role owns, or that grants it privileges.
type holding struct {
	oid, column uint32
	owner       bool
	target      bool // it is a row policy for the role
	words       string
}

// line returns the line of a DETAIL.
func (h holding) line() string {
	switch {
	case h.owner:
		return "owner of " + h.words
	case h.target:
		return "target of " + h.words
	}
	return "privileges for " + h.words
}

// holdings are what a role has in the current database, databases included, and how many things it has
// in others.
type holdings struct {
	list   []holding
	others map[string]int
}

// holdingsOf returns what a role owns, or has or has granted privileges on.
func holdingsOf(c *change, role catalog.OID) holdings {
	out := holdings{others: map[string]int{}}
	note := func(in catalog.OID, h holding, owner catalog.OID, list acl.List) {
		h.owner = owner == role && h.column == 0 && !h.target
		if !h.owner && !h.target && !slices.Contains(list.Roles(owner), role) {
			return
		}
		if in != 0 && in != c.Database {
			out.others[c.view.Database(in).Name]++
			return
		}
		out.list = append(out.list, h)
	}
	for d := range c.view.Databases() {
		note(0, holding{oid: d.OID, words: "database " + d.Name}, d.Owner, d.ACL)
		for language, list := range d.LanguageACLs {
			h := holding{oid: language, words: "language " + languageName(language)}
			note(d.OID, h, catalog.BootstrapRole, list)
		}
		for s := range c.view.Schemas(d.OID) {
			note(d.OID, holding{oid: s.OID, words: "schema " + s.Name}, s.Owner, s.ACL)
		}
		for t := range c.view.Tables(d.OID) {
			if t.Kind == catalog.KindParts {
				continue
			}
			words := found{table: t}.kind() + " " + c.visibleName(t)
			note(d.OID, holding{oid: t.OID, words: words}, t.Owner, t.ACL)
			for i := range t.RowPolicies() {
				x := &t.RowSecurity.Policies[i]
				if slices.Contains(x.Roles, role) {
					h := holding{oid: x.OID, target: true, words: rowPolicyWords(c, t, x)}
					note(d.OID, h, role, nil)
				}
			}
			for i := range t.Columns {
				if col := &t.Columns[i]; col.ACL != nil {
					h := holding{oid: t.OID, column: uint32(col.AttNum), words: "column " + col.Name + " of " + words}
					note(d.OID, h, t.Owner, col.ACL)
				}
			}
			for i := range t.Statistics {
				x := &t.Statistics[i]
				note(d.OID, holding{oid: x.OID, words: "statistics object " + x.Name}, x.Owner, nil)
			}
		}
		for t := range catalog.TypesOf(c.view, d.OID) {
			note(d.OID, holding{oid: t.OID, words: "type " + formatType(c, t.TypeOID(), -1)}, t.Owner, t.ACL)
		}
		for f := range catalog.FunctionsOf(c.view, d.OID) {
			words := "function " + signatureOf(c, function.Proc(c.view, f))
			note(d.OID, holding{oid: f.OID, words: words}, f.Owner, f.ACL)
		}
		for i := range d.DefaultACLs {
			x := &d.DefaultACLs[i]
			note(d.OID, holding{oid: x.OID, words: defaultWords(c, x)}, x.Role, x.ACL)
		}
	}
	slices.SortFunc(out.list, func(a, b holding) int {
		return cmp.Or(cmp.Compare(a.oid, b.oid), cmp.Compare(a.column, b.column))
	})
	return out
}

func languageName(oid catalog.OID) string {
	if oid == 14 {
		return "sql"
	}
	return "plpgsql"
}

// defaultKinds are the objects of default privileges, by pg_default_acl.defaclobjtype.
var defaultKinds = map[byte]string{
	'r': "relations", 'S': "sequences", 'f': "functions", 'T': "types", 'n': "schemas",
}

// defaultWords names default privileges as messages do.
func defaultWords(c *change, x *catalog.DefaultACL) string {
	name := fmt.Sprint(x.Role)
	if r := c.view.Role(x.Role); r != nil {
		name = r.Name
	}
	words := "default privileges on new " + defaultKinds[x.Kind] + " belonging to role " + name
	if s := c.view.Schema(x.Schema); s != nil {
		words += " in schema " + s.Name
	}
	return words
}

// checkUnused returns an error if something depends on a role that is dropped.
func checkUnused(c *change, role *catalog.Role) error {
	h := holdingsOf(c, role.OID)
	var lines []string
	for _, x := range h.list {
		lines = append(lines, x.line())
	}
	for d := range c.view.Databases() {
		if n := h.others[d.Name]; n > 0 {
			lines = append(lines, plural(n, "object")+" in database "+d.Name)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return pgerr.New(pgerr.DependentObjectsStillExist,
		`role "%s" cannot be dropped because some objects depend on it`, role.Name).
		WithDetail("%s", reported(lines))
}

// reassignOwned is REASSIGN OWNED.
func reassignOwned(r *runner, n *pg_query.ReassignOwnedStmt) error {
	return r.updateExclusive(func(c *change) []catalog.OID { return tablesOwned(c, n.Roles, false) },
		func(c *change) error {
			roles, err := rolesHeld(c, n.Roles)
			if err != nil {
				return err
			}
			to, err := c.role(n.Newrole)
			if err != nil {
				return err
			}
			if !subject(c).Acts(to.OID) {
				return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to reassign objects")
			}
			return eachOwned(c, roles, func(x any) error { return reassign(c, x, roles, to.OID) })
		})
}

// rolesHeld returns the roles of DROP OWNED and REASSIGN OWNED, whose privileges the current role must
// have.
func rolesHeld(c *change, nodes []*pg_query.Node) ([]catalog.OID, error) {
	roles, err := rolesOf(c, nodes)
	if err != nil {
		return nil, err
	}
	var out []catalog.OID
	for _, r := range roles {
		switch {
		case !subject(c).Acts(r.OID):
			return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied to reassign objects")
		case r.OID < catalog.FirstOID:
			return nil, pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot reassign ownership of objects owned by role %s because they are required by the database "+
					"system", r.Name)
		}
		out = append(out, r.OID)
	}
	return out, nil
}

// tablesOwned returns the relations that roles own, to lock them; with granted, those too on which they
// have privileges.
func tablesOwned(c *change, nodes []*pg_query.Node, granted bool) (out []catalog.OID) {
	roles, err := rolesOf(c, nodes)
	if err != nil {
		return nil
	}
	for t := range c.view.Tables(c.Database) {
		has := slices.ContainsFunc(roles, func(r *catalog.Role) bool { return r.OID == t.Owner })
		if granted && !has {
			catalog.AccessLists(t, func(owner catalog.OID, list acl.List) {
				for _, r := range roles {
					has = has || slices.Contains(list.Roles(owner), r.OID)
				}
			})
			has = has || slices.ContainsFunc(roles, func(r *catalog.Role) bool { return t.GuardedFor(r.OID) })
		}
		if has || len(t.Statistics) > 0 {
			out = append(out, t.OID)
		}
	}
	return out
}

// eachOwned calls f with a copy of each object of the current database that roles own, and of each
// database.
func eachOwned(c *change, roles []catalog.OID, f func(x any) error) error {
	var all []any
	own := func(owner catalog.OID) bool { return slices.Contains(roles, owner) }
	for d := range c.view.Databases() {
		if own(d.Owner) {
			all = append(all, d.Clone())
		}
	}
	for s := range c.view.Schemas(c.Database) {
		if own(s.Owner) {
			all = append(all, s.Clone())
		}
	}
	for t := range c.view.Tables(c.Database) {
		statistics := slices.ContainsFunc(t.Statistics,
			func(x catalog.ExtendedStatistics) bool { return own(x.Owner) })
		if own(t.Owner) || statistics {
			all = append(all, t.Clone())
		}
	}
	for t := range catalog.TypesOf(c.view, c.Database) {
		if own(t.Owner) {
			all = append(all, t.Clone())
		}
	}
	for fn := range catalog.FunctionsOf(c.view, c.Database) {
		if own(fn.Owner) {
			all = append(all, fn.Clone())
		}
	}
	for _, x := range all {
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// reassign makes a role the owner of an object.
func reassign(c *change, x any, roles []catalog.OID, to catalog.OID) error {
	switch d := x.(type) {
	case *catalog.Database:
		d.ACL, d.Owner = d.ACL.WithOwner(d.Owner, to), to
		return c.ch.PutDatabase(d)
	case *catalog.Schema:
		d.ACL, d.Owner = privilege.SchemaList(d).WithOwner(d.Owner, to), to
		return c.ch.PutSchema(d)
	case *catalog.Table:
		if err := c.requireLocked(d); err != nil {
			return err
		}
		if slices.Contains(roles, d.Owner) {
			giveTable(d, to)
		}
		for i := range d.Statistics {
			if slices.Contains(roles, d.Statistics[i].Owner) {
				d.Statistics[i].Owner = to
			}
		}
		return c.ch.PutTable(d)
	case *catalog.Type:
		d.ACL, d.Owner = d.ACL.WithOwner(d.Owner, to), to
		return d.Put(c.ch)
	case *catalog.Function:
		d.ACL, d.Owner = d.ACL.WithOwner(d.Owner, to), to
		return d.Put(c.ch)
	}
	return nil
}

// dropOwned is DROP OWNED: it drops what roles own in the database, and revokes what they have been
// granted.
func dropOwned(r *runner, n *pg_query.DropOwnedStmt) error {
	var drops []*pg_query.DropStmt
	find := func(c *change) []catalog.OID { return tablesOwned(c, n.Roles, true) }
	err := r.updateExclusive(find, func(c *change) error {
		drops = nil
		roles, err := rolesOf(c, n.Roles)
		if err != nil {
			return err
		}
		var oids []catalog.OID
		for _, role := range roles {
			if !subject(c).Acts(role.OID) {
				return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to drop objects")
			}
			if role.OID < catalog.FirstOID {
				return pgerr.New(pgerr.DependentObjectsStillExist,
					"cannot drop objects owned by role %s because they are required by the database system",
					role.Name)
			}
			oids = append(oids, role.OID)
		}
		if err := revokeAll(c, oids); err != nil {
			return err
		}
		drops = dropsOf(c, oids, n.Behavior)
		return nil
	})
	for _, d := range drops {
		if err == nil {
			_, _, err = r.drop(d)
		}
	}
	return err
}

// revokeAll takes roles out of the access lists of the current database and of databases.
func revokeAll(c *change, roles []catalog.OID) error {
	v := revoking{change: c, roles: roles}
	for d := range c.view.Databases() {
		if err := v.database(d); err != nil {
			return err
		}
	}
	for s := range c.view.Schemas(c.Database) {
		if own := s.Clone(); v.names(s) {
			own.ACL = v.strip(s.Owner, s.ACL)
			if err := c.ch.PutSchema(own); err != nil {
				return err
			}
		}
	}
	for t := range c.view.Tables(c.Database) {
		if !v.names(t) && !slices.ContainsFunc(roles, t.GuardedFor) {
			continue
		}
		own := t.Clone()
		withoutRoles(own, roles)
		own.ACL = v.strip(t.Owner, t.ACL)
		for i := range own.Columns {
			col := &own.Columns[i]
			if col.ACL = v.strip(t.Owner, col.ACL); len(col.ACL) == 0 {
				col.ACL = nil
			}
		}
		if err := errors.Join(c.requireLocked(t), c.ch.PutTable(own)); err != nil {
			return err
		}
	}
	for t := range catalog.TypesOf(c.view, c.Database) {
		if own := t.Clone(); v.names(t) {
			own.ACL = v.strip(t.Owner, t.ACL)
			if err := own.Put(c.ch); err != nil {
				return err
			}
		}
	}
	for f := range catalog.FunctionsOf(c.view, c.Database) {
		if own := f.Clone(); v.names(f) {
			own.ACL = v.strip(f.Owner, f.ACL)
			if err := own.Put(c.ch); err != nil {
				return err
			}
		}
	}
	return nil
}

// revoking takes roles out of access lists.
type revoking struct {
	*change
	roles []catalog.OID
}

// strip returns a list without what the roles have been granted.
func (v revoking) strip(owner catalog.OID, list acl.List) acl.List {
	for _, role := range v.roles {
		for _, x := range slices.Clone(list) {
			if role == owner || x.Grantee != role {
				continue
			}
			now, err := list.Apply(acl.Grant{
				Revoke: true, Cascade: true, Grantees: []uint32{role}, Grantor: x.Grantor,
				Privileges: x.Mode.Privileges() | x.Mode.Granted(),
			}, owner)
			if err == nil {
				list = now
			}
		}
	}
	return list
}

// names reports whether an access list of an object changes.
func (v revoking) names(x any) bool {
	found := false
	catalog.AccessLists(x, func(owner catalog.OID, list acl.List) {
		found = found || !v.strip(owner, list).Equal(list)
	})
	return found
}

func (v revoking) database(d *catalog.Database) error {
	own := d.Clone()
	own.ACL = v.strip(d.Owner, d.ACL)
	if d.OID == v.Database {
		own.DefaultACLs = slices.DeleteFunc(own.DefaultACLs, func(x catalog.DefaultACL) bool {
			return slices.Contains(v.roles, x.Role)
		})
		for i := range own.DefaultACLs {
			x := &own.DefaultACLs[i]
			x.ACL = v.strip(x.Role, x.ACL)
		}
		own.DefaultACLs = slices.DeleteFunc(own.DefaultACLs, func(x catalog.DefaultACL) bool {
			return x.Schema != 0 && len(x.ACL) == 0 ||
				x.Schema == 0 && x.ACL.Equal(acl.Default(aclKinds[x.Kind], x.Role))
		})
		for language, list := range own.LanguageACLs {
			own.LanguageACLs[language] = v.strip(catalog.BootstrapRole, list)
		}
	}
	if !v.names(d) && len(own.DefaultACLs) == len(d.DefaultACLs) {
		return nil
	}
	return v.ch.PutDatabase(own)
}

// dropsOf returns statements that drop what roles own, in an order in which what depends comes first.
func dropsOf(c *change, roles []catalog.OID, behavior pg_query.DropBehavior) []*pg_query.DropStmt {
	objects := map[pg_query.ObjectType][]*pg_query.Node{}
	name := func(schema catalog.OID, bare string) *pg_query.Node {
		return &pg_query.Node{Node: &pg_query.Node_List{List: &pg_query.List{Items: []*pg_query.Node{
			pg_query.MakeStrNode(c.view.Schema(schema).Name), pg_query.MakeStrNode(bare),
		}}}}
	}
	add := func(kind pg_query.ObjectType, n *pg_query.Node) { objects[kind] = append(objects[kind], n) }
	_ = eachOwned(c, roles, func(x any) error {
		switch d := x.(type) {
		case *catalog.Schema:
			add(pg_query.ObjectType_OBJECT_SCHEMA, pg_query.MakeStrNode(d.Name))
		case *catalog.Table:
			kind := pg_query.ObjectType_OBJECT_TABLE
			switch {
			case !slices.Contains(roles, d.Owner) || d.Kind == catalog.KindParts || d.ForwardingOf != 0:
				return nil
			case d.Sequence != nil && d.Sequence.Table != 0: // dropped with its table
				return nil
			case d.Sequence != nil:
				kind = pg_query.ObjectType_OBJECT_SEQUENCE
			case d.IsMaterialized():
				kind = pg_query.ObjectType_OBJECT_MATVIEW
			case d.View != nil:
				kind = pg_query.ObjectType_OBJECT_VIEW
			}
			add(kind, name(d.Schema, d.Name))
		case *catalog.Type:
			add(pg_query.ObjectType_OBJECT_TYPE, &pg_query.Node{Node: &pg_query.Node_TypeName{
				TypeName: &pg_query.TypeName{Names: name(d.Schema, d.Name).GetList().Items},
			}})
		case *catalog.Function:
			o := &pg_query.ObjectWithArgs{Objname: name(d.Schema, d.Name).GetList().Items}
			for _, t := range d.InputTypes() {
				o.Objargs = append(o.Objargs, &pg_query.Node{Node: &pg_query.Node_TypeName{TypeName: typeOf(c, t)}})
			}
			add(pg_query.ObjectType_OBJECT_ROUTINE, &pg_query.Node{
				Node: &pg_query.Node_ObjectWithArgs{ObjectWithArgs: o},
			})
		}
		return nil
	})
	var out []*pg_query.DropStmt
	for _, kind := range []pg_query.ObjectType{
		pg_query.ObjectType_OBJECT_VIEW, pg_query.ObjectType_OBJECT_MATVIEW, pg_query.ObjectType_OBJECT_TABLE,
		pg_query.ObjectType_OBJECT_SEQUENCE,
		pg_query.ObjectType_OBJECT_ROUTINE, pg_query.ObjectType_OBJECT_TYPE, pg_query.ObjectType_OBJECT_SCHEMA,
	} {
		if len(objects[kind]) > 0 {
			out = append(out, &pg_query.DropStmt{
				RemoveType: kind, Objects: objects[kind], Behavior: behavior, MissingOk: true,
			})
		}
	}
	return out
}

// typeOf returns the name of a type, which may be one of a user.
func typeOf(c *change, oid catalog.OID) *pg_query.TypeName {
	t := catalog.TypeByOID(c.view, catalog.TypeNumber(oid))
	if t == nil {
		return typeNameOf(oid)
	}
	n := &pg_query.TypeName{Typemod: -1, Names: []*pg_query.Node{
		pg_query.MakeStrNode(c.view.Schema(t.Schema).Name), pg_query.MakeStrNode(t.Name),
	}}
	if oid != t.TypeOID() {
		n.ArrayBounds = []*pg_query.Node{pg_query.MakeAConstIntNode(-1, -1)}
	}
	return n
}
