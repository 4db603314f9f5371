package recent

import (
	"fmt"
	"sync"
	"testing"
)

// TestKeepsWhatComesAgain keeps what comes twice, also where much that comes once is between, and
// lets go what was used longest ago.
func TestKeepsWhatComesAgain(t *testing.T) {
	c := New[string, int](10, 1000)
	once := 0
	others := func(n int) {
		for range n {
			once++
			c.Put(fmt.Sprint("once ", once), 1, once)
		}
	}
	has := func(want bool, keys ...string) {
		t.Helper()
		for _, k := range keys {
			if _, ok := c.Get(k); ok != want {
				t.Errorf("%s is there: %v", k, ok)
			}
		}
	}
	c.Put("a", 1, 1)
	has(false, "a")
	others(10)
	c.Put("a", 1, 2)
	others(1000)
	if v, _ := c.Get("a"); v != 2 || c.Len() != 1 {
		t.Errorf("a is %d, %d are kept", v, c.Len())
	}
	c.Put("a", 1, 3)
	if v, _ := c.Get("a"); v != 3 {
		t.Errorf("a is %d", v)
	}
	c.Put("b", 1, 1)
	others(25)
	c.Put("b", 1, 1) // too long ago
	has(false, "b")
	for i := range 9 {
		for range 2 {
			c.Put(fmt.Sprint("more ", i), 1, i)
		}
	}
	has(true, "more 0", "a") // in this order
	if c.Came("last") {
		t.Error("last came before")
	}
	if c.Put("last", 1, 1); !c.Came("last") {
		t.Error("last did not come")
	}
	has(true, "a", "more 0", "last")
	has(false, "more 1")
}

// TestSize keeps no more than there is room for.
func TestSize(t *testing.T) {
	c := New[int, int](10, 100)
	for i := range 5 {
		for range 2 {
			c.Put(i, 40, i)
		}
	}
	if _, ok := c.Get(4); c.Len() != 2 || !ok {
		t.Error(c.Len(), ok)
	}
	for range 2 {
		c.Put(5, 101, 5) // more than all
	}
	if c.Len() != 0 || c.size != 0 {
		t.Error(c.Len(), c.size)
	}
}

func TestConcurrently(t *testing.T) {
	c := New[int, int](16, 1000)
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for i := range 10_000 {
				k := i % 20
				if v, ok := c.Get(k); ok && v != k {
					t.Errorf("%d gives %d", k, v)
				}
				c.Put(k, 1, k)
			}
		})
	}
	done.Wait()
	if c.Len() != 16 {
		t.Error(c.Len())
	}
}
