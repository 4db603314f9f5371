package raftnet

import (
	"testing"

	"github.com/hashicorp/raft"
)

// TestNobodyTakesAnswers: raft stops taking a pipeline's answers before it stops sending, and
// closes the pipeline only when its last append was taken.
func TestNobodyTakesAnswers(t *testing.T) {
	t.Parallel()
	c := newTrio(t, 0, nil)
	p, err := c.mux[0].Transport(99).AppendEntriesPipeline(ServerID(2), "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 5 * inFlight {
		f, err := p.AppendEntries(&raft.AppendEntriesRequest{Term: 1}, &raft.AppendEntriesResponse{})
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Error() // it has been answered, if only that node 2 has no such group
	}
}
