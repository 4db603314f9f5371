// Package shardmap decides where documents live: id → bucket, policy → bucket, bucket → fragment.
//
// A bucket is one of 1,048,576 logical slots. An id (or a relational key's text) is hashed to a bucket; a bucket map, versioned by
// its epoch, says which fragment owns each bucket; a policy says which buckets the content of a document allows. The package is pure:
// it does no I/O, reads no clock, starts no goroutine and imports nothing of Sherd but the client error type. Values of its types are
// immutable once made and safe for concurrent use.
//
// Some rows lie by what a definition says instead of a hash: those of a range table in its segments, those under a rule for prefixes where the rule
// says. Each such place has an assigned bucket, a number between BucketCount and BucketLimit, which catalog.AssignBuckets gives out per database, one
// after another, in an entry of its own, with the fragments that own them at first. From then on it is a bucket as any other: it has rows under its number in the
// key, is moved, fenced, carried, pinned, counted (each by itself, not in groups) and verified by it. Only hashing never leads there, entries of
// global indexes never lie there, and AllBuckets does not have it (Map.All does). Every fragment believes that it owns an assigned bucket that its log
// says nothing of; the map says whose it is.
//
// Invariants:
//
//	B1  bucket(id) never changes between releases: the hash is xxhash64 with seed 0 over the key folded by a frozen table of
//	    Unicode 15.0 (lower_table.go), never by the Unicode tables of the Go release that builds the program.
//	B2  Every Map covers [0, BucketCount) exactly once. Assigned buckets, from BucketCount on, are in it at most once, from when they are given out.
//	B3  Equal key values give equal key text (keytext.go); unequal ones may share it, since only the bucket hangs on it.
//	B4  Place, Check and Route agree: a document that Place placed passes Check, and a document that passed Check lies in the
//	    buckets that Route gives for its values.
//	B5  A change that KeepsValidated allows only ever widens the block of every content.
//	B6  A number is given out once: no assigned bucket is ever another's, whatever became of the first (assign.go).
//	B7  Under any rules for prefixes a bucket depends on the text that is hashed alone; without a rule that matches it is that of B1 (prefix.go).
//
// Decided here, where the sources leave it open, and frozen with B1:
//
//   - A content value is hashed whole, as the text it is: a "$" inside it is no anchor. (A query knows the value, not whether it names a
//     document; anchors in values would make equal-looking fields fall apart.)
//   - day, hour and month count units since 0001-01-01 00:00 UTC, the origin of ticks; text without a zone is UTC.
//   - numeric reads text as well as numbers, as PostgreSQL's numeric input does; NaN and the infinities are errors.
//   - Values of columns (not documents) take part by the text of keytext.go, so that no session setting can move them.
//   - A policy id() is true of every document, so a change to it needs no scan.
//
// Ranges are half-open throughout. What should move is decided in package balance. Segments of range tables are in segment.go, the names of key
// ranges in keyrange.go, rules for prefixes in prefix.go. Not here: lookup, forwarding.
package shardmap
