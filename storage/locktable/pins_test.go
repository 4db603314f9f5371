package locktable

import (
	"fmt"
	"testing"
)

// TestPinFile: what a savepoint has undone is not read again, whatever comes after it.
func TestPinFile(t *testing.T) {
	f, err := tempFile(t)()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := newPinFile(f)
	add := func(from, to int) {
		for n := from; n <= to; n++ {
			if err := p.add(int32(n), fmt.Sprint("key ", n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(1, 10)
	p.cut(8)
	add(9, 9) // another one
	add(10, 10)
	p.cut(9)
	add(10, 12)
	p.cut(3)
	add(4, 5)
	p.cut(7)
	var got string
	for range 2 { // a second attempt reads it again
		got = ""
		if err := p.each(func(key []byte) error { got += string(key[4:]) + " "; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if got != "1 2 3 4 5 " {
		t.Error(got)
	}
}
