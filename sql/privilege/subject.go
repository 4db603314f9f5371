package privilege

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
)

// OIDs of PostgreSQL's predefined roles that have privileges on all objects, or see what others do.
const (
	monitorRole      catalog.OID = 3373
	readAllStatsRole catalog.OID = 3375
	signalRole       catalog.OID = 4200
	readFilesRole    catalog.OID = 4569
	writeFilesRole   catalog.OID = 4570
	readAllDataRole  catalog.OID = 6181
	writeAllDataRole catalog.OID = 6182
)

// monitorMemberships are those of pg_monitor, which no catalog stores.
var monitorMemberships = []catalog.Membership{{Role: 3374}, {Role: readAllStatsRole}, {Role: 3377}}

// Subject is a role whose privileges are asked for in a database. It is not safe for concurrent use.
type Subject struct {
	View     *catalog.View
	Database *catalog.Database // nil: none
	Role     *catalog.Role     // nil: it does not exist, and has no privileges
	world    bool              // it is PUBLIC
	acting   []catalog.OID     // roles whose privileges it has; nil: not known yet
}

// Of returns the subject of a role.
func Of(view *catalog.View, database, role catalog.OID) *Subject {
	return &Subject{View: view, Database: view.Database(database), Role: view.Role(role)}
}

// World returns the subject that has what all roles have.
func World(view *catalog.View, database catalog.OID) *Subject {
	return &Subject{View: view, Database: view.Database(database), world: true}
}

// Owns reports whether a role has the rights of an owner: it is the owner, a superuser, or a member
// that inherits the owner's privileges.
func Owns(view *catalog.View, database, role, owner catalog.OID) bool {
	return role == owner && view.Role(role) != nil || Of(view, database, role).Acts(owner)
}

// Superuser reports whether the role is a superuser.
func (s *Subject) Superuser() bool { return s.Role != nil && s.Role.Superuser }

// ReadsFiles and WritesFiles report whether the role may use files of the server.
func (s *Subject) ReadsFiles() bool  { return s.Acts(readFilesRole) }
func (s *Subject) WritesFiles() bool { return s.Acts(writeFilesRole) }

// Is reports whether the role is another one itself.
func (s *Subject) Is(role catalog.OID) bool { return s.Role != nil && s.Role.OID == role }

// Acts reports whether the role has the privileges of another one (has_privs_of_role).
func (s *Subject) Acts(role catalog.OID) bool {
	switch {
	case s.Role == nil:
		return false
	case s.Role.Superuser || s.Role.OID == role:
		return true
	}
	return slices.Contains(s.Acting(), role)
}

// Acting returns the roles whose privileges the role has, itself first. Those of a superuser are not
// all roles, but those that it would have without that.
func (s *Subject) Acting() []catalog.OID {
	if s.acting == nil && s.Role != nil {
		s.acting = s.closure(true)
	}
	return s.acting
}

// Member reports whether the role is a member of another one, directly or not, or a superuser
// (is_member_of_role).
func (s *Subject) Member(role catalog.OID) bool {
	return s.Superuser() || s.DirectMember(role)
}

// DirectMember is like Member, but superusers are members of other roles only if they were made so
// (is_member_of_role_nosuper).
func (s *Subject) DirectMember(role catalog.OID) bool {
	return s.Role != nil && (s.Role.OID == role || slices.Contains(s.closure(false), role))
}

// Administers reports whether the role has the ADMIN OPTION of another one (is_admin_of_role).
func (s *Subject) Administers(role catalog.OID) bool {
	if s.Role == nil || s.Role.OID == role {
		return false
	}
	if s.Role.Superuser {
		return true
	}
	for _, oid := range s.closure(false) {
		for _, m := range s.View.Role(oid).MemberOf {
			if m.Role == role && m.Admin {
				return true
			}
		}
	}
	return false
}

// closure returns the roles that the role is a member of, itself first. With privileges, only those
// whose privileges it inherits (roles_is_member_of).
func (s *Subject) closure(privileges bool) []catalog.OID {
	out := []catalog.OID{s.Role.OID}
	for i := 0; i < len(out); i++ {
		r := s.View.Role(out[i])
		if r == nil || privileges && !r.Inherit {
			continue
		}
		of := r.MemberOf
		if r.OID == monitorRole {
			of = append(slices.Clone(of), monitorMemberships...)
		}
		for _, m := range of {
			if !slices.Contains(out, m.Role) && s.View.Role(m.Role) != nil {
				out = append(out, m.Role)
			}
		}
		if s.Database != nil && s.Database.Owner == r.OID && !slices.Contains(out, catalog.DatabaseOwnerRole) {
			out = append(out, catalog.DatabaseOwnerRole)
		}
	}
	return out
}

// mask returns which of the privileges in mask an access list grants.
func (s *Subject) mask(list acl.List, kind acl.Kind, owner catalog.OID, mask acl.Mode, any bool) acl.Mode {
	if s.world {
		return list.Or(kind, owner).Of(s.Acts, owner, mask, any)
	}
	if s.Role == nil {
		return 0
	}
	if s.Role.Superuser {
		return mask
	}
	if list == nil && s.Role.OID == owner { // it is asked most often
		return mask & (kind.All() | kind.All().Options())
	}
	return list.Or(kind, owner).Of(s.Acts, owner, mask, any)
}

// Sees reports whether the role may see what a session of another role does.
func (s *Subject) Sees(role catalog.OID) bool { return s.Acts(role) || s.Acts(readAllStatsRole) }

// Signals reports whether the role may cancel the statements of another role's sessions, if that is no
// superuser.
func (s *Subject) Signals(role catalog.OID) bool { return s.Acts(role) || s.Acts(signalRole) }

// Admin reports whether the role may change where buckets are.
func (s *Subject) Admin() bool {
	if s.Role == nil {
		return false
	}
	if s.Superuser() || s.Acts(catalog.AdminRole) {
		return true
	}
	named := s.View.RoleByName(catalog.AdminRoleName) // users of older releases could create it
	return named != nil && s.Acts(named.OID)
}
