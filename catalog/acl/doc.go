// Package acl has the rules of access lists, as PostgreSQL has them: what a list says, what GRANT and
// REVOKE make of one, its text form, and which privileges it grants to a role. It is pure: roles are
// numbers, and memberships are asked of a function.
package acl
