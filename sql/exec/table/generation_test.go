package table

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
)

// The forms of entries' values are on disk (V1).
func TestFormsOfEntries(t *testing.T) {
	row := append(append([]byte{0, 0, 0, 9, 0, 0, 0, 0, 0x0a, 0xbc, 0xde}, 0, 0, 0, 0), "key"...)
	for _, x := range []struct {
		name       string
		exclusive  bool
		generation uint32
		want       string
	}{
		{"with its key", true, 0, "010abcde6b6579"},
		{"with a length", false, 0, "020abcde0003"},
		{"with its key, arrived", true, 0x01020304, "030abcde010203046b6579"},
		{"with a length, arrived", false, 0x01020304, "040abcde010203040003"},
	} {
		plain := AppendEntryValue(nil, row, x.exclusive)
		got := AppendMoved(nil, plain, x.generation)
		if hex.EncodeToString(got) != x.want {
			t.Errorf("%s: %x", x.name, got)
		}
		p, ok := placeOfEntry(got)
		if !ok || p != (Place{Bucket: 0x0abcde, generation: x.generation}) {
			t.Errorf("%s: its place is %v, %v", x.name, p, ok)
		}
		if back := appendPlain(nil, got); !bytes.Equal(back, plain) {
			t.Errorf("%s: plain is %x, not %x", x.name, back, plain)
		}
		table := &Table{Def: &catalog.Table{StorageID: 9}}
		key := append([]byte{0, 0, 0, 9, 0, 0, 0, 7, 'v'}, "key"...)
		if named, err := table.RowOfEntry(nil, key, got); err != nil || !bytes.Equal(named, row) {
			t.Errorf("%s: names %x, %v", x.name, named, err)
		}
		for n := range got {
			if _, ok := placeOfEntry(got[:n]); ok && n < 4+len(got)-len(plain) {
				t.Errorf("%s: %d bytes of it are enough", x.name, n)
			}
		}
	}
	for _, x := range []struct {
		generation uint32
		want       string
	}{{0, "0abcde"}, {5, "0abcde00000005"}} {
		got := AppendOrderValue(nil, row, x.generation)
		if hex.EncodeToString(got) != x.want {
			t.Errorf("in order: %x", got)
		}
		if p, ok := PlaceOfOrder(got); !ok || p != (Place{Bucket: 0x0abcde, generation: x.generation}) {
			t.Errorf("in order: %x is at %v, %v", got, p, ok)
		}
	}
	for _, bad := range []string{"", "00", "0abcde00", "0abcde00000000", "0abcde0000000500"} {
		b, _ := hex.DecodeString(bad)
		if p, ok := PlaceOfOrder(b); ok {
			t.Errorf("in order: %s is at %v", bad, p)
		}
	}
	for _, bad := range []string{"", "01", "000abcde", "050abcde0003", "030abcde000000006b6579", "040abcde0102"} {
		b, _ := hex.DecodeString(bad)
		if p, ok := placeOfEntry(b); ok {
			t.Errorf("%s is at %v", bad, p)
		}
	}
}

type generations map[shardmap.Bucket]uint32

func (s generations) Generation(b shardmap.Bucket) (uint32, bool) {
	a, ok := s[b]
	return a, ok
}

// An entry counts as long as its bucket is there with the same generation.
func TestEntriesOfEarlierGenerationsDoNotCount(t *testing.T) {
	now := generations{1: 0, 2: 7}
	x := &Index{Table: &Table{Def: &catalog.Table{}}, Def: &catalog.Index{}}
	for _, e := range []struct {
		value, want string
	}{
		{"010000016b", "010000016b"}, {"03000001000000046b", ""}, {"03000002000000076b", "010000026b"}, {"010000026b", ""},
		{"03000002000000066b", ""}, {"010000036b", ""}, {"04000002000000070001", "020000020001"},
	} {
		value, err := hex.DecodeString(e.value)
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Standing(nil, now, []byte("table and index"), value, func([]byte) ([]byte, error) { return nil, nil }) // there is no such row
		if err != nil || hex.EncodeToString(got) != e.want {
			t.Errorf("%s counts as %x, %v", e.value, got, err)
		}
	}
	x.Def.Global = true // the row is in some fragment: its entry says nothing of generations
	if got, err := x.Standing(nil, now, nil, []byte{1, 0, 0, 3}, nil); err != nil || got == nil {
		t.Errorf("global: %x, %v", got, err)
	}
}

func FuzzEntries(f *testing.F) {
	f.Add([]byte{0, 0, 0, 9, 0, 0, 0, 7, 'v', 'k'}, []byte{4, 0, 0, 1, 0, 0, 0, 2, 0, 1})
	f.Add([]byte{0, 0, 0, 9, 0, 0, 0, 7, 'v'}, []byte{1, 0, 0, 1, 'k'})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if len(key) < entryAt {
			return
		}
		table := &Table{Def: &catalog.Table{StorageID: 9}}
		_, _ = PlaceOfOrder(value)
		if _, ok := placeOfEntry(value); ok {
			_, _ = placeOfEntry(appendPlain(nil, value))
		}
		if row, err := table.RowOfEntry(nil, key, value); err == nil && len(row) < KeyAt {
			t.Errorf("row %x", row)
		}
	})
}
