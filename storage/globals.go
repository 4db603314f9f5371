package storage

import (
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
)

// isGlobal reports whether a key, in either form, is of a global index.
func (r *Replica) isGlobal(key []byte) bool {
	if !keyspace.MayHaveBucket(key) || keyspace.IndexOf(key) == keyspace.Rows || keyspace.IsOwn(key) {
		return false
	}
	return r.global(logentry.Index{Table: keyspace.TableOf(key), Index: keyspace.IndexOf(key)})
}

// global reports whether an index is global.
func (r *Replica) global(x logentry.Index) bool {
	if r.cfg.Global != nil && r.cfg.Global(x.Table, x.Index) {
		return true
	}
	_, told := r.told.Load(x)
	return told
}

// Global registers an index as global, before any call that names its keys: the caller may know
// definitions that Config.Global does not, those of a transaction that has not committed, or of
// another node. Numbers of indexes are never reused, so it stays true.
func (r *Replica) Global(table, index uint32) {
	if x := (logentry.Index{Table: table, Index: index}); !r.global(x) {
		r.told.Store(x, struct{}{})
	}
}

// Global is Replica.Global.
func (t *Tx) Global(table, index uint32) { t.r.Global(table, index) }

// bucketIn returns the bucket of a caller's key; false for a local index entry, which has none.
func (r *Replica) bucketIn(key []byte) (uint32, bool) {
	if keyspace.MayHaveBucket(key) && (keyspace.IndexOf(key) == keyspace.Rows || r.isGlobal(key)) {
		return keyspace.BucketIn(key), true
	}
	return 0, false
}

// given returns the caller's form of any stored key.
func (r *Replica) given(key []byte) []byte {
	if r.own.Load() == nil || !keyspace.IsRow(key) && !r.isGlobal(key) {
		return key
	}
	return keyspace.AppendGiven(nil, key)
}
