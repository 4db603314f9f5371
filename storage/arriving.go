package storage

import (
	"slices"
	"sync"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// Rows that a move brings keep the versions that they had at the source. So a replica that has
// applied T may still get rows that are visible at T, and two replicas have the same of these rows
// only when both have applied everything that was copied. A comparison of replicas leaves such rows
// out.

// undoneCopies lists moves that were given up recently. What they had copied stays visible at the
// stamps before. Only this process knows them.
type undoneCopies struct {
	mu   sync.Mutex
	list []undoneCopy // guarded by mu
}

type undoneCopy struct {
	at   txn.Timestamp
	left []leftRange
}

// maxUndone bounds what is remembered.
const maxUndone = 256

func (u *undoneCopies) add(at txn.Timestamp, left []leftRange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.list) == maxUndone {
		u.list = slices.Delete(u.list, 0, 1)
	}
	u.list = append(u.list, undoneCopy{at, left})
}

func (u *undoneCopies) since(T txn.Timestamp) (left []leftRange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, x := range u.list {
		if x.at > T {
			left = append(left, x.left...)
		}
	}
	return left
}

// ingesting returns the spans in which rows visible at T may have come after T was applied, or may
// still come. Keys of local index entries contain no bucket, so local indexes are left out as a
// whole.
func (r *Mover) ingesting(T txn.Timestamp) (out []txn.Span, err error) {
	job := dropJob{left: r.undone.since(T)}
	if o := r.Owned.Load(); o != nil {
		for _, p := range o.Applied {
			if p.State == Receiving || p.Edge > T {
				job.left = append(job.left, leftRange{p.BucketRange, p.Arrival})
			}
		}
	}
	swept := r.swept.Load() > uint64(T) // as of T, too
	if len(job.left) == 0 && !swept {
		return nil, nil
	}
	t := r.db.At(txn.MaxTimestamp)
	defer t.Close()
	err = t.EachIndex(func(x logentry.Index) error {
		switch {
		case x.Index == keyspace.Rows:
		case r.Globals.Is(x):
			job.globals = append(job.globals, x)
		default:
			prefix := keyspace.IndexPrefix(x.Table, x.Index)
			out = append(out, txn.Span{Start: prefix, End: txn.PrefixEnd(prefix)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	spans, err := leftSpans(r.db, &job, txn.MaxTimestamp)
	for _, s := range spans {
		if !s.chunk {
			out = append(out, s.Span)
		}
	}
	return out, err
}

// errArriving says that a digest is worth nothing.
var errArriving = pgerr.New(pgerr.ObjectNotInPrerequisiteState, "rows came by a move meanwhile")

// leavesOut reports whether each of spans lies in a skipped span.
func leavesOut(skip, spans []txn.Span) bool {
	for _, s := range spans {
		if !slices.ContainsFunc(skip, func(k txn.Span) bool {
			return string(k.Start) <= string(s.Start) && string(s.End) <= string(k.End)
		}) {
			return false
		}
	}
	return true
}
