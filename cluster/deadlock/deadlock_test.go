package deadlock

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/txn"
)

func open(t *testing.T, n int) (detectors []*Detector) {
	t.Helper()
	c := testcluster.New(t, n, nil)
	for _, node := range c.Nodes {
		s := New(Config{
			Self: node.Number, Waits: txn.NewDetector(), Port: node.Port, Logger: slog.New(slog.DiscardHandler),
			Nodes: func() (all []uint32) {
				for i := range c.Nodes {
					all = append(all, uint32(i+1))
				}
				return all
			},
		}, node.Members)
		node.Serve()
		detectors = append(detectors, s)
	}
	return detectors
}

func block(t *testing.T, s *Detector, waiter txn.LockOwner, blockers ...txn.LockOwner) chan error {
	t.Helper()
	ended := make(chan error, 1)
	w := &txn.Wait{Waiter: waiter, Lock: "ShareLock", Key: []byte("k"), Fragment: txn.FragmentID(s.cfg.Self)}
	w.End = func(err error) {
		s.cfg.Waits.Done(w)
		ended <- err
	}
	if err := s.cfg.Waits.Block(w, blockers...); err != nil {
		t.Fatal(err)
	}
	return ended
}

// TestThreeNodes has a circle over three nodes, found by one whose wait is not the victim's: it ends that at its node.
func TestThreeNodes(t *testing.T) {
	s := open(t, 3)
	a, b, c := txn.LockOwner{ID: txn.ID{15: 1}, Session: 1}, txn.LockOwner{ID: txn.ID{15: 3}, Session: 1<<20 + 1}, txn.LockOwner{ID: txn.ID{15: 2}, Session: 2<<20 + 1}
	ofA, ofB, ofC := block(t, s[0], a, b), block(t, s[1], b, txn.LockOwner{Session: c.Session}), block(t, s[2], c, a)
	soon := time.Now().Add(time.Hour)
	if n := s[0].Search(t.Context(), time.Now().Add(-time.Hour)); n != 0 {
		t.Errorf("%d circles of waits that do not last", n)
	}
	for len(ofB) == 0 {
		s[0].Search(t.Context(), soon) // again where a node was not connected yet
		if t.Context().Err() != nil {
			t.Fatal("not found")
		}
	}
	err := <-ofB
	if e := pgerr.From(err); e.Code != pgerr.DeadlockDetected || strings.Count(e.Detail, "\n") != 2 ||
		!strings.HasPrefix(e.Detail, "Process 1048577 waits for ShareLock on transaction") {
		t.Errorf("%+v", e)
	}
	for i := range s {
		if n := s[i].Search(t.Context(), soon); n != 0 {
			t.Errorf("node %d finds %d more", i+1, n)
		}
	}
	if len(ofA)+len(ofC) != 0 {
		t.Error("somebody else was ended too")
	}
}
