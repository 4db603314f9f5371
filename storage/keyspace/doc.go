// Package keyspace has the layout of a fragment's keys. All numbers are big-endian, so that bytes
// order as numbers:
//
//	table(4) · 0(4)     · bucket(3) · generation(4) · primary key  rows
//	table(4) · index(4) · columns [· primary key]                  local indexes; unique entries
//	                                                               end with their columns
//	table(4) · index(4) · bucket(3) · columns [· primary key]      global indexes, in the fragment
//	                                                               of the value's bucket
//	0xffffffff · kind(1) · …                                       the replica's own records, and
//	                                                               chunks of large rows
//
// Keys that callers of a fragment pass and get have bucket generation 0, wherever their bucket has
// been. Stored keys have the bucket's generation (generation.go): write buffers, locks, read spans,
// the log and the database have stored keys. So keys of an earlier generation of a bucket never
// collide with those of the present one.
//
// The package looks only at the table, the index, the bucket and the generation of a key. Whether
// an index is global is for its callers to know.
package keyspace
