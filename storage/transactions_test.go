package storage

import (
	"testing"

	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/protocol"
)

// preparedAt returns a prepared transaction that writes keys at C.
func preparedAt(id byte, C txn.Timestamp, keys ...string) *preparedTxn {
	p := &preparedTxn{id: txn.ID{id}, Writer: protocol.Writer[txn.Timestamp]{C: C}, resolved: make(chan struct{})}
	p.keys = func() (out [][]byte) {
		for _, k := range keys {
			out = append(out, []byte(k))
		}
		return out
	}
	return p
}

// TestTransactions: readers find what is prepared at or below their timestamp, but their own; the
// watermark stays below all of it; and those that wait are woken when it is resolved or installed.
func TestTransactions(t *testing.T) {
	var x transactions
	x.clear()
	a, b := preparedAt(1, 10, "a"), preparedAt(2, 20, "b")
	b.installing = true
	x.prepared[a.id], x.installing[b.id] = a, b
	x.count()
	any := func(*preparedTxn) bool { return true }
	for _, c := range []struct {
		T    txn.Timestamp
		own  txn.ID
		want *preparedTxn
	}{{9, txn.ID{}, nil}, {10, txn.ID{}, a}, {19, a.id, nil}, {20, a.id, b}} {
		if got := x.find(c.T, c.own, any); got != c.want {
			t.Errorf("at %d, own %v: %v", uint64(c.T), c.own, got)
		}
	}
	if x.findWriter(30, txn.ID{}, []byte("a")) != a || x.findWriter(30, txn.ID{}, []byte("b")) != nil {
		t.Error("a prepared writer of a, and none of b")
	}
	if needed, installing := x.oldestNeeded(), x.oldestInstalling(); needed != 9 || installing != 20 {
		t.Errorf("needed from %d, installing from %d", uint64(needed), uint64(installing))
	}
	if list := x.listUndecided(30); len(list) != 1 || list[0].ID != a.id {
		t.Errorf("%+v", list)
	}
	x.mu.Lock()
	x.resolved(a.id)
	x.resolved(a.id)
	x.count()
	x.mu.Unlock()
	<-a.resolved
	if x.installed(b.id); x.undecided.Load() != 0 {
		t.Errorf("%d are undecided", x.undecided.Load())
	}
	<-b.resolved
	if x.findWriter(30, txn.ID{}, []byte("a")) != nil || x.oldestNeeded() != txn.MaxTimestamp {
		t.Error("something is left")
	}
}
