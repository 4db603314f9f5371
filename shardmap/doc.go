// Package shardmap decides where documents live: id → bucket, policy → bucket, bucket → fragment.
//
// A bucket is one of 1,048,576 logical slots. An id (or a relational key's text) is hashed to a
// bucket; a bucket map, versioned by its epoch, says which fragment owns each bucket; a policy says
// which buckets the content of a document allows. The package is pure: it does no I/O, reads no
// clock, starts no goroutine and imports nothing of Sherd except the client error type. Values of
// its types are immutable once made and safe for concurrent use.
//
// A definition instead of a hash places some rows: those of a range table by its segments, those
// under a prefix rule by the rule. Each such segment or rule has assigned buckets, with numbers
// between BucketCount and BucketLimit. catalog.AssignBuckets assigns them per database, one after
// another, in an entry of its own, together with their first fragments. From then on an assigned
// bucket is like any other: its rows have its number in their keys, and it is moved, fenced,
// copied, pinned, counted (each by itself, not in groups) and verified by it. Three things differ:
// no key is hashed to it, no entry of a global index is in it, and AllBuckets does not contain it
// (Map.All does). A fragment considers itself the owner of an assigned bucket that its log does not
// mention; the map names the owner.
//
// Invariants:
//
//	B1  bucket(id) never changes between releases: the hash is xxhash64 with seed 0 over the key
//	    folded by a frozen table of Unicode 15.0 (lower_table.go), never by the Unicode tables of
//	    the Go release that builds the program.
//	B2  Every Map covers [0, BucketCount) exactly once. It has an assigned bucket, from
//	    BucketCount on, at most once, and only after the bucket was assigned.
//	B3  Equal key values have equal key text (keytext.go); unequal ones may share it, because the
//	    text decides only the bucket.
//	B4  Place, Check and Route agree: a document that Place placed passes Check, and a document
//	    that passed Check is in the buckets that Route returns for its values.
//	B5  A change that KeepsValidated allows only ever widens the block of every content.
//	B6  A number is assigned once: no assigned bucket ever gets another's number, even after the
//	    other was released (assign.go).
//	B7  Under any prefix rules a bucket depends only on the text that is hashed; if no rule
//	    matches it is that of B1 (prefix.go).
//
// Decided here, because neither PostgreSQL nor SQL decides it, and frozen with B1:
//
//   - A content value is hashed whole, as the text it is: a "$" inside it is no anchor. (A query
//     knows the value, not whether it names a document; with anchors in values, fields that look
//     equal would have different buckets.)
//   - day, hour and month count units since 0001-01-01 00:00 UTC, the origin of ticks; text without
//     a zone is UTC.
//   - numeric reads text as well as numbers, as PostgreSQL's numeric input does; NaN and the
//     infinities are errors.
//   - Values of columns (not documents) are hashed by the text of keytext.go, so that no session
//     setting can change their bucket.
//   - A policy id() is true of every document, so a change to it needs no scan.
//
// Ranges are half-open throughout. Package balance decides what should move. Segments of range
// tables are in segment.go, the names of key ranges in keyrange.go, prefix rules in prefix.go.
// Lookup and forwarding are in other packages.
package shardmap
