// Package verify proves that what a database's fragments store agrees with its catalog: what sherd.check() answers.
//
// A Check takes in one fragment after the other, each read at one timestamp, and then reports. It proves that
//
//   - bucket map: the map covers the space exactly once and names fragments that exist;
//   - transactions: none that was prepared at or below the timestamp stays undecided (the caller waits, and says so with Undecided);
//   - storage: every key belongs to a table that the catalog knows, or to one whose deletion has not ended;
//   - rows: every row decodes, its documents are well formed, its texts are UTF-8, its NOT NULL columns are not null;
//   - placement: every row lies in the bucket that its primary key gives, in the fragment that the map gives that bucket, and under a
//     validated policy in the block of its content;
//   - index: the index in primary key order has one entry for each row, which names the row's bucket, and no other; every secondary index has
//     the entries that follow from the rows, and no other, local ones in the row's fragment, global ones in that of their bucket;
//   - statistics: the documents and bytes counted for each group of buckets are those of its rows;
//   - replicas: where a fragment has several, all that answer have the same keys, versions and values at one timestamp. One that is known to be away,
//     or is about to come or go, is named and is no fault;
//   - zone: the replicas of a fragment with a rule of labels are on nodes that have them, and on no others;
//   - pins: buckets that are pinned are in their fragment.
//   - prefixes: buckets of a rule for a prefix are in its fragments.
//
// Foreign keys and former ids of a server are proved by the session that asks, with queries, and the parts of split documents are read with queries too, and
// proved by Split. CHECK constraints are not evaluated.
//
// Rows stream; what is kept is a count for each group of buckets and, for each index, an order-independent hash of rows and of entries. Only
// where these differ is a fragment read again, to name what is wrong. At most maxShown faults of a check and subject are named.
//
// A node that is stopped is checked by what its fragments' own logs say (Fragment.Alone): which buckets they have, and what is undecided. What may be so
// because the node is behind others is noted, and no fault (alone.go). References proves foreign keys, former ids and the parts of split documents without a
// session: hashes of the keys of both sides are compared, in files where there are many.
//
// The package reads through exec.Reader and never writes. How a fragment or a replica is read at a timestamp, and
// waited for, is the caller's part.
package verify
