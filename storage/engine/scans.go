package engine

import (
	"sync"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// Scans opens the cursors of the scans of a snapshot. To open one takes longer than to find a key
// with it, and tasks look up many prefixes of the same index. So the second scan of an index opens a
// cursor for all of it, which further scans use. Its methods may be called concurrently.
type Scans struct {
	mu   sync.Mutex
	kept []keptScan // guarded by mu
}

type keptScan struct {
	index   logentry.Index
	reverse bool
	idle    *Scan // nil: there was a scan of the index, and no cursor waits for another one
}

// mostKept is the number of indexes with kept cursors: each holds tables and memtables of Badger.
const mostKept = 8

// Scan is a cursor that has access to the database.
type Scan struct {
	*Access
	Cursor *Cursor

	index   logentry.Index
	reverse bool
	whole   bool // the cursor is one for the whole index
}

// Open returns a scan of a span, or of spans that lie within it; the caller moves it to the first of
// them. keep allows that others use its cursor later: all of the index must be as it will be then.
func (k *Scans) Open(s Snapshot, span txn.Span, reverse, keep bool) (*Scan, error) {
	index, ok := keyspace.IndexOfSpan(span)
	var again bool
	if ok {
		var idle *Scan
		if idle, again = k.take(index, reverse); idle != nil {
			return idle.resume(span)
		}
	}
	access, err := s.e.BeginAccess()
	if err != nil {
		return nil, err
	}
	o := &Scan{Access: access, index: index, reverse: reverse, whole: again && keep}
	defer func() {
		if o.Cursor == nil { // the database is closed
			o.close()
		}
	}()
	if !o.whole {
		o.Cursor = s.Within(span, reverse)
		return o, nil
	}
	o.Cursor = s.Within(txn.Prefix(keyspace.IndexPrefix(index.Table, index.Index)), reverse)
	o.Cursor.reuse(span)
	return o, nil
}

// resume has an idle scan read a span.
func (o *Scan) resume(span txn.Span) (*Scan, error) {
	if err := o.Resume(); err != nil {
		o.close()
		return nil, err
	}
	o.Cursor.reuse(span)
	return o, nil
}

// take returns the idle scan of an index, nil if there is none. again reports whether a scan of the
// index was opened before.
func (k *Scans) take(index logentry.Index, reverse bool) (idle *Scan, again bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.of(index, reverse); p != nil {
		idle, p.idle = p.idle, nil
		return idle, true
	}
	if len(k.kept) < mostKept {
		k.kept = append(k.kept, keptScan{index: index, reverse: reverse})
	}
	return nil, false
}

// of returns what is known of scans of an index. Called with mu held.
func (k *Scans) of(index logentry.Index, reverse bool) *keptScan {
	for i := range k.kept {
		if p := &k.kept[i]; p.index == index && p.reverse == reverse {
			return p
		}
	}
	return nil
}

// Done ends a scan, which has not failed. Its cursor may be kept for other ones.
func (k *Scans) Done(o *Scan) {
	if !o.whole || !k.keep(o) {
		o.close()
	}
}

func (k *Scans) keep(o *Scan) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.of(o.index, o.reverse)
	if p == nil || p.idle != nil {
		return false
	}
	o.Pause()
	p.idle = o
	return true
}

// Fail ends a scan.
func (k *Scans) Fail(o *Scan) { o.close() }

// Close ends the cursors that are kept. All scans have ended.
func (k *Scans) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.kept {
		if p.idle != nil {
			p.idle.close()
		}
	}
	k.kept = nil
}

func (o *Scan) close() { o.End(func() { o.Cursor.Close() }) }
