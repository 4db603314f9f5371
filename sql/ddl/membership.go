package ddl

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/privilege"
)

// memberships changes the memberships of roles, each role once.
type memberships struct {
	*change
	grantor *catalog.Role
	roles   map[catalog.OID]*catalog.Role // that have changed
	order   []catalog.OID
	admin   bool // with the ADMIN OPTION, or REVOKE of it only
}

func newMemberships(c *change) *memberships {
	return &memberships{change: c, grantor: c.me, roles: map[catalog.OID]*catalog.Role{}}
}

// edit returns the copy of a role that is changed.
func (m *memberships) edit(role *catalog.Role) *catalog.Role {
	if own := m.roles[role.OID]; own != nil {
		return own
	}
	own := role.Clone()
	m.roles[role.OID], m.order = own, append(m.order, role.OID)
	return own
}

func (m *memberships) put() error {
	for _, oid := range m.order {
		if err := m.ch.PutRole(m.roles[oid]); err != nil {
			return err
		}
	}
	return nil
}

// grantRoles is GRANT and REVOKE of roles.
func grantRoles(r *runner, n *pg_query.GrantRoleStmt) error {
	return r.update(func(c *change) error {
		m := newMemberships(c)
		for _, o := range n.Opt {
			if o.GetDefElem().GetDefname() != "admin" {
				return pgerr.Unsupported("the option %s of memberships is not supported", o.GetDefElem().GetDefname()).
					WithHint("Use ALTER ROLE … INHERIT or NOINHERIT.")
			}
			m.admin = !n.IsGrant || o.GetDefElem().GetArg().GetBoolean().GetBoolval()
		}
		if n.Grantor != nil {
			var err error
			if m.grantor, err = c.role(n.Grantor); err != nil {
				return err
			}
		}
		var members []*catalog.Role
		for _, g := range n.GranteeRoles {
			member, err := c.role(g.GetRoleSpec())
			if err != nil {
				return err
			}
			members = append(members, member)
		}
		for _, g := range n.GrantedRoles {
			p := g.GetAccessPriv()
			if len(p.Cols) > 0 {
				return pgerr.New(pgerr.InvalidGrantOperation, "column names cannot be included in GRANT/REVOKE ROLE")
			}
			role, err := c.role(&pg_query.RoleSpec{
				Roletype: pg_query.RoleSpecType_ROLESPEC_CSTRING, Rolename: p.PrivName,
			})
			if err != nil {
				return err
			}
			if err := m.change1(role, members, n.IsGrant); err != nil {
				return err
			}
		}
		return m.put()
	})
}

// change1 adds or removes members of a role (AddRoleMems, DelRoleMems).
func (m *memberships) change1(role *catalog.Role, members []*catalog.Role, add bool) error {
	if len(members) == 0 {
		return nil
	}
	if err := m.mayChange(role); err != nil {
		return err
	}
	if add && role.OID == catalog.DatabaseOwnerRole {
		return pgerr.New(pgerr.InternalError, `role "%s" cannot have explicit members`, role.Name)
	}
	if add && m.grantor.OID != m.me.OID && !m.me.Superuser {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to set grantor")
	}
	for _, x := range members {
		if !add {
			m.remove(role, x)
			continue
		}
		if err := m.add(role, x); err != nil {
			return err
		}
	}
	return nil
}

func (m *memberships) mayChange(role *catalog.Role) error {
	switch {
	case role.Superuser && !m.me.Superuser:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to alter superusers")
	case role.Superuser || m.me.Superuser || m.me.CreateRole:
	case !privilege.Of(m.view, m.Database, m.grantor.OID).Administers(role.OID):
		return pgerr.New(pgerr.InsufficientPrivilege, `must have admin option on role "%s"`, role.Name)
	}
	return nil
}

func (m *memberships) add(role, member *catalog.Role) error {
	if member.OID == catalog.DatabaseOwnerRole {
		return pgerr.New(pgerr.InternalError, `role "%s" cannot be a member of any role`, member.Name)
	}
	if m.reaches(role.OID, member.OID) {
		return pgerr.New(pgerr.InvalidGrantOperation, `role "%s" is a member of role "%s"`, role.Name, member.Name)
	}
	own := m.edit(member)
	at := slices.IndexFunc(own.MemberOf, func(x catalog.Membership) bool { return x.Role == role.OID })
	if at < 0 {
		own.MemberOf = append(own.MemberOf, catalog.Membership{Role: role.OID, Grantor: m.grantor.OID, Admin: m.admin})
		return nil
	}
	x := &own.MemberOf[at]
	if !m.admin || x.Admin {
		m.notice(pgerr.SuccessfulCompletion, `role "%s" is already a member of role "%s"`, member.Name, role.Name)
		return nil
	}
	x.Admin, x.Grantor = true, m.grantor.OID
	return nil
}

// reaches reports whether a role is another one, or a member of it, with the changes so far.
func (m *memberships) reaches(role, other catalog.OID) bool {
	list := []catalog.OID{role}
	for i := 0; i < len(list); i++ {
		r := m.roles[list[i]]
		if r == nil {
			r = m.view.Role(list[i])
		}
		if r == nil {
			continue
		}
		for _, x := range r.MemberOf {
			if !slices.Contains(list, x.Role) {
				list = append(list, x.Role)
			}
		}
	}
	return slices.Contains(list, other)
}

func (m *memberships) remove(role, member *catalog.Role) {
	own := m.edit(member)
	at := slices.IndexFunc(own.MemberOf, func(x catalog.Membership) bool { return x.Role == role.OID })
	switch {
	case at < 0:
		warn(m.change, pgerr.Warning, `role "%s" is not a member of role "%s"`, member.Name, role.Name)
	case m.admin:
		own.MemberOf[at].Admin = false
	default:
		own.MemberOf = slices.Delete(own.MemberOf, at, at+1)
	}
}

// membersAtCreation are the roles that CREATE ROLE names.
type membersAtCreation struct {
	in, members, admins []*pg_query.Node
}

// option keeps an option of CREATE ROLE or ALTER ROLE that names members; known is false for all others.
func (l *membersAtCreation) option(e *pg_query.DefElem) (known bool) {
	list := e.Arg.GetList().GetItems()
	switch e.Defname {
	case "addroleto":
		l.in = list
	case "rolemembers":
		l.members = list
	case "adminmembers":
		l.admins = list
	default:
		return false
	}
	return true
}

// apply makes a new role a member of others, and others members of it.
func (l *membersAtCreation) apply(c *change, role *catalog.Role) error {
	m := newMemberships(c)
	m.roles[role.OID], m.order = role, []catalog.OID{role.OID}
	for _, n := range l.in {
		of, err := c.role(n.GetRoleSpec())
		if err != nil {
			return err
		}
		if err := m.change1(of, []*catalog.Role{role}, true); err != nil {
			return err
		}
	}
	for i, list := range [][]*pg_query.Node{l.admins, l.members} {
		m.admin = i == 0
		members, err := rolesOf(c, list)
		if err != nil {
			return err
		}
		if err := m.change1(role, members, true); err != nil {
			return err
		}
	}
	return m.put()
}

// rolesOf returns the roles of a list.
func rolesOf(c *change, nodes []*pg_query.Node) (out []*catalog.Role, err error) {
	for _, n := range nodes {
		role, err := c.role(n.GetRoleSpec())
		if err != nil {
			return nil, err
		}
		out = append(out, role)
	}
	return out, nil
}

// forgetMembers removes a role that is dropped from the memberships of others.
func forgetMembers(c *change, dropped []catalog.OID) error {
	for r := range c.view.Roles() {
		if slices.Contains(dropped, r.OID) {
			continue
		}
		own := r.Clone()
		own.MemberOf = slices.DeleteFunc(own.MemberOf, func(m catalog.Membership) bool {
			return slices.Contains(dropped, m.Role)
		})
		if len(own.MemberOf) != len(r.MemberOf) {
			if err := c.ch.PutRole(own); err != nil {
				return err
			}
		}
	}
	return nil
}

// defaultACL returns the access list of a new object, nil if it is the default one
// (get_user_default_acl). kind is that of pg_default_acl.
func defaultACL(c *change, kind byte, owner, schema catalog.OID) acl.List {
	var everywhere, there acl.List
	d := c.view.Database(c.Database)
	for i := range d.DefaultACLs {
		switch x := &d.DefaultACLs[i]; {
		case x.Kind != kind || x.Role != owner:
		case x.Schema == 0:
			everywhere = x.ACL
		case x.Schema == schema:
			there = x.ACL
		}
	}
	if everywhere == nil && there == nil {
		return nil
	}
	builtin := acl.Default(aclKinds[kind], owner)
	if everywhere == nil {
		everywhere = builtin
	}
	out := everywhere.Merge(there, owner)
	if out.Equal(builtin) {
		return nil
	}
	return out
}

// aclKinds are the kinds of access lists, by pg_default_acl.defaclobjtype.
var aclKinds = map[byte]acl.Kind{
	'r': acl.Relation, 'S': acl.Sequence, 'f': acl.Function, 'T': acl.Type, 'n': acl.Schema,
}

// defaultObjects are the kinds of objects of ALTER DEFAULT PRIVILEGES.
var defaultObjects = map[pg_query.ObjectType]byte{
	pg_query.ObjectType_OBJECT_TABLE: 'r', pg_query.ObjectType_OBJECT_SEQUENCE: 'S',
	pg_query.ObjectType_OBJECT_FUNCTION: 'f', pg_query.ObjectType_OBJECT_TYPE: 'T',
	pg_query.ObjectType_OBJECT_SCHEMA: 'n',
}

// defaultGrant is ALTER DEFAULT PRIVILEGES.
type defaultGrant struct {
	*change
	action   *pg_query.GrantStmt
	kind     byte
	grantees []uint32
	mode     acl.Mode
	database *catalog.Database
}

// alterDefaultPrivileges is ALTER DEFAULT PRIVILEGES.
func alterDefaultPrivileges(r *runner, n *pg_query.AlterDefaultPrivilegesStmt) error {
	return r.update(func(c *change) error {
		g := defaultGrant{change: c, action: n.Action, kind: defaultObjects[n.Action.Objtype],
			database: c.view.Database(c.Database).Clone()}
		var err error
		if g.grantees, err = granteesOf(c, n.Action.Grantees); err != nil {
			return err
		}
		if err := g.readMode(); err != nil {
			return err
		}
		roles, schemas := []*catalog.Role{c.me}, []string{""}
		for _, o := range n.Options {
			switch e := o.GetDefElem(); e.Defname {
			case "schemas":
				schemas = texts(e.Arg.GetList().GetItems())
			case "roles":
				if roles, err = rolesOf(c, e.Arg.GetList().GetItems()); err != nil {
					return err
				}
			}
		}
		for _, role := range roles {
			if !subject(c).Member(role.OID) {
				return pgerr.New(pgerr.InsufficientPrivilege, `must be member of role "%s"`, role.Name)
			}
			for _, name := range schemas {
				if err := g.set(role, name); err != nil {
					return err
				}
			}
		}
		return c.ch.PutDatabase(g.database)
	})
}

// readMode reads the privileges.
func (g *defaultGrant) readMode() error {
	mode, columns, err := privilegesOf(g.action)
	all := aclKinds[g.kind].All()
	switch {
	case err != nil:
		return err
	case len(columns) > 0:
		return pgerr.New(pgerr.InvalidGrantOperation, "default privileges cannot be set for columns")
	case mode == 0:
		mode = all
	case mode&^all != 0:
		return pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type %s for relation",
			(mode &^ all).Words()[0])
	}
	g.mode = mode
	return nil
}

// set changes the default privileges of a role, in one schema or, if its name is empty, in all.
func (g *defaultGrant) set(role *catalog.Role, schema string) error {
	old, builtin := acl.Default(aclKinds[g.kind], role.OID), acl.List{}
	entry := catalog.DefaultACL{Role: role.OID, Kind: g.kind}
	if schema == "" {
		builtin = old
	} else {
		if g.kind == 'n' {
			return pgerr.New(pgerr.InvalidGrantOperation,
				"cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS")
		}
		s, err := g.schemaNamed(schema)
		if err != nil {
			return err
		}
		if err := mayCreateInSchema(privilege.Of(g.view, g.Database, role.OID), s); err != nil {
			return err
		}
		old, entry.Schema = acl.List{}, s.OID
	}
	at := slices.IndexFunc(g.database.DefaultACLs, func(x catalog.DefaultACL) bool {
		return x.Role == entry.Role && x.Schema == entry.Schema && x.Kind == entry.Kind
	})
	if at >= 0 {
		entry = g.database.DefaultACLs[at]
		old = entry.ACL
	}
	now, err := old.Apply(acl.Grant{
		Revoke: !g.action.IsGrant, Option: g.action.GrantOption, Grantees: g.grantees, Privileges: g.mode,
		Grantor: role.OID, Cascade: g.action.Behavior == pg_query.DropBehavior_DROP_CASCADE,
		Has: func(role, other uint32) bool { return privilege.Of(g.view, g.Database, role).Acts(other) },
	}, role.OID)
	if err != nil {
		return grantError(err)
	}
	entry.ACL = now
	switch same := now.Equal(builtin); {
	case same && at >= 0:
		g.database.DefaultACLs = slices.Delete(g.database.DefaultACLs, at, at+1)
	case same:
	case at >= 0:
		g.database.DefaultACLs[at] = entry
	default:
		if entry.OID, err = g.newOID(); err != nil {
			return err
		}
		g.database.DefaultACLs = append(g.database.DefaultACLs, entry)
	}
	return nil
}

// forgetDefaults removes the default privileges in schemas that are dropped.
func forgetDefaults(c *change, schemas []*catalog.Schema) error {
	d := c.view.Database(c.Database).Clone()
	n := len(d.DefaultACLs)
	d.DefaultACLs = slices.DeleteFunc(d.DefaultACLs, func(x catalog.DefaultACL) bool {
		return slices.ContainsFunc(schemas, func(s *catalog.Schema) bool { return s.OID == x.Schema })
	})
	if len(d.DefaultACLs) == n {
		return nil
	}
	return c.ch.PutDatabase(d)
}
