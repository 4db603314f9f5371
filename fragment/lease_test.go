package fragment

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/testlog"
	"github.com/sherddb/sherd/raftlog"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

const gateway, incarnation = 2, 42

// open opens a fragment and a Server over it.
func open(t *testing.T) (*Server, *storage.Replica) {
	t.Helper()
	dir, logger, clock := t.TempDir(), testlog.New(t), txn.NewClock(nil, 0)
	device, err := raftlog.Open(raftlog.Options{Dir: filepath.Join(dir, "log"), Logger: logger})
	must(t, err)
	t.Cleanup(func() { must(t, device.Close()) })
	r, err := storage.Open(storage.Config{
		Dir: filepath.Join(dir, "1"), Group: storage.GroupConfig{Device: device}, Fragment: 1, Clock: clock,
		Logger:   logger,
		Deadlock: txn.NewDetector(),
	})
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	must(t, r.Group.WaitReady(t.Context()))
	replicas := NewReplicas(ReplicasConfig{})
	replicas.by[r.ID()] = r
	return New(Config{Replicas: replicas, Clock: clock, Logger: logger}), r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lease begins the part of a transaction of the gateway, with a write in it.
func lease(t *testing.T, s *Server, r *storage.Replica) (*LeasedPart, *Call) {
	t.Helper()
	c := &Call{Fragment: r.ID(), ID: txn.NewID(), Replica: r, Term: r.Group.Term(), node: gateway, incarnation: incarnation}
	p, err := s.Begin(c, txn.ReadCommitted, 7)
	must(t, err)
	key := append(keyspace.RowPrefix(100, 1, 0), 'k')
	must(t, p.LockNewest(t.Context(), key))
	must(t, p.Put(key, []byte("v")))
	c.birth = p.birth
	return p, c
}

var commit = &pb.Request{Op: &pb.Request_Commit{Commit: &pb.CommitRequest{}}}

// TestPartOfAnEarlierTerm: a part ends with the term of its leader. A gateway that knows of it is
// told that it is lost; one that does not may begin another.
func TestPartOfAnEarlierTerm(t *testing.T) {
	s, r := open(t)
	p, c := lease(t, s, r)
	p.term--
	var lost *txn.LostError
	if _, err := s.Find(c); !errors.As(err, &lost) || !lost.Buffered {
		t.Errorf("got %v", err)
	}
	if _, err := s.answer(t.Context(), c, commit); !errors.As(err, &lost) {
		t.Errorf("a commit: %v", err)
	}
	p, c = lease(t, s, r) // the lock is free
	p.term--
	c.birth = 0
	if found, err := s.Find(c); found != nil || err != nil {
		t.Errorf("got %v, %v", found, err)
	}
	if s.Leased() != 0 || len(s.leases.gateways) != 0 {
		t.Errorf("%d parts of %d transactions are left", s.Leased(), len(s.leases.gateways))
	}
}

// TestPartDroppedUnderCommit: a part may be dropped after a commit has found it.
func TestPartDroppedUnderCommit(t *testing.T) {
	s, r := open(t)
	p, c := lease(t, s, r)
	p.drop(txn.NewLost(p.fragment, true))
	p.Rollback()
	var lost *txn.LostError
	if _, err := s.answer(t.Context(), c, commit); !errors.As(err, &lost) {
		t.Errorf("got %v", err)
	}
}

// TestPinsEndWithTheTransaction: the pins of a transaction of this node are released by one
// request, and those of another node with its part.
func TestPinsEndWithTheTransaction(t *testing.T) {
	s, r := open(t)
	T, err := r.Snapshot(t.Context())
	must(t, err)
	pin := func(c *Call) {
		t.Helper()
		for range 2 {
			_, err := s.pin(c, &pb.PinRequest{T: uint64(T)})
			must(t, err)
		}
		if n := len(r.PinnedSnapshots()); n != 2 {
			t.Errorf("%d pins", n)
		}
	}
	id := txn.NewID()
	send := func(f txn.FragmentID, r *pb.Request) error {
		r.Fragment, r.Transaction = uint32(f), id[:]
		_, err := s.Send(context.Background(), r)
		return err
	}
	pin(&Call{Fragment: r.ID(), ID: id, Replica: r})
	must(t, send(r.ID(), &pb.Request{Op: &pb.Request_Unpin{Unpin: &pb.UnpinRequest{}}}))
	if n := len(r.PinnedSnapshots()); n != 0 {
		t.Errorf("%d pins of this node are left", n)
	}
	pin(&Call{Fragment: r.ID(), ID: id, Replica: r, Term: r.Group.Term(), node: gateway, incarnation: incarnation})
	s.DropGateway(gateway, incarnation)
	if n := len(r.PinnedSnapshots()); n != 0 {
		t.Errorf("%d pins of another node are left", n)
	}
	if err := send(9, &pb.Request{Op: &pb.Request_InDoubt{InDoubt: &pb.InDoubtRequest{}}}); err == nil {
		t.Error("a fragment that is not here answers")
	}
	a, _ := (Service{Server: s}).Send(t.Context(), &pb.Request{Fragment: 9})
	if failure.Decode(a.GetFailure(), 9) == nil {
		t.Error("a call without a node of the cluster behind it is answered")
	}
}
