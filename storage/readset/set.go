// Package readset remembers what a SERIALIZABLE transaction has read in one fragment, to be
// validated at its commit (T8): points and spans, whether they contain rows or not, the timestamp of
// the earliest read, and the ownership of buckets under which each was read.
//
// The package knows stored keys and nothing of transactions. It loses no read: beyond a
// bounded number of bytes, neighbouring spans become one that covers both.
package readset

import (
	"bytes"
	"slices"
	"sort"
	"sync"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/txn"
)

// The memory for a transaction's reads is bounded: beyond these limits, neighbouring spans become
// one that covers both. A wider span only refuses more transactions (T8).
const (
	maxReadSpans = 4096
	maxReadBytes = 4 << 20
)

// Set is what one transaction has read. The zero value is empty. All methods may be called
// concurrently.
type Set struct {
	mu     sync.Mutex
	T      txn.Timestamp    // the smallest timestamp of the reads; guarded by mu
	spans  []txn.Span       // guarded by mu
	sorted int              // so many at the front are in order and apart; guarded by mu
	bytes  int              // guarded by mu
	own    []*owned.Buckets // the ownership used by the reads, each once; guarded by mu
}

// Point notes a read of key.
func (s *Set) Point(key []byte, T txn.Timestamp) {
	b := make([]byte, len(key)+1)
	copy(b, key)
	s.Add(txn.Span{Start: b[:len(key):len(key)], End: b}, T)
}

// Add notes a read of span, whose slices it keeps.
func (s *Set) Add(span txn.Span, T txn.Timestamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spans) == 0 || T < s.T {
		s.T = T
	}
	if n := len(s.spans); n > 0 && bytes.Equal(s.spans[n-1].Start, span.Start) &&
		bytes.Equal(s.spans[n-1].End, span.End) {
		return
	}
	s.spans = append(s.spans, span)
	s.bytes += len(span.Start) + len(span.End)
	if len(s.spans) > maxReadSpans || s.bytes > maxReadBytes {
		s.order()
		for len(s.spans) > maxReadSpans/2 || s.bytes > maxReadBytes/2 && len(s.spans) > 1 {
			s.widen()
		}
	}
}

// order sorts the spans and makes one of those that overlap. Called with mu held.
func (s *Set) order() {
	if s.sorted == len(s.spans) {
		return
	}
	slices.SortFunc(s.spans, func(a, b txn.Span) int { return bytes.Compare(a.Start, b.Start) })
	out := s.spans[:1]
	for _, x := range s.spans[1:] {
		if last := &out[len(out)-1]; len(last.End) == 0 || bytes.Compare(x.Start, last.End) <= 0 {
			last.End = laterEnd(last.End, x.End)
		} else {
			out = append(out, x)
		}
	}
	s.keep(out)
}

// widen joins every two neighbours: those of the same index if there are any, otherwise all. Called
// with mu held and spans ordered.
func (s *Set) widen() {
	before := len(s.spans)
	for _, any := range []bool{false, true} {
		out := s.spans[:0]
		for i := 0; i < len(s.spans); i++ {
			x := s.spans[i]
			if i+1 < len(s.spans) && (any || sameIndex(x.Start, s.spans[i+1].Start)) {
				i++
				x.End = laterEnd(x.End, s.spans[i].End)
			}
			out = append(out, x)
		}
		s.keep(out)
		if len(out) < before {
			return
		}
	}
}

func (s *Set) keep(spans []txn.Span) {
	clear(s.spans[len(spans):])
	s.spans, s.sorted, s.bytes = spans, len(spans), 0
	for _, x := range spans {
		s.bytes += len(x.Start) + len(x.End)
	}
}

func sameIndex(a, b []byte) bool { return len(a) >= 8 && len(b) >= 8 && bytes.Equal(a[:8], b[:8]) }

func laterEnd(a, b []byte) []byte {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}

// Empty reports whether nothing was read.
func (s *Set) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.spans) == 0
}

// Forget drops what was read: the statement is run again, and the client has not seen its reads.
func (s *Set) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(s.spans[:0])
	s.own = nil
}

// All returns the spans, in order and apart, and the timestamp of the earliest read.
func (s *Set) All() ([]txn.Span, txn.Timestamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spans) > 0 {
		s.order()
	}
	return slices.Clone(s.spans), s.T
}

// Verdict reports whether the reads were of what is still owned.
func (s *Set) Verdict(now *owned.Buckets) ownership.Verdict {
	owns, spans, T := s.owns()
	worst := ownership.Here
	for _, then := range owns {
		if then == now && !now.Fences() {
			continue
		}
		for _, s := range spans {
			if worst = max(worst, now.Unmoved(&then.OrFirst().Map, keyspace.BucketsOf(s),
				func(p *ownership.Piece) bool { return p.Read(T) == ownership.Here })); worst == ownership.Elsewhere {
				return worst
			}
		}
	}
	return worst
}

// Under notes by which ownership something was read. It does nothing if s is nil.
func (s *Set) Under(o *owned.Buckets) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.own, o) {
		s.own = append(s.own, o)
	}
}

func (s *Set) owns() ([]*owned.Buckets, []txn.Span, txn.Timestamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.own), slices.Clone(s.spans), s.T
}

// MaxRecorded bounds what spans take in the record of a prepared transaction, which is one value.
const MaxRecorded = 128 << 10

// Bounded returns spans that cover the given ones and take at most MaxRecorded bytes.
func Bounded(spans []txn.Span) []txn.Span {
	s := Of(spans)
	for len(s.spans) > 1 && len(logentry.AppendSpans(nil, s.spans)) > MaxRecorded {
		s.widen()
	}
	return s.spans
}

// Of returns a set of spans that are in order and apart.
func Of(spans []txn.Span) *Set {
	s := &Set{spans: slices.Clone(spans)}
	s.keep(s.spans)
	return s
}

// Contains reports whether key is in one of the spans, which are in order and apart.
func Contains(spans []txn.Span, key []byte) bool {
	i := sort.Search(len(spans), func(i int) bool { return bytes.Compare(spans[i].Start, key) > 0 })
	return i > 0 && spans[i-1].Contains(key)
}

// Recorder notes how far a scan came, because a scan that is stopped has not seen the rest of its
// span.
type Recorder struct {
	Span    txn.Span // of the scan
	Reverse bool
	last    []byte // key seen last
}

// Saw notes key, which belongs to the caller.
func (c *Recorder) Saw(key []byte) { c.last = append(c.last[:0], key...) }

// Read returns the part of the span that a scan has seen. A stopped scan has seen it up to the last
// key.
func (c *Recorder) Read(stopped bool) txn.Span {
	switch {
	case !stopped || c.last == nil:
		return txn.Span{Start: bytes.Clone(c.Span.Start), End: bytes.Clone(c.Span.End)}
	case c.Reverse:
		return txn.Span{Start: c.last, End: bytes.Clone(c.Span.End)}
	}
	return txn.Span{Start: bytes.Clone(c.Span.Start), End: append(c.last, 0)}
}
