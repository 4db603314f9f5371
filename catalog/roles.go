package catalog

import (
	"context"
	"strings"
)

// ReservedRolePrefix returns the prefix that keeps users from giving a role this name, "" for a name that is free.
func ReservedRolePrefix(name string) string {
	for _, prefix := range []string{"pg_", "sherd_"} {
		if strings.HasPrefix(name, prefix) {
			return prefix
		}
	}
	return ""
}

// Predefined reports whether the system made the role. Releases before the prefix "sherd_" was reserved let users make roles with it: these
// are not predefined.
func (r *Role) Predefined() bool { return r.OID < FirstOID && r.OID != BootstrapRole }

func predefinedRole(oid OID, name string) *Role {
	return &Role{OID: oid, Name: name, Inherit: true, ConnectionLimit: -1}
}

// AddPredefinedRoles makes the predefined roles that a cluster lacks because an older release made it. A role of a user that has the name of
// one stays as it is.
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
