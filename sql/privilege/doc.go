// Package privilege computes which privileges roles have on the objects of a catalog, directly, as owners,
// as members of other roles, and as members of PostgreSQL's predefined roles. Its answers follow from
// one view of the catalog.
package privilege
