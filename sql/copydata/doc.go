// Package copydata reads and writes the three formats of COPY: text, csv and binary. It knows
// fields as bytes, not types; package copy turns them into values. Errors are PostgreSQL's: 22P04
// with the line in Where.
package copydata
