// Package outline describes query plans as EXPLAIN shows them: a tree of steps with their
// properties, and that tree as text, JSON, YAML and XML. A property is said once; each form prints
// it in its own way.
//
// Steps and properties have PostgreSQL's names where they are the same thing, and Sherd's own where
// PostgreSQL has nothing like them: a Gather's fragments, lookups by key, joins by lookup.
//
// It is pure. What only a transaction knows, and what a run has measured, come as Notes.
package outline
