package builtin

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// sysPrivilege has has_*_privilege and pg_has_role in all their forms: the role by name, by OID or
// the current one; the object by name or by OID; the column by name or by number.
var sysPrivilege = makePrivileges()

func makePrivileges() map[string]Func {
	m := map[string]Func{}
	for name, p := range map[string]privilegeKind{
		"table":      {ObjRelation, "SELECT INSERT UPDATE DELETE TRUNCATE REFERENCES TRIGGER"},
		"any_column": {ObjColumn, "SELECT INSERT UPDATE REFERENCES"},
		"sequence":   {ObjRelation, "USAGE SELECT UPDATE"},
		"schema":     {ObjSchema, "CREATE USAGE"},
		"database":   {ObjDatabase, "CREATE TEMPORARY TEMP CONNECT"},
		"function":   {ObjProcedure, "EXECUTE"},
		"type":       {ObjType, "USAGE"},
		"tablespace": {ObjTablespace, "CREATE"},
	} {
		prefix := "has_" + name + "_privilege_"
		for _, form := range []string{"name_name", "name_id", "id_name", "id_id"} {
			m[prefix+form] = p.check(1)
		}
		m[prefix+"name"], m[prefix+"id"] = p.check(0), p.check(0)
	}
	for _, form := range []string{"name_name", "name_attnum", "id_name", "id_attnum"} {
		m["has_column_privilege_"+form] = columnPrivilege(0)
		m["has_column_privilege_name_"+form] = columnPrivilege(1)
		m["has_column_privilege_id_"+form] = columnPrivilege(1)
	}
	for _, form := range []string{"name_name", "name_id", "id_name", "id_id"} {
		m["pg_has_role_"+form] = hasRole(1)
	}
	m["pg_has_role_name"], m["pg_has_role_id"] = hasRole(0), hasRole(0)
	m["row_security_active"], m["row_security_active_name"] = rowSecurityActive, rowSecurityActive
	return m
}

func rowSecurityActive(c *Ctx, a []types.Datum) (types.Datum, error) {
	role, err := c.role(a, 0)
	if err != nil {
		return types.Null, err
	}
	relation, err := c.object(ObjRelation, a[0])
	if err != nil {
		return types.Null, err
	}
	active, err := c.Session.RowSecurity(role, relation)
	return types.NewBool(active), err
}

// privilegeKind is a kind of object and its possible privileges.
type privilegeKind struct {
	kind  ObjectKind
	known string
}

// object resolves an argument that is a name or an OID.
func (c *Ctx) object(kind ObjectKind, d types.Datum) (uint32, error) {
	if d.K == types.KindOid {
		return d.Oid(), nil
	}
	s, err := c.session()
	if err != nil {
		return 0, err
	}
	name := d.S
	switch kind {
	case ObjRole:
		if name == "public" {
			return 0, nil
		}
		name = QuoteIdent(name) // these are plain names, not text forms
	case ObjSchema, ObjDatabase, ObjTablespace:
		name = QuoteIdent(name)
	case ObjColumn:
		kind = ObjRelation
	}
	oid, ok, err := s.FindObject(kind, name)
	if err == nil && !ok {
		err = noObject(kind, d.S)
	}
	return oid, err
}

// role returns the role in argument 0 if i is 1, else the current role.
func (c *Ctx) role(a []types.Datum, i int) (uint32, error) {
	if i > 0 {
		return c.object(ObjRole, a[0])
	}
	s, err := c.session()
	if err != nil {
		return 0, err
	}
	return c.object(ObjRole, types.NewText(s.CurrentUser()))
}

// parsePrivileges splits a list of privileges; any one of them is enough.
func parsePrivileges(text, known string) ([]string, error) {
	var list []string
	for _, p := range strings.Split(text, ",") {
		p = strings.ToUpper(strings.TrimSpace(p))
		found := false
		for _, k := range strings.Fields(known) {
			found = found || strings.TrimSuffix(p, " WITH GRANT OPTION") == k ||
				strings.TrimSuffix(p, " WITH ADMIN OPTION") == k
		}
		if !found {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "unrecognized privilege type: \"%s\"", text)
		}
		list = append(list, p)
	}
	return list, nil
}

func (p privilegeKind) check(i int) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		role, err := c.role(a, i)
		if err != nil {
			return types.Null, err
		}
		object, err := c.object(p.kind, a[i])
		if err != nil {
			return types.Null, err
		}
		privileges, err := parsePrivileges(a[i+1].S, p.known)
		if err != nil {
			return types.Null, err
		}
		if a[i].K == types.KindOid {
			kind := p.kind
			if kind == ObjColumn {
				kind = ObjRelation
			}
			if _, _, ok := c.Session.ObjectName(kind, object); !ok {
				return types.Null, nil
			}
		}
		return c.anyPrivilege(privileges, func(privilege string) (bool, error) {
			return c.Session.HasPrivilege(role, p.kind, object, 0, privilege)
		})
	}
}

func (c *Ctx) anyPrivilege(privileges []string, has func(string) (bool, error)) (types.Datum, error) {
	for _, p := range privileges {
		ok, err := has(p)
		if err != nil || ok {
			return types.NewBool(ok), err
		}
	}
	return types.NewBool(false), nil
}

func columnPrivilege(i int) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		role, err := c.role(a, i)
		if err != nil {
			return types.Null, err
		}
		table, err := c.object(ObjRelation, a[i])
		if err != nil {
			return types.Null, err
		}
		privileges, err := parsePrivileges(a[i+2].S, "SELECT INSERT UPDATE REFERENCES")
		if err != nil {
			return types.Null, err
		}
		column := int16(a[i+1].N)
		if a[i+1].K == types.KindText {
			var ok bool
			if column, ok = c.Session.ColumnNumber(table, a[i+1].S); !ok {
				_, name, _ := c.Session.ObjectName(ObjRelation, table)
				return types.Null, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist",
					a[i+1].S, name)
			}
		}
		return c.anyPrivilege(privileges, func(privilege string) (bool, error) {
			return c.Session.HasPrivilege(role, ObjColumn, table, column, privilege)
		})
	}
}

func hasRole(i int) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		role, err := c.role(a, i)
		if err != nil {
			return types.Null, err
		}
		other, err := c.object(ObjRole, a[i])
		if err != nil {
			return types.Null, err
		}
		privileges, err := parsePrivileges(a[i+1].S, "MEMBER USAGE")
		if err != nil {
			return types.Null, err
		}
		return c.anyPrivilege(privileges, func(privilege string) (bool, error) {
			return c.Session.HasRole(role, other, privilege)
		})
	}
}
