package catalog

import "testing"

// TestAddPredefinedRoles checks that a cluster of a release without sherd_admin gets it, unless a user made a role of that name.
func TestAddPredefinedRoles(t *testing.T) {
	c := openBootstrapped(t)
	change := func(f func(ch *Change) error) *View {
		return must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error { return f(ch) }))
	}
	if r := c.View().RoleByName(AdminRoleName); r == nil || !r.Predefined() || r.Login || r.Superuser {
		t.Errorf("bootstrap: %+v", r)
	}
	own := &Role{OID: must[OID](t)(c.NewOID(t.Context())), Name: AdminRoleName, Login: true, ConnectionLimit: -1}
	change(func(ch *Change) error { ch.DropRole(AdminRole); return ch.PutRole(own) })
	if err := c.AddPredefinedRoles(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := c.View().RoleByName(AdminRoleName); r.OID != own.OID || !r.Login || r.Predefined() || c.View().Role(AdminRole) != nil {
		t.Errorf("the user's role: %+v", r)
	}
	change(func(ch *Change) error { ch.DropRole(own.OID); return nil })
	for range 2 {
		if err := c.AddPredefinedRoles(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if r := c.View().RoleByName(AdminRoleName); r == nil || r.OID != AdminRole || r.Login {
		t.Errorf("upgrade: %+v", r)
	}
}
