package fragment_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/internal/teststore"
	"github.com/sherddb/sherd/storage"
)

// A fragment gets replicas, survives its leader, and leaves a node, which then has nothing of it.
func TestReplicasComeAndGo(t *testing.T) {
	t.Parallel()
	c := teststore.OpenCluster(t, nil)
	c.Put(0, 1, []byte("alone"))
	c.Place(catalog.Fragment{Nodes: []uint32{1, 2, 3}, Joining: []uint32{2, 3}})
	c.Placed(1, 2, 3)
	c.Put(0, 2, []byte("of three"))

	old, _ := c.Leader(0)
	var rest []string
	for n := range uint32(3) {
		if n+1 != old {
			rest = append(rest, testcluster.Host(n+1))
		}
	}
	c.Net.Partition([]string{testcluster.Host(old)}, rest)
	c.Put(old, 3, []byte("without the leader"))
	ctx, cancel := context.WithTimeout(c.Context, 300*time.Millisecond)
	if T, err := c.Stores[old-1].Replicas.Get(c.Fragment).Snapshot(ctx); err == nil {
		t.Fatalf("T5: the leader that was cut off gave %s as the newest", T)
	}
	cancel()
	c.Net.Heal()
	for i, want := range []string{"alone", "of three", "without the leader"} {
		if got := c.Get(0, i+1); got != want {
			t.Fatalf("row %d: %q", i+1, got)
		}
	}
	eventually.Holds(t, "the node leads that should: another than before, if that was silent for long", func() bool {
		n, _ := c.Leader(0)
		_, f := c.Catalogs[1].View().Fragment(c.Fragment)
		return n == f.Nodes[0]
	})
	c.Place(catalog.Fragment{Nodes: []uint32{1, 2, 3}, Leaving: []uint32{1}})
	c.Placed(2, 3)
	eventually.Holds(t, "node 1 has dropped its replica", func() bool {
		_, err := os.Stat(filepath.Join(c.Dirs[0], "fragments", fmt.Sprint(c.Fragment)))
		return errors.Is(err, fs.ErrNotExist) && c.Stores[0].Replicas.Get(c.Fragment) == nil
	})
	if got := c.Get(0, 3); got != "without the leader" {
		t.Fatalf("%q", got)
	}
	c.Place(catalog.Fragment{Nodes: []uint32{1, 2, 3}, Joining: []uint32{1}})
	c.Placed(1, 2, 3)
	if got := c.Get(0, 1); got != "alone" {
		t.Fatalf("%q", got)
	}
}

// A replica that is brought in late gets the database as a stream, while others write, and one that was away goes on from the log or a stream.
func TestReplicaIsFilled(t *testing.T) {
	t.Parallel()
	c := teststore.OpenCluster(t, func(s *storage.Config) { s.Group.LogEntries, s.Group.LogSegment = 64, 1<<20 })
	value := make([]byte, 4<<10)
	for i := range 600 {
		c.Put(0, i, value)
	}
	stop, wrote := make(chan struct{}), make(chan int)
	go func() {
		n := 1000
		for {
			select {
			case <-stop:
				wrote <- n
				return
			default:
				c.Put(0, n, value)
				n++
			}
		}
	}()
	c.Place(catalog.Fragment{Nodes: []uint32{1, 2, 3}, Joining: []uint32{2, 3}})
	c.Placed(1, 2, 3)
	close(stop)
	last := <-wrote
	c.Place(catalog.Fragment{Nodes: []uint32{2, 3, 1}, Leaving: []uint32{1}})
	c.Placed(2, 3)
	for _, i := range []int{0, 599, 1000, last - 1} {
		if got := c.Get(0, i); len(got) != len(value) {
			t.Fatalf("row %d has %d bytes", i, len(got))
		}
	}
}
