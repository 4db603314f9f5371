package catalog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog/acl"
	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/pgerr"
)

// ReservedRolePrefix returns the reserved prefix with which a role name starts, "" if users may use
// the name.
func ReservedRolePrefix(name string) string {
	for _, prefix := range []string{"pg_", "sherd_"} {
		if strings.HasPrefix(name, prefix) {
			return prefix
		}
	}
	return ""
}

// Predefined reports whether the system created the role. Before the prefix "sherd_" was reserved,
// users could create roles with it; those are not predefined.
func (r *Role) Predefined() bool { return r.OID < FirstOID && r.OID != BootstrapRole }

func predefinedRole(oid OID, name string) *Role {
	return &Role{OID: oid, Name: name, Inherit: true, ConnectionLimit: -1}
}

// AddPredefinedRoles creates the predefined roles that are missing in a cluster because an older
// release created it. If a user has created a role with such a name, that role stays as it is.
func (c *Catalog) AddPredefinedRoles(ctx context.Context) error {
	if len(c.View().missingRoles()) == 0 {
		return nil
	}
	_, err := c.Update(ctx, func(v *View, ch *Change) error {
		for _, r := range v.missingRoles() {
			if err := ch.PutRole(r); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

func (v *View) missingRoles() (out []*Role) {
	if v.Cluster() == nil {
		return nil
	}
	for _, r := range predefinedRoles {
		if v.Role(r.oid) == nil && v.RoleByName(r.name) == nil {
			out = append(out, predefinedRole(r.oid, r.name))
		}
	}
	return out
}

// AccessLists calls f for the access lists of an object, with the object's owner. The lists of columns
// and of default privileges come after the object's own.
func AccessLists(object any, f func(owner OID, list acl.List)) {
	switch d := object.(type) {
	case *Database:
		f(d.Owner, d.ACL)
		for i := range d.DefaultACLs {
			f(d.DefaultACLs[i].Role, d.DefaultACLs[i].ACL)
		}
		for _, language := range slices.Sorted(maps.Keys(d.LanguageACLs)) {
			f(BootstrapRole, d.LanguageACLs[language])
		}
	case *Schema:
		f(d.Owner, d.ACL)
	case *Table:
		f(d.Owner, d.ACL)
		for i := range d.Columns {
			f(d.Owner, d.Columns[i].ACL)
		}
	case *Type:
		f(d.Owner, d.ACL)
	case *Function:
		f(d.Owner, d.ACL)
	}
}

// checkRolesExist checks that the roles exist that the access lists of an object or the memberships of
// a role name.
func checkRolesExist(v *View, object descriptor) error {
	var err error
	check := func(role OID) {
		if err == nil && v.Role(role) == nil {
			err = pgerr.New(pgerr.UndefinedObject, "role with OID %d does not exist", role)
		}
	}
	AccessLists(object, func(_ OID, list acl.List) {
		for _, role := range list.Roles(acl.Public) {
			check(role)
		}
	})
	switch d := object.(type) {
	case *Database:
		for i := range d.DefaultACLs {
			check(d.DefaultACLs[i].Role)
		}
	case *Role:
		for _, m := range d.MemberOf {
			check(m.Role)
			if m.Role == d.OID {
				err = errors.Join(err, errors.New("a role is a member of itself"))
			}
		}
	case *Table:
		for _, x := range d.RowPolicies() {
			for _, role := range x.Roles {
				if role != acl.Public {
					check(role)
				}
			}
		}
	}
	return err
}

// mentions returns a description of an object that names a role, other than as its owner, or "".
func mentions(v *View, role OID) string {
	what := ""
	v.objects.Scan(func(_ uint64, e entry) bool {
		if r, ok := e.desc.(*Role); ok {
			if slices.ContainsFunc(r.MemberOf, func(m Membership) bool { return m.Role == role }) {
				what = "membership of role " + r.Name
			}
			return what == ""
		}
		AccessLists(e.desc, func(_ OID, list acl.List) {
			if slices.Contains(list.Roles(acl.Public), role) {
				what = "privileges for some objects"
			}
		})
		if d, ok := e.desc.(*Database); ok &&
			slices.ContainsFunc(d.DefaultACLs, func(x DefaultACL) bool { return x.Role == role }) {
			what = "default privileges in database " + d.Name
		}
		if t, ok := e.desc.(*Table); ok && t.GuardedFor(role) {
			what = "row policy of table " + t.Name
		}
		return what == ""
	})
	return what
}

func encodeACL(l acl.List) *pb.AccessList {
	if l == nil {
		return nil
	}
	out := &pb.AccessList{}
	for _, x := range l {
		out.Items = append(out.Items, &pb.AccessItem{Grantee: x.Grantee, Grantor: x.Grantor, Mode: uint32(x.Mode)})
	}
	return out
}

func decodeACL(p *pb.AccessList) acl.List {
	if p == nil {
		return nil
	}
	out := acl.List{}
	for _, x := range p.GetItems() {
		out = append(out, acl.Item{Grantee: x.GetGrantee(), Grantor: x.GetGrantor(), Mode: acl.Mode(x.GetMode())})
	}
	return out
}

func encodeAccess(d *Database, p *pb.Database) {
	p.Acl = encodeACL(d.ACL)
	for i := range d.DefaultACLs {
		x := &d.DefaultACLs[i]
		p.DefaultAcls = append(p.DefaultAcls, &pb.DefaultAccess{
			Oid: x.OID, Role: x.Role, Schema: x.Schema, Kind: uint32(x.Kind), Acl: encodeACL(x.ACL),
		})
	}
	for _, language := range slices.Sorted(maps.Keys(d.LanguageACLs)) {
		p.Languages = append(p.Languages, &pb.LanguageAccess{
			Language: language, Acl: encodeACL(d.LanguageACLs[language]),
		})
	}
}

func decodeAccess(p *pb.Database, d *Database) {
	d.ACL = decodeACL(p.GetAcl())
	for _, x := range p.GetDefaultAcls() {
		d.DefaultACLs = append(d.DefaultACLs, DefaultACL{
			OID: x.GetOid(), Role: x.GetRole(), Schema: x.GetSchema(), Kind: byte(x.GetKind()),
			ACL: decodeACL(x.GetAcl()),
		})
	}
	for _, x := range p.GetLanguages() {
		if d.LanguageACLs == nil {
			d.LanguageACLs = map[OID]acl.List{}
		}
		d.LanguageACLs[x.GetLanguage()] = decodeACL(x.GetAcl())
	}
}

func encodeMemberships(list []Membership) (out []*pb.Membership) {
	for _, m := range list {
		out = append(out, &pb.Membership{Role: m.Role, Grantor: m.Grantor, Admin: m.Admin})
	}
	return out
}

func decodeMemberships(list []*pb.Membership) (out []Membership) {
	for _, m := range list {
		out = append(out, Membership{Role: m.GetRole(), Grantor: m.GetGrantor(), Admin: m.GetAdmin()})
	}
	return out
}
