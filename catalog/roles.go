package catalog

import (
	"context"
	"strings"
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
