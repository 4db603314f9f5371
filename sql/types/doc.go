// Package types is the values of SQL: their types, text and binary forms, comparison, hashing and order-preserving keys.
//
// A Datum is one value. It is flat: what a variable-length value holds in memory is what a row holds on disk, so reading a row makes
// no garbage and a document is never decoded to be passed on. The package knows nothing of expressions, tables or transactions.
//
// A Datum whose S aliases storage is valid only while the row it came from is; whoever keeps it calls Clone.
package types
