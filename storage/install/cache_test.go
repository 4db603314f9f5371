package install

import "testing"

// TestPieceCache: the cache keeps within its size, and forgets the pieces of one install.
func TestPieceCache(t *testing.T) {
	var c pieceCache
	x, y := &Rows{}, &Rows{}
	b := make([]byte, pieceCacheBytes/4)
	for n := range 5 {
		c.put(x, n, b)
		c.put(x, n, b)
	}
	if c.get(x, 0) != nil || c.get(x, 1) == nil || c.get(x, 4) == nil || c.get(y, 1) != nil ||
		c.bytes != pieceCacheBytes {
		t.Errorf("%d bytes are kept, want the last four pieces", c.bytes)
	}
	c.put(y, 9, b)
	c.forget(x)
	if len(c.order) != 1 || len(c.data) != 1 || c.bytes != len(b) || c.get(y, 9) == nil {
		t.Errorf("%d pieces and %d bytes are kept, want one", len(c.order), c.bytes)
	}
	c.put(x, 0, make([]byte, pieceCacheBytes+1))
	if c.get(x, 0) != nil || c.get(y, 9) == nil {
		t.Error("a piece larger than the cache is kept")
	}
}
