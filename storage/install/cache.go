package install

import (
	"slices"
	"sync"
)

// pieceCacheBytes bounds what a node keeps of pieces that single rows are read from.
const pieceCacheBytes = 32 << 20

// pieceCache has pieces of large commits from which single rows have been read, for all replicas of
// a node. A piece is removed when its commit is installed, or to make room for later pieces.
type pieceCache struct {
	mu    sync.Mutex
	data  map[pieceID][]byte // guarded by mu
	order []pieceID          // of data, the oldest first; guarded by mu
	bytes int                // guarded by mu
}

type pieceID struct {
	x *Rows
	n int
}

// get returns piece n of x, nil if it is not there.
func (c *pieceCache) get(x *Rows, n int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.data[pieceID{x, n}]
}

// put keeps piece n of x. Its bytes must not change.
func (c *pieceCache) put(x *Rows, n int, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := pieceID{x, n}
	if _, ok := c.data[id]; ok || len(b) > pieceCacheBytes {
		return
	}
	if c.data == nil {
		c.data = map[pieceID][]byte{}
	}
	c.data[id] = b
	c.order = append(c.order, id)
	for c.bytes += len(b); c.bytes > pieceCacheBytes; {
		c.drop(c.order[0])
		c.order = c.order[1:]
	}
}

func (c *pieceCache) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// forget drops all pieces of x.
func (c *pieceCache) forget(x *Rows) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = slices.DeleteFunc(c.order, func(id pieceID) bool {
		if id.x != x {
			return false
		}
		c.drop(id)
		return true
	})
}

// drop is called with mu held.
func (c *pieceCache) drop(id pieceID) {
	c.bytes -= len(c.data[id])
	delete(c.data, id)
}
