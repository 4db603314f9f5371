package taskserver

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/sql/distexec"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// overheard is the server; the test hears what is sent on its streams.
type overheard struct {
	*Server
	w *world
}

func (o overheard) Run(stream grpc.BidiStreamingServer[pb.TaskPart, pb.TaskAnswer]) error {
	return o.Server.Run(overheardStream{stream, o.w})
}

type overheardStream struct {
	grpc.BidiStreamingServer[pb.TaskPart, pb.TaskAnswer]
	w *world
}

func (s overheardStream) Recv() (*pb.TaskPart, error) {
	part, err := s.BidiStreamingServer.Recv()
	if tell := s.w.heard.Load(); tell != nil && err == nil {
		(*tell)(part)
	}
	return part, err
}

func (s overheardStream) Send(a *pb.TaskAnswer) error {
	if tell := s.w.said.Load(); tell != nil {
		(*tell)(a)
	}
	return s.BidiStreamingServer.Send(a)
}

// distantNode is the other node as a gateway has it.
type distantNode struct {
	*remote.Node
	streams *distexec.Streams
}

// remote returns the other node as a gateway sees it; wall is its clock.
func (w *world) remote(wall func() time.Time) distantNode {
	w.t.Helper()
	nodes := remote.New(remote.Config{
		Incarnation: incarnation, Catalog: w.catalog, Clock: txn.NewClock(wall, 0), Port: w.nodes.Nodes[1].Port,
		Logger: slog.New(slog.DiscardHandler),
	})
	n, err := nodes.Node(1)
	must(w.t, err)
	s := distexec.NewStreams(w.catalog)
	w.t.Cleanup(s.Close)
	return distantNode{n, s}
}

// read runs a scan in the first fragment, as a transaction of its own.
func (w *world) read(ctx context.Context, n distantNode, text string, emit exec.Emit) error {
	w.t.Helper()
	x := w.begin()
	f, task := x.scan(text)
	T, err := x.takeSnapshot(ctx, w.catalog.View().Database(catalog.PostgresDB).Map.Split(task.Buckets))
	must(w.t, err)
	task.T, task.Mem = T, memory.New(64<<20)
	p, err := n.Part(f, x.id, txn.Options{})
	must(w.t, err)
	_, err = n.streams.Run(ctx, p.(*remote.Part), false, task, emit)
	return err
}

// TestLateStop: cancelling a statement as its task ends does not stop the next task on the stream.
// That task may belong to another session, and would return an incomplete answer.
func TestLateStop(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 20_000)
	var ended atomic.Bool // the first task, and its gateway is about to take the answer
	between := func() {}
	n := w.remote(func() time.Time {
		if ended.Swap(false) {
			between()
		}
		return time.Now()
	})
	const all = "SELECT k, repeat(t, 100) FROM notes"
	count := func(rows *int) exec.Emit { return func(types.Row) error { *rows++; return nil } }
	whole := 0
	must(t, w.read(t.Context(), n, all, count(&whole)))

	first, cancel := context.WithCancel(t.Context())
	defer cancel()
	stops, running, release := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	rows, second := 0, make(chan error, 1)
	between = func() {
		go func() {
			second <- w.read(t.Context(), n, all, func(types.Row) error {
				if rows++; rows == 1 {
					close(running)
					<-release
				}
				return nil
			})
		}()
		<-running
		cancel()
		<-stops
	}
	heard := func(part *pb.TaskPart) {
		if part.GetStop() != nil {
			stops <- struct{}{}
		}
	}
	said := func(a *pb.TaskAnswer) {
		if a.GetEnd() != nil {
			w.said.Store(nil)
			ended.Store(true)
		}
	}
	w.heard.Store(&heard)
	w.said.Store(&said)
	must(t, w.read(first, n, "SELECT k FROM notes WHERE k < 10", func(types.Row) error { return nil }))
	close(release)
	if err := <-second; err != nil || rows != whole || whole < 5000 {
		t.Errorf("%d of %d rows, %v", rows, whole, err)
	}
}

// TestUnaskedStop: an incomplete answer is an error, whichever side has stopped the task.
func TestUnaskedStop(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 100)
	n := w.remote(nil)
	said := func(a *pb.TaskAnswer) {
		if end := a.GetEnd(); end != nil {
			end.Stopped, end.Rows = true, nil
		}
	}
	w.said.Store(&said)
	err := w.read(t.Context(), n, "SELECT k FROM notes", func(types.Row) error { return nil })
	var silent *kv.NoAnswer
	if !errors.As(err, &silent) {
		t.Errorf("got %v", err)
	}
}
