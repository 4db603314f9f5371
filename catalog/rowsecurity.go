package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog/acl"
	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/clusterversion"
)

// RowSecuritySince is the version of the cluster from which there are row policies (View.Knows).
const RowSecuritySince = clusterversion.RowSecurity

// RowSecurity says which rows of a table roles may read and write. Its policies have no effect unless it
// is enabled.
type RowSecurity struct {
	Enabled  bool
	Forced   bool        // for the owner of the table too
	Policies []RowPolicy // by OID
}

// RowPolicy is a policy of CREATE POLICY. It has nothing to do with the sharding policy of a table.
type RowPolicy struct {
	OID         OID
	Name        string // unique among those of its table
	Command     byte   // pg_policy.polcmd: '*', 'r' SELECT, 'a' INSERT, 'w' UPDATE, 'd' DELETE
	Restrictive bool
	Roles       []OID // 0 is PUBLIC
	// Using and Check are queries of one column, the condition, over the table alone, in the stored form
	// of package sql/deparse; "" if there is none.
	Using, Check string
	Uses         []Use // what the conditions depend on: relations by OID, then constraints
	Comment      string
}

// RowPolicies returns the row policies of a table, by OID.
func (t *Table) RowPolicies() []RowPolicy {
	if t.RowSecurity == nil {
		return nil
	}
	return t.RowSecurity.Policies
}

// RowPolicy returns the row policy with a name, nil if there is none.
func (t *Table) RowPolicy(name string) *RowPolicy {
	i := slices.IndexFunc(t.RowPolicies(), func(x RowPolicy) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return &t.RowSecurity.Policies[i]
}

// RowCondition reports whether a text is a condition of a row policy of the table.
func (t *Table) RowCondition(text string) bool {
	return slices.ContainsFunc(t.RowPolicies(), func(x RowPolicy) bool { return x.Using == text || x.Check == text })
}

// UseOf returns what a policy uses of a relation, nil if it does not use it.
func (x *RowPolicy) UseOf(relation OID) *Use {
	i := slices.IndexFunc(x.Uses, func(u Use) bool { return u.Relation == relation })
	if i < 0 {
		return nil
	}
	return &x.Uses[i]
}

// GuardedFor reports whether a policy of the table is for a role.
func (t *Table) GuardedFor(role OID) bool {
	return slices.ContainsFunc(t.RowPolicies(), func(x RowPolicy) bool { return slices.Contains(x.Roles, role) })
}

// usedByPolicies returns the relations, other than the table itself, and the constraints that its
// policies use, each once.
func (t *Table) usedByPolicies() []OID {
	var out []OID
	add := distinct(&out)
	for _, x := range t.RowPolicies() {
		for _, u := range x.Uses {
			if n := u.Relation + u.Constraint; n != t.OID { // one of them is 0
				add(n)
			}
		}
	}
	return out
}

// TablesGuardedBy returns the other tables whose row policies use a relation or a constraint.
func TablesGuardedBy(v *View, object OID) []*Table {
	findReferrers(v)
	return v.referrers.guarded[object]
}

// checkRowPolicies checks the policies of a table without looking at other objects.
func checkRowPolicies(t *Table) error {
	if t.RowSecurity == nil {
		return nil
	}
	if t.Kind != KindTable {
		return errors.New("row security of a relation that is no table")
	}
	last, names := OID(0), map[string]bool{}
	for _, x := range t.RowSecurity.Policies {
		switch {
		case checkName(x.Name) != nil:
			return checkName(x.Name)
		case x.OID <= last || names[x.Name]:
			return fmt.Errorf("row policy %q with OID %d after %d", x.Name, x.OID, last)
		case !strings.ContainsRune("*rawd", rune(x.Command)):
			return fmt.Errorf("row policy %q for command %q", x.Name, rune(x.Command))
		case len(x.Roles) == 0:
			return fmt.Errorf("row policy %q for no role", x.Name)
		}
		last, names[x.Name] = x.OID, true
	}
	return nil
}

// checkPolicyUses checks that what the policies of a table use exists.
func checkPolicyUses(v *View, t *Table) error {
	for _, x := range t.RowPolicies() {
		for _, u := range x.Uses {
			if err := checkUse(v, "policy "+x.Name, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPolicyUsers checks that the row policies of other tables still find the columns of t.
func checkPolicyUsers(v *View, t *Table) error {
	for _, by := range TablesGuardedBy(v, t.OID) {
		for _, x := range by.RowSecurity.Policies {
			if u := x.UseOf(t.OID); u != nil {
				if err := checkUse(v, "policy "+x.Name, *u); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *RowSecurity) clone() *RowSecurity {
	if s == nil {
		return nil
	}
	c := *s
	c.Policies = slices.Clone(s.Policies)
	for i := range c.Policies {
		x := &c.Policies[i]
		x.Roles, x.Uses = slices.Clone(x.Roles), cloneUses(x.Uses)
	}
	return &c
}

func (s *RowSecurity) encode() *pb.RowSecurity {
	if s == nil {
		return nil
	}
	out := &pb.RowSecurity{Enabled: s.Enabled, Forced: s.Forced}
	for i := range s.Policies {
		x := &s.Policies[i]
		out.Policies = append(out.Policies, &pb.RowPolicy{
			Oid: x.OID, Name: x.Name, Command: uint32(x.Command), Restrictive: x.Restrictive, Roles: x.Roles,
			Using: x.Using, Check: x.Check, Uses: encodeUses(x.Uses), Comment: x.Comment,
		})
	}
	return out
}

func (d *attNumDecoder) rowSecurity(p *pb.RowSecurity) *RowSecurity {
	if p == nil {
		return nil
	}
	out := &RowSecurity{Enabled: p.GetEnabled(), Forced: p.GetForced()}
	for _, x := range p.GetPolicies() {
		out.Policies = append(out.Policies, RowPolicy{
			OID: x.GetOid(), Name: x.GetName(), Command: byte(x.GetCommand()), Restrictive: x.GetRestrictive(),
			Roles: x.GetRoles(), Using: x.GetUsing(), Check: x.GetCheck(), Uses: d.uses(x.GetUses()),
			Comment: x.GetComment(),
		})
	}
	return out
}

// AppliesTo reports whether a policy is for a command: a letter of pg_policy.polcmd.
func (x *RowPolicy) AppliesTo(command byte) bool { return x.Command == '*' || x.Command == command }

// ForAll reports whether a policy is for all roles.
func (x *RowPolicy) ForAll() bool { return slices.Contains(x.Roles, acl.Public) }
