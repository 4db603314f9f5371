// Package rows says what moves have to know about the rows that they copy: which entries of indexes
// follow from them. The layer that stores rows implements it; a move only passes bytes.
package rows

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/txn"
)

// Schema makes what is needed of the tables of a view.
type Schema struct {
	Deriver func(view *catalog.View) Deriver
	// Index returns nil unless index is the storage id of a public local index of the table, or of its
	// index in primary key order.
	Index func(view *catalog.View, t *catalog.Table, index uint32) (Index, error)
}

// Version is the value of a row from a timestamp on; no value: it was deleted.
type Version struct {
	At    txn.Timestamp
	Value []byte
}

// Change is the effect of a version of a row on an entry of a local index. Its contents are valid
// until the next call.
type Change struct {
	At         txn.Timestamp
	Key, Value []byte // no value: the entry is removed
	// Yields: the index is unique, and a removal has no effect if another row has put an entry
	// under the key at the same version. A statement may move a unique value from one row to
	// another, and the entries of the two rows are derived separately, in any order.
	Yields bool
}

// Deriver computes the local index entries that follow from rows copied to another fragment. It
// uses the definitions of one view of the catalog. It must not be used by several goroutines.
type Deriver interface {
	// View returns the view whose definitions are used.
	View() *catalog.View
	// Knows reports whether the view has the table of a row. Rows of other tables have no entries.
	Knows(storageID uint32) (bool, error)
	// Row calls f with the changes that follow from versions of the row under key, oldest first.
	// generation is the one that the bucket gets. before is the value before the first version if
	// that was copied earlier, otherwise nil.
	Row(key []byte, generation uint32, before []byte, versions []Version, f func(Change) error) error
}

// Index is a local index. It must not be used by several goroutines.
type Index interface {
	// Place returns the bucket and its generation in the value of an entry; ok is false if the
	// value is malformed.
	Place(value []byte) (bucket, generation uint32, ok bool)
	// Row returns the key of the row that an entry names.
	Row(key, value []byte) ([]byte, error)
	// Follows reports whether the entry under key follows from the row as it is stored. stored is
	// nil if there is no row.
	Follows(key, row, stored []byte) (bool, error)
}
