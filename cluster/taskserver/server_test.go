package taskserver

import (
	"testing"
)

func TestStatements(t *testing.T) {
	w := open(t, nil)
	w.insert("notes", 0, 1000)
	x := w.begin()
	if got := x.must("SELECT count(*), min(k), max(k) FROM notes"); len(got) != 1 || got[0] != "1000|0|999" {
		t.Errorf("got %v", got)
	}
	if got := x.must("SELECT t FROM notes WHERE k = 77"); len(got) != 1 || got[0] != "row 77" {
		t.Errorf("got %v", got)
	}
	if got := x.must("SELECT k FROM notes ORDER BY k LIMIT 3 OFFSET 500"); len(got) != 3 || got[0] != "500" {
		t.Errorf("got %v", got)
	}
	if _, n, err := x.exec("UPDATE notes SET t = 'new' WHERE k < 10"); n != 10 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	if got := x.must("SELECT count(*) FROM notes WHERE t = 'new'"); got[0] != "10" {
		t.Errorf("own writes: %v", got)
	}
	other := w.begin()
	if got := other.must("SELECT count(*) FROM notes WHERE t = 'new'"); got[0] != "0" {
		t.Errorf("others see %v", got)
	}
	must(t, x.commit())
	if got := other.must("SELECT count(*) FROM notes WHERE t = 'new'"); got[0] != "10" {
		t.Errorf("others see %v after the commit", got)
	}
}
