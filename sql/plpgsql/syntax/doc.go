// Package syntax parses the bodies of PL/pgSQL routines, by the grammar of chapter 43 of
// PostgreSQL's manual. It resolves the names of variables where the grammar needs them: at
// assignments, INTO, FOR and cursors. SQL inside of a body is kept as text, with the names that
// are visible at its place, and its own grammar is checked.
//
// The package knows no types, and never reads the catalog.
package syntax
