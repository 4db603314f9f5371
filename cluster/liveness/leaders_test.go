package liveness

import (
	"testing"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/txn"
)

// TestLeadersThatWereSaid: what a node says of itself stays known, whatever others have said
// before, or older messages say after.
func TestLeadersThatWereSaid(t *testing.T) {
	const f = txn.FragmentID(7)
	leads := func(term uint64) []*pb.Leadership { return []*pb.Leadership{{Fragment: 7, Term: term}} }
	all := func(l []*pb.Leadership) *pb.Attendance { return &pb.Attendance{All: true, Leads: l} }
	since := func(term uint64) *pb.Attendance { return &pb.Attendance{Leads: leads(term)} }
	type world struct {
		*Detector
		node2, node3 *peer
	}
	for _, c := range []struct {
		name string
		do   func(w world)
		want Leadership
	}{
		{"the leader of before with the term of after", func(w world) {
			w.Hint(f, Leadership{3, 5})
			w.takeLeads(w.node2, ours, since(5))
		}, Leadership{2, 5}},
		{"and then that one says what it leads", func(w world) {
			w.Hint(f, Leadership{3, 5})
			w.takeLeads(w.node2, ours, since(5))
			w.takeLeads(w.node3, ours, all(nil))
		}, Leadership{2, 5}},
		{"a hint of a newer leader", func(w world) {
			w.takeLeads(w.node2, ours, since(5))
			w.Hint(f, Leadership{3, 6})
		}, Leadership{3, 6}},
		{"which was nothing", func(w world) {
			w.takeLeads(w.node2, ours, since(5))
			w.Hint(f, Leadership{3, 6})
			w.hints[f] = hint{w.hints[f].Leadership, time.Now()}
		}, Leadership{2, 5}},
		{"an older hint", func(w world) {
			w.takeLeads(w.node2, ours, since(5))
			w.Hint(f, Leadership{3, 4})
		}, Leadership{2, 5}},
		{"an older message of the other stream", func(w world) {
			w.takeLeads(w.node2, ours, since(5))
			w.takeLeads(w.node2, theirs, since(0))
		}, Leadership{2, 5}},
		{"the other stream begins with an older one", func(w world) {
			w.takeLeads(w.node2, ours, since(5))
			w.takeLeads(w.node2, theirs, all(nil))
		}, Leadership{2, 5}},
		{"no more, and an older one still is", func(w world) {
			w.takeLeads(w.node2, ours, since(5))
			w.takeLeads(w.node3, ours, since(6))
			w.takeLeads(w.node3, ours, since(0))
		}, Leadership{2, 5}},
		{"no more, on both streams", func(w world) {
			w.takeLeads(w.node2, ours, since(5))
			w.takeLeads(w.node2, theirs, all(leads(5)))
			w.takeLeads(w.node2, ours, since(0))
			w.takeLeads(w.node2, theirs, all(nil))
		}, Leadership{}},
		{"it has left the cluster", func(w world) {
			w.takeLeads(w.node2, ours, since(5))
			w.takeLeads(w.node3, ours, since(6))
			w.mu.Lock()
			delete(w.peers, 3)
			w.withdraw(w.node3)
			w.mu.Unlock()
			w.takeLeads(w.node3, ours, since(7))
		}, Leadership{2, 5}},
	} {
		w := world{Detector: New(Config{Self: 1, Heartbeat: time.Hour})}
		w.node2, w.node3 = w.peer(2), w.peer(3)
		w.node2.alive.Store(true)
		w.node3.alive.Store(true)
		c.do(w)
		if l, ok := w.Leader(f); l != c.want || ok != (c.want.Node != 0) {
			t.Errorf("%s: %v, %v; want %v", c.name, l, ok, c.want)
		}
	}
}
