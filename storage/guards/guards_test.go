package guards

import (
	"errors"
	"testing"

	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/txn"
)

func span(from, to string) []txn.Span { return []txn.Span{{Start: []byte(from), End: []byte(to)}} }

// TestMet: a writer meets the guards that have read its key, once each, until they end or the write
// is undone.
func TestMet(t *testing.T) {
	var s Set
	var m Met
	own := txn.NewID()
	mine := New(own, "mine", span("a", "z"))
	one, two := New(txn.NewID(), "one", span("b", "d")), New(txn.NewID(), "two", span("c", "e"))
	m.Note(s.All(), own, []byte("c"))
	for _, g := range []*Guard{mine, one, two} {
		s.Add(g)
	}
	written, failure := true, error(nil)
	touches := func([]txn.Span) (bool, error) { return written, failure }
	if g, _ := m.Next(touches); g != nil {
		t.Error("a guard that came later is met")
	}
	m.Note(s.All(), own, []byte("c"))
	m.Note(s.All(), own, []byte("c"))
	if g, key := m.Next(touches); g != one || string(key) != "c" {
		t.Error(g, key)
	}
	if g, err := m.InTheWay(touches); g != one || err != nil {
		t.Error(g, err)
	}
	s.Drop(one.ID)
	<-one.Ended()
	if g, _ := m.Next(touches); g != two {
		t.Error(g)
	}
	failure = errors.New("the buffer cannot be read")
	if _, err := m.InTheWay(touches); err != failure {
		t.Error(err)
	}
	if written, failure = false, nil; len(s.All()) != 2 {
		t.Error(s.All())
	}
	if g, _ := m.Next(touches); g != nil {
		t.Error("a write that was undone is waited for")
	}
	written = true
	if g, _ := m.Next(touches); g != nil {
		t.Error("a guard was not forgotten")
	}
	m.FoundBy(two)
	m.FoundBy(two)
	if g, err := m.InTheWay(touches); g != two || err != nil || len(m.earlier) != 1 {
		t.Error(g, err, m.earlier)
	}
	s.Replace(nil)
	<-two.Ended()
	if g, err := m.InTheWay(touches); g != nil || err != nil || len(s.All()) != 0 {
		t.Error(g, err)
	}
}

// TestWaits: a wait is listed until it is over.
func TestWaits(t *testing.T) {
	var s Set
	x := locktable.Info{Holder: txn.LockOwner{ID: txn.NewID()}, Key: []byte("k")}
	done := s.Wait(x)
	if got := s.Waits(); len(got) != 1 || got[0].Holder.ID != x.Holder.ID {
		t.Error(got)
	}
	if done(); len(s.Waits()) != 0 {
		t.Error("a wait that is over is listed")
	}
}
