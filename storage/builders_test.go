package storage

import (
	"testing"
	"time"

	"github.com/dgraph-io/ristretto/v2/z"
)

// TestBuildersAreLetGo has the buffers of Badger's table builders let go beside a large transaction. By itself Badger would take two seconds for each.
func TestBuildersAreLetGo(t *testing.T) {
	r := openTest(t, t.TempDir())
	p := builderPool(r.db)
	if p == nil {
		t.Fatal("Badger keeps the buffers of its table builders in another place now")
	}
	var list []*z.Allocator
	for range builderPooled {
		list = append(list, z.NewAllocator(1<<20, "test"))
	}
	for _, a := range list {
		p.Return(a)
	}
	ctx := testContext(t)
	r.cfg.Pace.worked()
	for _, a := range list {
		for z.AllocatorFrom(a.Ref) != nil {
			select {
			case <-ctx.Done():
				t.Fatal("a buffer is kept")
			case <-time.After(time.Millisecond):
			}
		}
	}
}
