package ddl

import (
	"errors"
	"reflect"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/scramsecret"
	"github.com/sherddb/sherd/sql/types"
)

func checkRoleName(name string) error {
	if prefix := catalog.ReservedRolePrefix(name); prefix != "" {
		return pgerr.New(pgerr.ReservedName, `role name "%s" is reserved`, name).
			WithDetail(`Role names starting with "%s" are reserved.`, prefix)
	}
	return nil
}

// checkNotPredefined refuses to change a role that the system created. A role of a user can be
// changed even if its name was reserved later.
func checkNotPredefined(role *catalog.Role) error {
	if role.Predefined() {
		return checkRoleName(role.Name)
	}
	return nil
}

func (r *runner) createRole(n *pg_query.CreateRoleStmt) error {
	return r.update(func(c *change) error {
		role := &catalog.Role{
			Name: n.Role, Inherit: true, ConnectionLimit: -1, Login: n.StmtType == pg_query.RoleStmtType_ROLESTMT_USER,
		}
		var members membersAtCreation
		if err := c.roleOptions(role, n.Options, &members); err != nil {
			return err
		}
		if err := c.mayMakeRole(role); err != nil {
			return err
		}
		if err := checkRoleName(n.Role); err != nil {
			return err
		}
		if c.view.RoleByName(n.Role) != nil {
			return pgerr.New(pgerr.DuplicateObject, `role "%s" already exists`, n.Role)
		}
		oid, err := c.newOID()
		if err != nil {
			return err
		}
		role.OID = oid
		return members.apply(c, role)
	})
}

func (c *change) mayMakeRole(role *catalog.Role) error {
	if c.me.Superuser {
		return nil
	}
	switch {
	case role.Superuser:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to create superusers")
	case role.Replication:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to create replication users")
	case role.BypassRLS:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to create bypassrls users")
	case !c.me.CreateRole:
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to create role")
	}
	return nil
}

// roleOptions applies the options after the role's name.
func (c *change) roleOptions(role *catalog.Role, list []*pg_query.Node, members *membersAtCreation) error {
	seen := map[string]bool{}
	for _, node := range list {
		e := node.GetDefElem()
		if seen[e.Defname] {
			return pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(c.pos(e.Location))
		}
		seen[e.Defname] = true
		on := e.Arg.GetBoolean().GetBoolval()
		if flag := roleFlag(role, e.Defname); flag != nil {
			*flag = on
			continue
		}
		var err error
		switch e.Defname {
		case "password":
			err = c.setPassword(role, e.Arg)
		case "connectionlimit":
			role.ConnectionLimit, err = connectionLimit(e.Arg)
		case "validUntil":
			role.ValidUntil, err = c.validUntil(optionText(e.Arg))
		case "sysid":
			c.notice(pgerr.SuccessfulCompletion, "SYSID can no longer be specified")
		default:
			if !members.option(e) {
				err = pgerr.New(pgerr.InternalError, `option "%s" not recognized`, e.Defname)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func roleFlag(role *catalog.Role, option string) *bool {
	switch option {
	case "superuser":
		return &role.Superuser
	case "inherit":
		return &role.Inherit
	case "createrole":
		return &role.CreateRole
	case "createdb":
		return &role.CreateDB
	case "canlogin":
		return &role.Login
	case "isreplication":
		return &role.Replication
	case "bypassrls":
		return &role.BypassRLS
	}
	return nil
}

// setPassword stores the verifier of a password. A text that is a verifier already is stored as it
// is; an empty text removes the password.
func (c *change) setPassword(role *catalog.Role, arg *pg_query.Node) error {
	role.Password = ""
	text := optionText(arg)
	switch {
	case arg == nil:
		return nil
	case text == "":
		c.notice(pgerr.SuccessfulCompletion, "empty string is not a valid password, clearing password")
		return nil
	case scramsecret.Is(text):
		role.Password = text
		return nil
	case isMD5(text):
		return pgerr.Unsupported("MD5 passwords are not supported").
			WithHint("Give the password itself, or a SCRAM-SHA-256 verifier.")
	}
	v, err := scramsecret.Make(text)
	if err != nil {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid password: %s", err)
	}
	role.Password = v
	return nil
}

func isMD5(s string) bool {
	return len(s) == 35 && strings.HasPrefix(s, "md5") && strings.Trim(s[3:], "0123456789abcdef") == ""
}

// validUntil checks a timestamp and returns it in ISO form.
func (c *change) validUntil(text string) (string, error) {
	d, err := types.Input(types.TimestampTZ, -1, text, c.Env.Env)
	if err != nil {
		return "", err
	}
	return types.Output(types.TimestampTZ, d, &types.Env{}), nil
}

func (r *runner) alterRole(n *pg_query.AlterRoleStmt) error {
	return r.update(func(c *change) error {
		role, err := c.role(n.Role)
		if err != nil {
			return err
		}
		if catalog.ReservedRolePrefix(role.Name) == "pg_" {
			return checkRoleName(role.Name)
		}
		was := role
		role = role.Clone()
		var members membersAtCreation
		if err := c.roleOptions(role, n.Options, &members); err != nil {
			return err
		}
		if was.Predefined() {
			if c.me.Superuser && reflect.DeepEqual(was, role) {
				return nil // pg_dumpall writes the attributes of sherd_admin
			}
			return checkRoleName(role.Name)
		}
		if err := c.mayAlterRole(was, n.Options); err != nil {
			return err
		}
		list, err := rolesOf(c, members.members)
		if err != nil {
			return err
		}
		m := newMemberships(c)
		m.roles[role.OID], m.order = role, []catalog.OID{role.OID}
		if err := m.change1(role, list, n.Action >= 0); err != nil {
			return err
		}
		return m.put()
	})
}

func (c *change) mayAlterRole(role *catalog.Role, list []*pg_query.Node) error {
	if c.me.Superuser {
		return nil
	}
	names := map[string]bool{}
	for _, o := range list {
		names[o.GetDefElem().GetDefname()] = true
	}
	switch {
	case role.Superuser || names["superuser"]:
		return pgerr.New(pgerr.InsufficientPrivilege,
			"must be superuser to alter superuser roles or change superuser attribute")
	case role.Replication || names["isreplication"]:
		return pgerr.New(pgerr.InsufficientPrivilege,
			"must be superuser to alter replication roles or change replication attribute")
	case names["bypassrls"]:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to change bypassrls attribute")
	case c.me.CreateRole:
		return nil
	case role.OID == c.me.OID && len(names) == 1 && names["password"]:
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied")
}

func (r *runner) alterRoleSet(n *pg_query.AlterRoleSetStmt) error {
	if n.Role == nil || n.Database != "" {
		return pgerr.Unsupported("ALTER ROLE … SET for one database or for all roles is not supported yet").
			WithHint("Use ALTER ROLE name SET … or ALTER DATABASE name SET ….")
	}
	return r.update(func(c *change) error {
		role, err := c.role(n.Role)
		if err != nil {
			return err
		}
		if err := checkNotPredefined(role); err != nil {
			return err
		}
		if !c.me.Superuser {
			if role.Superuser {
				return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to alter superusers")
			}
			if !c.me.CreateRole && role.OID != c.me.OID {
				return pgerr.New(pgerr.InsufficientPrivilege, "permission denied")
			}
		}
		role = role.Clone()
		if role.Settings, err = c.changeSettings(role.Settings, n.Setstmt); err != nil {
			return err
		}
		return errors.Join(c.ch.PutRole(role), c.logSetting(0, "role "+role.Name, n.Setstmt))
	})
}

func (r *runner) dropRole(n *pg_query.DropRoleStmt) error {
	return r.update(func(c *change) error {
		if !c.me.Superuser && !c.me.CreateRole {
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to drop role")
		}
		var dropped []catalog.OID
		for _, o := range n.Roles {
			role, err := c.roleToDrop(o.GetRoleSpec())
			if err != nil {
				if e := pgerr.From(err); n.MissingOk && e.Code == pgerr.UndefinedObject {
					c.noticeSkipped(e)
					continue
				}
				return err
			}
			if err := checkUnused(c, role); err != nil {
				return err
			}
			c.ch.DropRole(role.OID)
			dropped = append(dropped, role.OID)
		}
		return forgetMembers(c, dropped)
	})
}

func (c *change) roleToDrop(spec *pg_query.RoleSpec) (*catalog.Role, error) {
	if spec.Roletype != pg_query.RoleSpecType_ROLESPEC_CSTRING {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "cannot use special role specifier in DROP ROLE")
	}
	role, err := c.role(spec)
	switch {
	case err != nil:
		return nil, err
	case role.OID == c.me.OID:
		return nil, pgerr.New(pgerr.ObjectInUse, "current user cannot be dropped")
	case role.OID == c.SessionRole:
		return nil, pgerr.New(pgerr.ObjectInUse, "session user cannot be dropped")
	case role.Superuser && !c.me.Superuser:
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to drop superusers")
	case role.OID < catalog.FirstOID:
		return nil, pgerr.New(pgerr.DependentObjectsStillExist,
			"cannot drop role %s because it is required by the database system", role.Name)
	}
	return role, nil
}

func (r *runner) renameRole(from, to string) error {
	return r.update(func(c *change) error {
		role := c.view.RoleByName(from)
		if role == nil {
			return pgerr.New(pgerr.UndefinedObject, `role "%s" does not exist`, from)
		}
		if role.OID == c.me.OID {
			return pgerr.Unsupported("session user cannot be renamed")
		}
		if err := checkNotPredefined(role); err != nil {
			return err
		}
		if err := checkRoleName(to); err != nil {
			return err
		}
		if c.view.RoleByName(to) != nil {
			return pgerr.New(pgerr.DuplicateObject, `role "%s" already exists`, to)
		}
		if !c.me.Superuser && (role.Superuser || !c.me.CreateRole) {
			if role.Superuser {
				return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to rename superusers")
			}
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to rename role")
		}
		role = role.Clone()
		role.Name = to
		return c.ch.PutRole(role)
	})
}
