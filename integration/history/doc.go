// Package history checks what clients saw of a database against what isolation levels promise. It knows nothing of Sherd: transactions
// over lists, to which values are appended, go in; anomalies come out.
//
// Appending to lists makes the order of writes visible to every reader (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from
// Experimental Observations", 2020): each value is appended to a key at most once, so the list that is read at the end is the order of
// the key's versions, and every other read must be a prefix of it. From that follow the dependencies of Adya's thesis (1999)
//
//	ww  T1 appended the value before T2's
//	wr  T2 read the list that ends with T1's value
//	rw  T1 read the list that T2's value comes next in
//
// and a cycle of them is an anomaly by its kinds of edges: G0 (ww), G1c (and wr), G-single (one rw), G2 (more). In the search for
// G-single the rw edges that leave transactions at READ COMMITTED do not count, in that for G2 those of all that are not SERIALIZABLE: what
// they have read may be overtaken. Their other edges do, since every writer's writes are in a snapshot wholly or not at all, and come after
// what it has read. Found without a cycle are
// acknowledged values that are gone (lost), values that are there twice (doubled) or of an aborted transaction (aborted), parts of a
// transaction without the rest (torn), reads that contradict the transaction's own writes (internal) or see unfinished ones
// (intermediate), reads that are no prefix (order), and reads that miss what was acknowledged before they began (stale).
//
// Limits: of cycles with several rw edges it does not tell which kind; at REPEATABLE READ it reports those of one. What a transaction of
// unknown outcome did is taken from what is there at the end.
package history
