package parse

import (
	"strings"

	"github.com/sherddb/sherd/internal/recent"
)

// Limits of the cache.
const (
	cacheText  = 16 << 10 // longer texts are not cached
	cacheBytes = 1 << 20  // of texts; their trees are about thirty times as large
)

// Cache caches the trees of recurring texts. It is safe for concurrent use.
type Cache struct {
	trees *recent.Cache[string, []Statement]
}

// NewCache returns a cache of at most limit texts.
func NewCache(limit int) *Cache {
	return &Cache{recent.New[string, []Statement](max(limit, 1), cacheBytes)}
}

// Parse is Parse through the cache. Errors are not cached. The result is shared and must not be
// modified.
func (c *Cache) Parse(text string) ([]Statement, error) {
	if len(text) > cacheText {
		return Parse(text)
	}
	if s, ok := c.trees.Get(text); ok {
		return s, nil
	}
	text = strings.Clone(text) // trees live longer than the message buffer that text may alias
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	c.trees.Put(text, len(text), s)
	return s, nil
}

// Len returns the number of cached texts.
func (c *Cache) Len() int { return c.trees.Len() }
