// Package shardmap decides where documents live: id → bucket, policy → bucket, bucket → fragment.
//
// A bucket is one of 1,048,576 logical slots. An id (or a relational key's text) is hashed to a bucket; a bucket map, versioned by
// its epoch, says which fragment owns each bucket; a policy says which buckets the content of a document allows. The package is pure:
// it does no I/O, reads no clock, starts no goroutine and imports nothing of Sherd but the client error type. Values of its types are
// immutable once made and safe for concurrent use.
//
// Invariants:
//
//	B1  bucket(id) never changes between releases: the hash is xxhash64 with seed 0 over the key folded by a frozen table of
//	    Unicode 15.0 (lower_table.go), never by the Unicode tables of the Go release that builds the program.
//	B2  Every Map covers [0, BucketCount) exactly once.
//	B3  Equal key values give equal key text (keytext.go); unequal ones may share it, since only the bucket hangs on it.
//	B4  Place, Check and Route agree: a document that Place placed passes Check, and a document that passed Check lies in the
//	    buckets that Route gives for its values.
//	B5  A change that KeepsValidated allows only ever widens the block of every content.
//
// Ranges are half-open throughout. Not here yet: key ranges (shard_by = 'range'), lookup, prefix and zone rules, forwarding,
// balance decisions.
package shardmap
