package raftgroup

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftlog"
)

// journal is a state machine that keeps its entries.
type journal struct {
	mu      sync.Mutex
	entries [][]byte
}

func (j *journal) Apply(l *raft.Log) any {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, bytes.Clone(l.Data))
	return len(j.entries)
}

func (j *journal) has(entry string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.entries, func(b []byte) bool { return string(b) == entry })
}

func (j *journal) Snapshot() (raft.FSMSnapshot, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return journalSnap(bytes.Join(j.entries, []byte("\n"))), nil
}

func (j *journal) Restore(r io.ReadCloser) error {
	defer r.Close()
	b, err := io.ReadAll(r)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = bytes.Split(b, []byte("\n"))
	return err
}

type journalSnap []byte

func (s journalSnap) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(s); err != nil {
		return err
	}
	return sink.Close()
}
func (s journalSnap) Release() {}

// testTimeout bounds every wait, on a machine that may be busy with other work.
const testTimeout = 3 * time.Minute

// bubble runs a test by a synthetic clock. Time passes only while every goroutine waits, so no leader
// loses its lease because the machine stands still.
func bubble(t *testing.T, f func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // what is still on its way times out
		f(t)
	})
}

func open(t *testing.T, dir string, o Options) (*Group, *journal) {
	t.Helper()
	j := &journal{}
	o.Dir, o.Name, o.FSM = dir, "test", j
	g, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	if err := g.WaitLeader(ctx); err != nil {
		t.Fatal(err)
	}
	return g, j
}

func TestApplySurvivesReopen(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	for round := 1; round <= 3; round++ {
		restoring := uint64(0)
		g, j := open(t, dir, Options{RestoreOnStart: true, TrailingLogs: 1, Restoring: func(i uint64) {
			restoring = i
		}})
		if told := restoring > 0; told != (round == 3) {
			t.Fatalf("round %d: a snapshot of entry %d is restored", round, restoring)
		}
		resp, index, err := g.Apply(ctx, []byte{'a' + byte(round)})
		if err != nil || resp != round || index == 0 {
			t.Fatalf("round %d: response %v index %d err %v", round, resp, index, err)
		}
		if len(j.entries) != round {
			t.Fatalf("round %d: %d entries", round, len(j.entries))
		}
		if err := g.Confirm(ctx); err != nil {
			t.Fatal(err)
		}
		if round == 2 { // the third round restores a snapshot
			if err := g.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMoveToDevice: a group with a log of its own continues in a shared device; what an interrupted
// move left there is deleted.
func TestMoveToDevice(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	g, _ := open(t, dir, Options{})
	for _, s := range []string{"a", "b", "c"} {
		if _, _, err := g.Apply(ctx, []byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	g.Close()
	device, err := raftlog.Open(raftlog.Options{Dir: t.TempDir(), SegmentSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	left, err := device.Group(4)
	if err == nil {
		err = left.StoreLog(&raft.Log{Index: 77, Term: 9})
	}
	if err != nil {
		t.Fatal(err)
	}
	left.Close()
	for range 2 {
		g, j := open(t, dir, Options{Device: device, DeviceGroup: 4})
		if got := string(bytes.Join(j.entries, nil)); got != "abc" {
			t.Fatalf("entries %q", got)
		}
		g.Close()
	}
}

// TestStartIsFast: the only voter of a group leads without waiting for the heartbeat of another.
func TestStartIsFast(t *testing.T) {
	open(t, t.TempDir(), Options{Election: 10 * testTimeout})
}

func TestClosedGroupRefuses(t *testing.T) {
	g, _ := open(t, t.TempDir(), Options{})
	g.Close()
	_, _, err := g.Apply(context.Background(), []byte("x"))
	if !pgerr.Is(err, pgerr.CannotConnectNow) {
		t.Fatalf("got %v", err)
	}
}

func TestOversizedEntry(t *testing.T) {
	g, _ := open(t, t.TempDir(), Options{})
	_, _, err := g.Apply(context.Background(), make([]byte, MaxEntry+1))
	if !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Fatalf("got %v", err)
	}
}

func TestLeadershipNotices(t *testing.T) {
	terms := make(chan uint64, 4)
	g, _ := open(t, t.TempDir(), Options{OnLeader: func(term uint64) { terms <- term }})
	if term := <-terms; term == 0 || term != g.Term() {
		t.Fatalf("term %d, group says %d", term, g.Term())
	}
}

func BenchmarkApply16(b *testing.B) {
	g, err := Open(Options{Dir: b.TempDir(), Name: "bench", FSM: &journal{}})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	if err := g.WaitLeader(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		data := make([]byte, 256)
		for pb.Next() {
			if _, _, err := g.Propose(data).Done(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// TestTermOfEntries: an entry names the term in which it counts; the state machine refuses other
// terms.
func TestTermOfEntries(t *testing.T) {
	g, _ := open(t, t.TempDir(), Options{})
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	if err := g.WaitLeader(ctx); err != nil {
		t.Fatal(err)
	}
	_, index, err := g.ProposeIn(g.Term()+300, []byte("x")).Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var l raft.Log
	if err := g.Log().GetLog(index, &l); err != nil {
		t.Fatal(err)
	}
	if term, err := TermOf(&l); err != nil || term != g.Term()+300 {
		t.Fatal(term, err)
	}
	if _, err := TermOf(&raft.Log{Extensions: []byte{2, 1}}); err == nil {
		t.Error("extensions of a later release are read")
	}
	if _, err := TermOf(&raft.Log{Extensions: []byte{1, 0x80}}); err == nil {
		t.Error("extensions that are cut off are read")
	}
}
