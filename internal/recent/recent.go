// Package recent is a cache of values for keys that occur repeatedly, such as the programs compiled
// from the texts of statements.
//
// Clients that write values into their statements send each text once. So a value is stored when
// its key occurs for the second time among the last few thousand keys. Otherwise the cache would
// always hold thousands of programs that are never used again, and the garbage collector would mark
// them in each cycle. This rule of admission, and not the order of eviction, is the reason for a
// cache of our own: the libraries that count how often a key occurs do so only once they are full.
package recent

import (
	"container/list"
	"hash/maphash"
	"sync"
)

// Cache keeps values by key, those that were used last. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit, most int
	seed        maphash.Seed

	mu    sync.Mutex
	items map[K]*list.Element // guarded by mu
	order *list.List          // guarded by mu; of *item, the last used first
	size  int                 // guarded by mu
	// guarded by mu; hashes of keys that came once: the last limit at most, and as many before
	came [2]map[uint64]bool
}

type item[K comparable, V any] struct {
	key   K
	value V
	size  int
}

// New makes a cache of at most limit values, whose sizes, as Put is told them, add up to most at
// most.
func New[K comparable, V any](limit, most int) *Cache[K, V] {
	return &Cache[K, V]{
		limit: limit, most: most, seed: maphash.MakeSeed(), items: map[K]*list.Element{}, order: list.New(),
		came: [2]map[uint64]bool{{}, {}},
	}
}

// Get returns the value of a key.
func (c *Cache[K, V]) Get(k K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.items[k]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*item[K, V]).value, true
}

// Put sets a key's value, which is kept if the key has come before.
func (c *Cache[K, V]) Put(k K, size int, value V) {
	hash := maphash.Comparable(c.seed, k)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.items[k]; e != nil {
		e.Value.(*item[K, V]).value = value
		c.order.MoveToFront(e)
		return
	}
	if !c.again(hash) {
		return
	}
	c.items[k] = c.order.PushFront(&item[K, V]{k, value, size})
	c.size += size
	for c.order.Len() > c.limit || c.size > c.most {
		last := c.order.Remove(c.order.Back()).(*item[K, V])
		delete(c.items, last.key)
		c.size -= last.size
	}
}

// Came notes that a key has come, and reports whether it came before: Put would keep its value.
func (c *Cache[K, V]) Came(k K) bool {
	hash := maphash.Comparable(c.seed, k)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.items[k] != nil || c.again(hash)
}

// again reports whether a key has come before. It is called while the caller holds mu.
func (c *Cache[K, V]) again(hash uint64) bool {
	if c.came[0][hash] || c.came[1][hash] {
		return true
	}
	if len(c.came[0]) >= c.limit {
		c.came[0], c.came[1] = c.came[1], c.came[0]
		clear(c.came[0])
	}
	c.came[0][hash] = true
	return false
}

// Len returns the number of values that are kept.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Len()
}
