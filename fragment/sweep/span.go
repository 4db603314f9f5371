package sweep

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// Span returns the span that a job has to delete; ok is false if it is a job of another kind.
func Span(j *catalog.Job) (span txn.Span, ok bool) {
	if id, ok := j.DroppedStorage(); ok {
		return keyspace.TableSpan(id), true
	}
	if table, index, ok := j.DroppedIndex(); ok {
		return txn.Prefix(keyspace.IndexPrefix(table, index)), true
	}
	return txn.Span{}, false
}
