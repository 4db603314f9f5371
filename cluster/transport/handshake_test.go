package transport

import (
	"bytes"
	"strings"
	"testing"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"google.golang.org/protobuf/proto"
)

func TestAgree(t *testing.T) {
	cases := []struct {
		here, there Version
		cluster     uint32
		want        uint32
		says        string
	}{
		{Version{From: 1, To: 1}, Version{From: 1, To: 1}, 1, 1, ""},
		{Version{From: 1, To: 2}, Version{From: 2, To: 3}, 2, 2, ""},
		{Version{From: 2, To: 3}, Version{From: 1, To: 2}, 2, 2, ""},
		{Version{From: 1, To: 2}, Version{From: 1, To: 2}, 1, 1, ""}, // until the upgrade is finalized
		{Version{From: 1, To: 2}, Version{From: 1, To: 1}, 0, 1, ""}, // here has just joined
		{Version{From: 1, To: 2}, Version{From: 2, To: 3}, 0, 2, ""},
		{Version{From: 1, To: 1}, Version{From: 2, To: 3}, 0, 0, "upgrade this node"},
		{Version{From: 1, To: 1}, Version{From: 2, To: 3}, 1, 0, "finalize_upgrade"},
		{Version{From: 1, To: 2}, Version{From: 2, To: 3}, 1, 0, "finalize_upgrade"},
		{Version{From: 3, To: 4}, Version{From: 1, To: 2}, 3, 0, "upgrade the one that connects"},
		{Version{From: 1, To: 4}, Version{From: 3, To: 2}, 4, 0, "upgrade"},
	}
	for _, c := range cases {
		got, err := agree(c.here, c.there, c.cluster)
		if got != c.want || (err != nil) != (c.want == 0) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v and %v in a cluster at %d: %d, %v", c.here, c.there, c.cluster, got, err)
		}
	}
}

// Every release must be able to read these.
func TestGreetingGolden(t *testing.T) {
	var b bytes.Buffer
	hello := &pb.Hello{ClusterId: "c", Release: "0.1.0", SpeaksFrom: 1, SpeaksTo: 2, WantsNode: 3}
	if err := writeHandshake(&b, hello); err != nil {
		t.Fatal(err)
	}
	if want := "\x00\x00\x00\x11\x01\n\x01c\x12\x050.1.0\x18\x01 \x02(\x03"; b.String() != want {
		t.Fatalf("%q", b.String())
	}
	var got pb.Hello
	if err := readHandshake(&b, &got); err != nil || !proto.Equal(&got, hello) {
		t.Fatalf("%v, %v", &got, err)
	}
}

func FuzzReadGreeting(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x11\x01\n\x01c\x12\x050.1.0\x18\x01 \x02(\x03"))
	f.Add([]byte("\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var hello pb.Hello
		if readHandshake(bytes.NewReader(data), &hello) == nil && len(data) < 5 {
			t.Fatal("read a handshake from nothing")
		}
	})
}
