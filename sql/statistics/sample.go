package statistics

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Sample keeps some of the items that are added to it, each with the same probability (Vitter's
// algorithm R).
type Sample[T any] struct {
	rand  *rand.Rand
	limit int
	seen  int
	kept  []placed[T]
}

type placed[T any] struct {
	item T
	at   int
}

// NewSample returns an empty sample of at most limit items.
func NewSample[T any](limit int, r *rand.Rand) *Sample[T] { return &Sample[T]{rand: r, limit: limit} }

// Add offers an item. It calls item only if the item is kept.
func (s *Sample[T]) Add(item func() T) {
	at := s.seen
	s.seen++
	if len(s.kept) < s.limit {
		s.kept = append(s.kept, placed[T]{item(), at})
	} else if i := s.rand.IntN(s.seen); i < s.limit {
		s.kept[i] = placed[T]{item(), at}
	}
}

// Seen returns the number of items that were offered.
func (s *Sample[T]) Seen() int { return s.seen }

// Items returns what is kept, in the order in which it was added.
func (s *Sample[T]) Items() []T {
	slices.SortFunc(s.kept, func(a, b placed[T]) int { return cmp.Compare(a.at, b.at) })
	out := make([]T, len(s.kept))
	for i, k := range s.kept {
		out[i] = k.item
	}
	return out
}
