// Package verify proves that the data in a database's fragments agrees with its catalog, for
// sherd.check().
//
// A Check reads one fragment after the other, each at one timestamp, and then reports. It proves
// that
//
//   - bucket map: the map has every bucket exactly once and names existing fragments;
//   - transactions: no transaction prepared at or below the timestamp stays undecided (the caller
//     waits, and calls Undecided for those that do);
//   - storage: every key belongs to a table that the catalog has, or to one that is being deleted;
//   - rows: every row decodes, its documents are well-formed, its texts are UTF-8, its NOT NULL
//     columns are not null;
//   - placement: every row lies in the bucket of its primary key, in the fragment that the map assigns
//     to that bucket and, under a validated policy, in the block of its content;
//   - index: the index in primary key order has exactly one entry for each row, with the row's bucket,
//     and no other entries; every secondary index has exactly the entries of the rows, local ones in
//     the row's fragment, global ones in the fragment of their bucket;
//   - statistics: the documents and bytes counted for each group of buckets are those of its rows;
//   - replicas: all replicas of a fragment that respond have the same keys, versions and values at one
//     timestamp. A replica that is known to be away, or is joining or leaving, is named but is not a
//     fault;
//   - zone: the replicas of a fragment with a rule of labels are only on nodes that have them;
//   - pins: pinned buckets are in their fragment;
//   - prefixes: buckets of a prefix rule are in its fragments.
//
// On a running server, the calling session proves foreign keys and former ids by queries; it also
// reads the parts of split documents by queries, and Split proves them. CHECK constraints are not
// evaluated.
//
// Rows are streamed. The check keeps a count for each group of buckets and, for each index, an
// order-independent hash of rows and of entries. Only if these differ, it reads the fragment again
// to name the faults. It names at most maxShown faults of a check and subject.
//
// A stopped node is checked by the logs of its fragments (Fragment.Alone): they have the fragments'
// buckets and the undecided transactions. A difference that can be due to the node's lag is noted
// but is not a fault (alone.go). References proves foreign keys, former ids and the parts of split
// documents without a session: it compares hashes of the keys of both sides, in files if there are
// many.
//
// The package reads through exec.Reader and never writes. The caller waits for a fragment or
// replica and reads it at a timestamp.
package verify
