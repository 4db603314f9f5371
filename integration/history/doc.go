// Package history checks what clients saw of a database against the guarantees of isolation levels.
// It knows nothing of Sherd: its input is transactions over lists, to which values are appended;
// its output is anomalies.
//
// Appending to lists makes the order of writes visible to every reader (Kingsbury and Alvaro,
// "Elle: Inferring Isolation Anomalies from Experimental Observations", 2020): each value is
// appended to a key at most once, so the list that is read at the end is the order of the key's
// versions, and every other read must be a prefix of it. From that follow the dependencies of
// Adya's thesis (1999)
//
//	ww  T1 appended the value before T2's
//	wr  T2 read the list that ends with T1's value
//	rw  T1 read the list that T2's value comes next in
//
// A cycle of them is an anomaly, named by its kinds of edges: G0 (ww), G1c (and wr), G-single (one
// rw), G2 (more). In the search for G-single the rw edges that leave transactions at READ COMMITTED
// do not count; in the search for G2 those that leave any transaction that is not SERIALIZABLE do
// not count: what these transactions have read may be overtaken. Their other edges count, because
// all of a writer's writes are in a snapshot or none, and come after what it has read.
//
// Other anomalies need no cycle: acknowledged values that are gone (lost), values that appear twice
// (doubled) or belong to an aborted transaction (aborted), parts of a transaction without the rest
// (torn), reads that contradict the transaction's own writes (internal) or see unfinished ones
// (intermediate), reads that are not a prefix (order), and reads that miss values that were
// acknowledged before they began (stale).
//
// Limits: the package does not distinguish cycles with several rw edges; at REPEATABLE READ it
// reports only those with one. The effects of a transaction of unknown outcome are taken from the
// lists at the end.
package history
