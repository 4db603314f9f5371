package txn

import "testing"

func TestWaits(t *testing.T) {
	d := NewDetector()
	a, b := LockOwner{ID: NewID(), Session: 1}, LockOwner{ID: NewID(), Session: 2}
	row := &Wait{Waiter: a, Lock: "ShareLock", Key: []byte("k"), Fragment: 3}
	own := &Wait{Waiter: LockOwner{Session: 4}, Lock: "ExclusiveLock", Object: "advisory lock [1,0,1,1]"}
	if d.Block(row, b) != nil || d.Block(own, a, b) != nil {
		t.Fatal("no cycle")
	}
	got := d.Waits()
	if len(got) != 2 || got[0].Waiter != a || string(got[0].Key) != "k" || got[0].Blockers[0] != b ||
		got[0].Since.IsZero() ||
		got[1].Object != own.Object || len(got[1].Blockers) != 2 || got[1].Since.Before(got[0].Since) {
		t.Fatalf("%+v", got)
	}
	d.Done(row)
	d.Done(own)
	if got := d.Waits(); len(got) != 0 {
		t.Fatal(got)
	}
}
