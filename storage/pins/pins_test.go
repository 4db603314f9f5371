package pins

import (
	"slices"
	"testing"

	"github.com/sherddb/sherd/txn"
)

func TestPin(t *testing.T) {
	var s Set
	s.SetWatermark(10)
	if _, err := s.Pin(9); err == nil {
		t.Error("a snapshot below the watermark was pinned")
	}
	r20, err := s.Pin(20)
	if err != nil {
		t.Fatal("20 was not pinned")
	}
	r15, err := s.Pin(15)
	if err != nil {
		t.Fatal("15 was not pinned")
	}
	if got := s.List(); !slices.Equal(got, []txn.Timestamp{15, 20}) {
		t.Errorf("pinned are %d", got)
	}
	if got := s.Pass(30); got != 15 {
		t.Errorf("the watermark may go to %d", got)
	}
	r15()
	r15() // has no further effect
	if got := s.Pass(30); got != 20 {
		t.Errorf("after the release of 15 the watermark may go to %d", got)
	}
	if _, err := s.Pin(19); err == nil {
		t.Error("19 was pinned, though the watermark may have passed it")
	}
	r20()
	if got := s.Pass(30); got != 30 || len(s.List()) != 0 {
		t.Errorf("without pins the watermark may go to %d, pinned are %d", got, s.List())
	}
}

func TestPinOldest(t *testing.T) {
	var s Set
	s.SetWatermark(10)
	T, release := s.PinOldest()
	if T != 10 {
		t.Errorf("pinned from %d on", T)
	}
	if got := s.Pass(30); got != 10 {
		t.Errorf("the watermark may go to %d", got)
	}
	release()
	s.Pass(30)
	if T, _ := s.PinOldest(); T != 30 {
		t.Errorf("while the watermark is on its way to 30, pinned from %d on", T)
	}
}
