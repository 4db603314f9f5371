package raftgroup

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/raftlog"
)

// refusing is a log that has no room while full is set.
type refusing struct {
	raft.LogStore
	full bool
}

func (l *refusing) IsMonotonic() bool { return true }

func (l *refusing) StoreLogs(logs []*raft.Log) error {
	if l.full {
		return errors.New("no space left on device")
	}
	return l.LogStore.StoreLogs(logs)
}

// A follower whose disk is full when its leader replaces the tail of its log accepts the entries
// once there is room.
func TestFullDiskWhenATailIsReplaced(t *testing.T) {
	device, err := raftlog.Open(raftlog.Options{Dir: t.TempDir(), SegmentSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	addrA, leader := raft.NewInmemTransport("a")
	addrB, transB := raft.NewInmemTransport("b")
	leader.Connect(addrB, transB)
	transB.Connect(addrA, leader)
	log := &refusing{}
	g, err := Open(Options{
		Dir: t.TempDir(), Name: "test", FSM: &journal{}, ID: "b", Transport: transB, Join: true, Device: device,
		DeviceGroup: 1,
		WrapLog:     func(l raft.LogStore) raft.LogStore { log.LogStore = l; return log },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	send := func(term, after uint64, terms ...uint64) bool {
		t.Helper()
		req := &raft.AppendEntriesRequest{
			RPCHeader: raft.RPCHeader{
				ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("a"), Addr: []byte(addrA),
			},
			Term:         term,
			PrevLogEntry: after, PrevLogTerm: min(after, 1), Leader: []byte(addrA),
		}
		for i, x := range terms {
			req.Entries = append(
				req.Entries, &raft.Log{Index: after + 1 + uint64(i), Term: x, Type: raft.LogCommand, Data: []byte("x")},
			)
		}
		var resp raft.AppendEntriesResponse
		if err := leader.AppendEntries("b", addrB, req, &resp); err != nil {
			t.Fatal(err)
		}
		return resp.Success
	}
	if !send(1, 0, 1, 1, 1, 1, 1) {
		t.Fatal("refused by an empty log")
	}
	log.full = true
	if send(2, 3, 2) {
		t.Fatal("taken by a full disk")
	}
	if last := g.LastIndex(); last != 5 {
		t.Errorf("Raft has %d entries", last)
	}
	if last, _ := g.log.(*raftlog.Group).LastIndex(); last != 5 {
		t.Errorf("the log has %d entries", last)
	}
	log.full = false
	if !send(2, 3, 2) {
		t.Fatal("refused though there is room again")
	}
	var l raft.Log
	if err := g.Log().GetLog(4, &l); err != nil || l.Term != 2 {
		t.Errorf("entry 4: %v, %v", l, err)
	}
	if last, _ := g.log.(*raftlog.Group).LastIndex(); last != 4 {
		t.Errorf("the log has %d entries", last)
	}
}
