package taskserver

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/sherddb/sherd/cluster/nodepb"
)

// TestDamagedTasks sends tasks with some flipped bits: each ends with an answer, or its stream
// ends, and the server goes on. The parts of a task have their own fuzz targets.
func TestDamagedTasks(t *testing.T) {
	// A damaged plan may panic: only its request fails then. So panics do not fail this test.
	w := open(t, func(c *Config) { c.Logger = slog.New(slog.DiscardHandler) })
	w.insert("notes", 0, 100)
	rnd := rand.New(rand.NewPCG(1, 1))
	ended := map[bool]int{}
	for _, text := range []string{"SELECT k, t FROM notes WHERE t > 'row 5' AND k < 50",
		"SELECT t FROM notes WHERE k > 7 FOR UPDATE"} {
		_, p := w.plan(text)
		id, task := w.begin().scan("SELECT k FROM notes")
		task.Plan = p.Root.Children()[0]
		good, err := w.begin().taskBegin(id, task)
		must(t, err)
		seed, err := proto.Marshal(good)
		must(t, err)
		for range 500 {
			b, damaged := &pb.TaskBegin{}, append([]byte(nil), seed...)
			for range rnd.IntN(4) {
				damaged[rnd.IntN(len(damaged))] ^= 1 << rnd.IntN(8)
			}
			if proto.Unmarshal(damaged, b) != nil {
				continue
			}
			if b.Go, b.TimeLeftMicros = true, 1; b.Header != nil {
				b.Header.CatalogVersion = 0 // otherwise it may wait for a version that never comes
			}
			ended[w.ends(b)]++
			for node, ids := range w.parts.Idle(-time.Hour) {
				w.parts.DropTransactions(node, ids)
			}
		}
	}
	if ended[true] < 100 || ended[false] == 0 {
		t.Errorf("%d tasks succeeded, %d failed", ended[true], ended[false])
	}
}

// ends runs a task to its end, and reports whether it succeeded.
func (w *world) ends(b *pb.TaskBegin) bool {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	stream, err := w.tasks.Run(ctx)
	must(w.t, err)
	must(w.t, stream.Send(&pb.TaskPart{Kind: &pb.TaskPart_Begin{Begin: b}}))
	for {
		a, err := stream.Recv()
		if err != nil {
			return false
		}
		if end := a.GetEnd(); end != nil {
			return end.Failure == nil
		}
	}
}
