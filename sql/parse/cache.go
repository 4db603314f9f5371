package parse

import (
	"container/list"
	"strings"
	"sync"
)

// Limits of the cache.
const (
	cacheText  = 16 << 10 // longer texts are not kept
	cacheBytes = 1 << 20  // of texts; trees are some thirty times as large
)

// Cache keeps the trees of recent texts. It is safe for concurrent use.
type Cache struct {
	limit int

	mu     sync.Mutex
	byText map[string]*list.Element // guarded by mu
	recent *list.List               // guarded by mu; of *cached, newest first
	bytes  int                      // guarded by mu
}

type cached struct {
	text       string
	statements []Statement
}

// NewCache makes a cache of at most limit texts.
func NewCache(limit int) *Cache {
	return &Cache{limit: max(limit, 1), byText: make(map[string]*list.Element), recent: list.New()}
}

// Parse is Parse through the cache. Errors are not kept. The result is shared: read only.
func (c *Cache) Parse(text string) ([]Statement, error) {
	if len(text) > cacheText {
		return Parse(text)
	}
	if s, ok := c.get(text); ok {
		return s, nil
	}
	text = strings.Clone(text) // trees outlive the message buffer that text may alias
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	c.put(text, s)
	return s, nil
}

func (c *Cache) get(text string) ([]Statement, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byText[text]
	if !ok {
		return nil, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cached).statements, true
}

func (c *Cache) put(text string, s []Statement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byText[text]; ok {
		return
	}
	c.byText[text] = c.recent.PushFront(&cached{text, s})
	c.bytes += len(text)
	for c.recent.Len() > c.limit || c.bytes > cacheBytes {
		last := c.recent.Back()
		old := c.recent.Remove(last).(*cached)
		delete(c.byText, old.text)
		c.bytes -= len(old.text)
	}
}

// Len gives the number of texts kept.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}
