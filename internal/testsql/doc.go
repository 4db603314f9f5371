// Package testsql opens the SQL of one node for tests, without sessions and client ports: fragments,
// transactions, locks, and workers of the system that run statements.
package testsql
