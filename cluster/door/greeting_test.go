package door

import (
	"bytes"
	"testing"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"google.golang.org/protobuf/proto"
)

func TestAgree(t *testing.T) {
	cases := []struct {
		here, there Version
		want        uint32
	}{
		{Version{From: 1, To: 1}, Version{From: 1, To: 1}, 1},
		{Version{From: 1, To: 2}, Version{From: 2, To: 3}, 2},
		{Version{From: 2, To: 3}, Version{From: 1, To: 2}, 2},
		{Version{From: 1, To: 1}, Version{From: 2, To: 3}, 0},
		{Version{From: 3, To: 4}, Version{From: 1, To: 2}, 0},
		{Version{From: 1, To: 4}, Version{From: 3, To: 2}, 0},
	}
	for _, c := range cases {
		got, err := agree(c.here, c.there)
		if got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%v and %v: %d, %v", c.here, c.there, got, err)
		}
	}
}

// Every release must be able to read these.
func TestGreetingGolden(t *testing.T) {
	var b bytes.Buffer
	hello := &pb.Hello{ClusterId: "c", Release: "0.1.0", SpeaksFrom: 1, SpeaksTo: 2, WantsNode: 3}
	if err := writeGreeting(&b, hello); err != nil {
		t.Fatal(err)
	}
	if want := "\x00\x00\x00\x11\x01\n\x01c\x12\x050.1.0\x18\x01 \x02(\x03"; b.String() != want {
		t.Fatalf("%q", b.String())
	}
	var got pb.Hello
	if err := readGreeting(&b, &got); err != nil || !proto.Equal(&got, hello) {
		t.Fatalf("%v, %v", &got, err)
	}
}

func FuzzReadGreeting(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x11\x01\n\x01c\x12\x050.1.0\x18\x01 \x02(\x03"))
	f.Add([]byte("\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var hello pb.Hello
		if readGreeting(bytes.NewReader(data), &hello) == nil && len(data) < 5 {
			t.Fatal("read a greeting from nothing")
		}
	})
}
