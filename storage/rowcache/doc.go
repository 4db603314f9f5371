// Package rowcache keeps rows that were read lately in memory, for all databases of a node, so that
// the next reader need not look for them in the tables of a database. That takes Badger 2 to 4 µs
// for a row, and a hit a tenth of it.
//
// Invariants:
//
//   - RC1: An entry is the newest version of its key in its database. A read at T takes it if the
//     version is not above T.
//   - RC2: Before a version of a key is written, the entry of the key is removed. Until the batch of
//     the version has ended, no entry of its database is added.
//   - RC3: What a reader found is added only if no batch was open when it began to read and none has
//     begun since, and if the reader would have seen every version of the key.
//
// The package never reads a database, and keeps no trace of a key that does not exist.
package rowcache
