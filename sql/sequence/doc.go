// Package sequence keeps the values of sequences.
//
// The state of a sequence is one row of its storage: the last value that may have been returned. A
// node moves it ahead by a block, in a transaction of its own, before it returns the values up to
// there (Allocator). A session takes CACHE values from the node's block (Session). So no value is
// returned twice, whatever crashes, and what is left of a block when the node stops is skipped.
//
// A sequence whose storage the running transaction has made is counted in that transaction, and its
// state commits with its definition (Transaction).
package sequence
