package txn

import (
	"bytes"
	"math"

	"github.com/sherddb/sherd/shardmap"
)

// FragmentID identifies a fragment.
type FragmentID = shardmap.FragmentID

// CatalogFragment stands for the catalog among the participants of a transaction that changes
// definitions too. It is the coordinator fragment then, except for prepared transactions, which
// have their home.
const CatalogFragment FragmentID = math.MaxUint32

// Span is the half-open range of keys [Start, End); an empty End has no bound.
type Span struct{ Start, End []byte }

// Point returns the span of key alone.
func Point(key []byte) Span {
	return Span{key, append(bytes.Clone(key), 0)}
}

// Prefix returns the span of all keys that begin with p.
func Prefix(p []byte) Span { return Span{p, PrefixEnd(p)} }

// PrefixEnd returns the smallest key above all that begin with p, or nil if there is none.
func PrefixEnd(p []byte) []byte {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0xff {
			end := bytes.Clone(p[:i+1])
			end[i]++
			return end
		}
	}
	return nil
}

// Contains reports whether key lies in s.
func (s Span) Contains(key []byte) bool {
	return bytes.Compare(key, s.Start) >= 0 && (len(s.End) == 0 || bytes.Compare(key, s.End) < 0)
}

// Empty reports whether no key lies in s.
func (s Span) Empty() bool { return len(s.End) != 0 && bytes.Compare(s.Start, s.End) >= 0 }

// Write is one key of a write set with its new value, or its removal.
type Write struct {
	Key, Value []byte
	Delete     bool
}

// Outcome is the outcome of a transaction.
type Outcome byte

// The answers to a decision, or to a question for the outcome.
const (
	Unknown    Outcome = iota // neither a decision nor a prepared record: the caller may conclude nothing
	Committed                 // at the C of the request
	Aborted                   // for ever
	InProgress                // for questions only: open, prepared, or being decided
)

func (o Outcome) String() string {
	return [...]string{"unknown", "committed", "aborted", "in progress"}[o]
}
