// Package heat measures which buckets and keys of a fragment are read and written most, and how
// often the whole fragment is, in bounded memory. It serves sherd.hot_buckets, sherd.hot_keys, and
// the balancer, which considers load as well as size.
//
// One access in SampleEvery is counted. Rates are smoothed over ten minutes (Smoothed): each access
// counts exp(-age/τ)/τ a second. The most used are kept by the Space-Saving algorithm (Metwally,
// Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements", 2005): a table of k
// counters, in which a new key takes the place, and the count, of the least. So a counter may be
// too large by the count that its place had before; reports subtract that count. A key with more
// than the k-th part of all accesses is always in the table.
//
// For up to 256 buckets with a range of keys (segments of range tables), the package keeps a sample
// of 32 written keys, with more recent ones than old ones. It shows where to split a segment that
// is written to too much.
//
// The package is pure except for its clock. It never reads a document, and all data is lost with
// the process.
package heat
