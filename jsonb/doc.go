// Package jsonb is the document value: PostgreSQL's jsonb in a binary form whose fields are found
// by offset, with its parser, text form, operators and jsonpath.
//
// A Doc is the binary form of one value, held in a Go string so that it is immutable and travels in
// a datum without a copy; FromBytes and Doc.Bytes pass between it and a byte slice without one
// either. Every value nested in a document is itself a Doc: Get, Index and the iterators return
// substrings, and the text of a string or a number aliases the document.
//
// # Format
//
// The first byte of a value carries the format (high nibble, 1 today) and the kind (low nibble). N
// is a little-endian unsigned integer of 1, 2 or 4 bytes; the kind says which.
//
//	0x10 null   0x11 false   0x12 true
//	0x13 number      the decimal text PostgreSQL's numeric prints: no exponent, scale kept
//	0x14 string      the UTF-8 text, unescaped
//	0x18,19,1a array   N count, N end of each element, elements
//	0x1c,1d,1e object  N count, N end of each key, N end of each value, keys, values
//
// Ends count from the beginning of the elements, keys or values. Keys are ordered by length, then
// by bytes, each once, as PostgreSQL stores them. There is one encoding per value: equal JSON text
// has equal bytes.
//
// # Invariants
//
//   - The first byte names the format (V1), and golden files hold the bytes of each kind.
//   - J1: no value that Parse or a Builder makes is nested deeper than MaxDepth; whatever recurses
//     stops there.
//   - J2: a damaged value (Validate finds it) leads to an error or a wrong result, never a panic
//     nor an endless loop: each read is bounded by its container, and a scan of a container never
//     goes backwards.
//   - J3: a Doc is never written to.
//
// The package imports nothing of Sherd except internal/pgerr. It does no I/O, reads no clock and
// keeps no global state.
//
// # Limits
//
// A string or a container is at most 268435455 bytes, as in PostgreSQL. Numbers have at most 131072
// digits before and 16383 after the decimal point.
//
// The tables of testdata/oracle were written by PostgreSQL 15: `go test ./jsonb -run Oracle
// -rewrite` runs their statements again on the server that the PG* environment variables name (it
// needs psql).
package jsonb
