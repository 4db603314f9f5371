package relay

import (
	"slices"
	"strings"
	"testing"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/sql/notify"
)

func counts(list []*pb.Said) (out []uint64) {
	for _, m := range list {
		out = append(out, m.Count)
	}
	return out
}

// TestSince: who comes back gets what it has not heard, or, where that is not kept any more, nothing: it sees by the count that it has missed something.
func TestSince(t *testing.T) {
	n := &Net{epoch: 7, followers: map[chan *pb.Said]bool{}}
	for range 5 {
		n.Say([]notify.Notification{{Channel: "x"}})
	}
	for _, c := range []struct {
		asked *pb.FollowRequest
		want  []uint64
	}{
		{&pb.FollowRequest{}, nil},                                      // it has not heard anything yet, and need not
		{&pb.FollowRequest{Epoch: 7, Next: 3}, []uint64{3, 4}},          // it was cut off
		{&pb.FollowRequest{Epoch: 7, Next: 5}, nil},                     // it has heard all
		{&pb.FollowRequest{Epoch: 6, Next: 9}, []uint64{0, 1, 2, 3, 4}}, // of the process before this one
		{&pb.FollowRequest{Epoch: 7, Next: 9}, nil},                     // nonsense
	} {
		if got := counts(n.since(c.asked)); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.asked, got, c.want)
		}
	}
	for range maxBehind {
		n.Say([]notify.Notification{{Channel: "x"}})
	}
	if got := n.since(&pb.FollowRequest{Epoch: 7, Next: 4}); got != nil {
		t.Errorf("%d messages, of which the first is not kept", len(got))
	}
	if got := n.since(&pb.FollowRequest{Epoch: 7, Next: 5}); len(got) != maxBehind || got[0].Count != 5 {
		t.Errorf("%d messages", len(got))
	}
	for range 3 {
		n.Say([]notify.Notification{{Channel: "x", Payload: strings.Repeat("x", keptBytes/2)}})
	}
	if len(n.kept) != 1 || n.bytes > keptBytes {
		t.Errorf("%d messages of %d bytes are kept", len(n.kept), n.bytes)
	}
}

// TestSlowFollower: who is too far behind is sent away, and nobody waits.
func TestSlowFollower(t *testing.T) {
	n := &Net{epoch: 7, followers: map[chan *pb.Said]bool{}}
	f := make(chan *pb.Said, 2)
	n.followers[f] = true
	for range 3 {
		n.Say([]notify.Notification{{Channel: "x"}})
	}
	if len(n.followers) != 0 {
		t.Error("it still follows")
	}
	var got []*pb.Said
	for m := range f {
		got = append(got, m)
	}
	if !slices.Equal(counts(got), []uint64{0, 1}) {
		t.Errorf("it got %v", counts(got))
	}
}
