// Package composite reads the text form of rows: it splits the text into the texts of the fields, as
// PostgreSQL's record_in does. What a field means is its caller's business.
//
// The package is pure: it knows no types and no catalog. Package sql/types writes the form.
package composite
