// Package literal makes parameters of the literals of a statement's text, so that one program serves
// all texts of a shape (package shape).
//
// A text of the shape is analyzed with its literals in place, so their types and everything that
// follows from them are those of PostgreSQL. Afterwards the literals at certain places of the query
// become parameters: operands of conditions, assigned values and their operands, and
// values of VALUES in an INSERT. At these places neither analysis nor the rules of grouping look at
// the value. All other literals are fixed: a program serves only texts with the same ones.
//
// Rules:
//
//   - A literal is a parameter only if each constant that analysis has made of it is at such a place.
//   - An argument is read as analysis reads the literal, and cast as planning casts it. A literal
//     that cannot be read so, or that has another meaning (the time "now"), has no argument: its text
//     is analyzed by itself, and returns the errors that it always returns.
package literal
