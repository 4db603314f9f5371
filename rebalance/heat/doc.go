// Package heat knows which buckets and which keys of a fragment are read and written most, and how
// often all of it is, in bounded memory: for sherd.hot_buckets, sherd.hot_keys, and the balancer,
// which weighs load beside size.
//
// One access in SampleEvery is looked at. Rates are smoothed over ten minutes (Smoothed): each
// access counts exp(-age/τ)/τ a second. The most used are kept by the Space-Saving algorithm
// (Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements", 2005): a
// table of k counters, in which a newcomer takes the place, and the count, of the least. So a
// counter may be too large, by the count that its place had before; reports subtract that count. A key
// with more than the k-th part of all accesses is always in the table.
//
// Of buckets whose keys are a range (segments of range tables), a sample of 32 of the keys that
// were written is kept, the recent ones rather than the old, for 256 buckets at most: where to
// split one that is written to too much.
//
// The package is pure except for the clock it is given. It never reads a document, and forgets
// everything with the process.
package heat
