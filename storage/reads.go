package storage

import (
	"bytes"
	"slices"
	"sort"
	"sync"

	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/txn"
)

// The memory for a transaction's reads is bounded: beyond these limits, neighbouring spans become
// one that covers both. A wider span only refuses more transactions (T8).
const (
	maxReadSpans = 4096
	maxReadBytes = 4 << 20
)

// readSet is what a SERIALIZABLE transaction has read in this fragment: points and spans, whether
// they contain rows or not.
type readSet struct {
	mu     sync.Mutex
	T      txn.Timestamp    // the smallest timestamp of the reads; guarded by mu
	spans  []txn.Span       // guarded by mu
	sorted int              // so many at the front are in order and apart; guarded by mu
	bytes  int              // guarded by mu
	own    []*owned.Buckets // the ownership used by the reads, each once; guarded by mu
}

// point notes a read of key.
func (s *readSet) point(key []byte, T txn.Timestamp) {
	b := make([]byte, len(key)+1)
	copy(b, key)
	s.add(txn.Span{Start: b[:len(key):len(key)], End: b}, T)
}

// add notes a read of span, whose slices it keeps.
func (s *readSet) add(span txn.Span, T txn.Timestamp) {
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
func (s *readSet) order() {
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
func (s *readSet) widen() {
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

func (s *readSet) keep(spans []txn.Span) {
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

// empty reports whether nothing was read.
func (s *readSet) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.spans) == 0
}

// forget drops what was read: the statement is run again, and the client has not seen its reads.
func (s *readSet) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(s.spans[:0])
	s.own = nil
}

// all returns the spans, in order and apart, and the timestamp of the earliest read.
func (s *readSet) all() ([]txn.Span, txn.Timestamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spans) > 0 {
		s.order()
	}
	return slices.Clone(s.spans), s.T
}

// contains reports whether key is in one of the spans, which are in order and apart.
func contains(spans []txn.Span, key []byte) bool {
	i := sort.Search(len(spans), func(i int) bool { return bytes.Compare(spans[i].Start, key) > 0 })
	return i > 0 && spans[i-1].Contains(key)
}

// recorder notes how far a scan came, because a scan that is stopped has not seen the rest of its
// span.
type recorder struct {
	span    txn.Span
	reverse bool
	last    []byte // key seen last
}

// saw notes key, which belongs to the caller.
func (c *recorder) saw(key []byte) { c.last = append(c.last[:0], key...) }

// read returns the part of the span that a scan has seen. A stopped scan has seen it up to the last
// key.
func (c *recorder) read(stopped bool) txn.Span {
	switch {
	case !stopped || c.last == nil:
		return txn.Span{Start: bytes.Clone(c.span.Start), End: bytes.Clone(c.span.End)}
	case c.reverse:
		return txn.Span{Start: c.last, End: bytes.Clone(c.span.End)}
	}
	return txn.Span{Start: bytes.Clone(c.span.Start), End: append(c.last, 0)}
}
