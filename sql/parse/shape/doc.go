// Package shape splits the text of a statement into its literals and the rest, which is its shape.
//
// Clients of the simple protocol write values into their texts. Texts of one shape differ only in
// these values, and can share a program as the executions of a prepared statement do.
//
// The package is a lexer for PostgreSQL's rules. It is much faster than the parser, and knows less:
// it refuses a text with a token that it does not know, and each text that is not one SELECT,
// VALUES, INSERT, UPDATE or DELETE. It does not check the grammar.
package shape
