// Package keyfilter makes filters of keys: the keys of one side of a join, by which scans of the
// other side leave out rows that the join would drop (runtime filters).
//
//	set := keyfilter.Set{Mem: mem}
//	err := set.Add(key) // each key
//	d, err := set.Filter()
//	f, err := keyfilter.Parse(d)
//	f.Has(key)
//
// A filter is a binary fuse filter with 8 bits for a key (Graf and Lemire, Binary Fuse Filters:
// Fast and Smaller Than Xor Filters, 2022): 1.1 to 1.3 bytes for a key, for sets of more than some
// thousand keys. It has every key of the set, and about one in 256 of the others.
//
// # Invariants
//
//   - KF1 A filter has every key that was added. So a scan with a filter drops no row that the join
//     needs.
package keyfilter
