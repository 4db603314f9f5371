package remote

import (
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// A first read of a SERIALIZABLE transaction is cut off after rows were shown to the client, and before any answer told
// of the write buffer. ROLLBACK TO SAVEPOINT does not take back what the client knows: the commit
// validates, and fails.
func TestReadsOfALostBuffer(t *testing.T) {
	node := &Node{nodes: &Nodes{cfg: Config{Clock: txn.NewClock(nil, 0)}}}
	for isolation, reads := range map[txn.Isolation]bool{txn.Serializable: true, txn.RepeatableRead: false, txn.ReadCommitted: false} {
		p := &Part{node: node, fragment: 7, options: txn.Options{Isolation: isolation}}
		if p.HasReads() {
			t.Errorf("%v: nothing was read", isolation)
		}
		p.Lose()
		if p.HasReads() != reads {
			t.Errorf("%v: HasReads of a lost write buffer is %v", isolation, !reads)
		}
		if err := p.Check(t.Context(), 1); !pgerr.Is(err, pgerr.SerializationFailure) {
			t.Errorf("%v: a lost write buffer is valid: %v", isolation, err)
		}
	}
}
