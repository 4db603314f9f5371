package catalog

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/raft"
)

// TestRestartBehindInstalledSnapshot is a replica that got all from another server's snapshot, whose last entries were Raft's own, and was killed a
// little later: its log begins behind the snapshot, and what it had applied of it is applied again.
func TestRestartBehindInstalledSnapshot(t *testing.T) {
	const commands, snapshot = 20, 23 // 21 to 23 were changes of members
	entries := randomEntries(t, rand.New(rand.NewPCG(5, 5)), newMachine(), 2*commands)
	whole, log, next := newMachine(), raft.NewInmemStore(), uint64(1)
	for _, data := range entries[:commands] {
		whole.Apply(&raft.Log{Index: next, Data: data})
		next++
	}
	taken := snapshotBytes(t, whole)
	next = snapshot + 1
	for _, data := range entries[commands:] {
		l := raft.Log{Index: next, Type: raft.LogCommand, Data: data}
		whole.Apply(&l)
		if err := log.StoreLog(&l); err != nil {
			t.Fatal(err)
		}
		next++
	}

	m := newMachine()
	m.replay = &replay{}
	if err := m.recover(log, snapshot, next-1); err != nil {
		t.Fatal(err)
	}
	m.replay.snapshot.Store(snapshot)
	if err := m.Restore(io.NopCloser(bytes.NewReader(taken))); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshotBytes(t, m), snapshotBytes(t, whole)) {
		t.Fatal("the replica differs from the one that was never stopped")
	}
}
