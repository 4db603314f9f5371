package sysview

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
)

// rowPolicy finds a row policy by OID.
func rowPolicy(n *Names, oid uint32) (*catalog.Table, *catalog.RowPolicy) {
	t := n.View.TableOfPart(oid)
	if t == nil || t.Database != n.Database.OID {
		return nil, nil
	}
	i := slices.IndexFunc(t.RowPolicies(), func(x catalog.RowPolicy) bool { return x.OID == oid })
	if i < 0 {
		return nil, nil
	}
	return t, &t.RowSecurity.Policies[i]
}

// pgPolicy is pg_policy.
func pgPolicy(b *builder) error {
	return b.relations(func(t *catalog.Table) error {
		for _, x := range t.RowPolicies() {
			err := b.row().oid("oid", x.OID).text("polname", x.Name).oid("polrelid", t.OID).char("polcmd", x.Command).
				bool("polpermissive", !x.Restrictive).oids("polroles", x.Roles).optional("polqual", x.Using).
				optional("polwithcheck", x.Check).send()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// rowCommands are the commands of pg_policies, by pg_policy.polcmd.
var rowCommands = map[byte]string{'*': "ALL", 'r': "SELECT", 'a': "INSERT", 'w': "UPDATE", 'd': "DELETE"}

// pgPolicies is pg_policies.
func pgPolicies(b *builder) error {
	return b.relations(func(t *catalog.Table) error {
		schema, _ := b.env.SchemaName(t.Schema)
		for _, x := range t.RowPolicies() {
			permissive := "PERMISSIVE"
			if x.Restrictive {
				permissive = "RESTRICTIVE"
			}
			r := b.row().text("schemaname", schema).text("tablename", t.Name).text("policyname", x.Name).
				text("permissive", permissive).texts("roles", rolesOf(b, &x)).text("cmd", rowCommands[x.Command])
			if x.Using != "" {
				r.text("qual", b.env.Expression(t.OID, x.Using, false))
			}
			if x.Check != "" {
				r.text("with_check", b.env.Expression(t.OID, x.Check, false))
			}
			if err := r.send(); err != nil {
				return err
			}
		}
		return nil
	})
}

// rolesOf returns the names of the roles that a policy is for.
func rolesOf(b *builder, x *catalog.RowPolicy) (out []string) {
	if x.ForAll() {
		return []string{"public"}
	}
	for _, oid := range x.Roles {
		out = append(out, b.env.roleName(oid))
	}
	slices.SortFunc(out, strings.Compare)
	return out
}

// rowPolicyEdges returns the dependencies of a table's row policies.
func rowPolicyEdges(t *catalog.Table) (out []edge) {
	for _, x := range t.RowPolicies() {
		from := object{policyClass, x.OID, 0}
		out = append(out, edge{from, object{relationClass, t.OID, 0}, 'a'})
		for _, u := range x.Uses {
			if u.Constraint != 0 {
				out = append(out, edge{from, object{constraintClass, u.Constraint, 0}, 'n'})
				continue
			}
			if len(u.Columns) == 0 && u.Relation != t.OID {
				out = append(out, edge{from, object{relationClass, u.Relation, 0}, 'n'})
			}
			for _, att := range u.Columns {
				out = append(out, edge{from, object{relationClass, u.Relation, att}, 'n'})
			}
		}
		out = append(out, functionUses(from, x.Using+" "+x.Check)...)
	}
	return out
}

// rowPolicyRoles returns the roles, other than PUBLIC, that a policy is for.
func rowPolicyRoles(x *catalog.RowPolicy) (out []catalog.OID) {
	for _, role := range x.Roles {
		if role != acl.Public {
			out = append(out, role)
		}
	}
	return out
}
