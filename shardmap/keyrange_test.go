package shardmap

import (
	"testing"
)

// The names that Vitess gives to the ranges of a keyspace of four shards, and what it says of them.
func TestKeyRangeNames(t *testing.T) {
	names := []string{"-40", "40-80", "80-c0", "c0-"}
	for i, v := range InitialRanges(4) {
		k := v.KeyRange()
		if k.String() != names[i] {
			t.Errorf("%v is named %q, want %q", v, k, names[i])
		}
		read, err := ParseKeyRange(names[i])
		if err != nil || read.String() != names[i] {
			t.Errorf("%q reads as %q, %v", names[i], read, err)
		}
		if i > 0 {
			before, _ := ParseKeyRange(names[i-1])
			if !before.Before(read) || read.Before(before) {
				t.Errorf("%q and %q are not consecutive", before, read)
			}
		}
	}
	if k := WholeSpace().KeyRange(); k.String() != "-" {
		t.Errorf("the whole space is named %q", k)
	}
	for v, want := range map[Interval]string{
		{0, 349525}: "-555550", {349525, 699050}: "555550-aaaaa0", {699050, BucketCount}: "aaaaa0-",
		{1, 2}: "000010-000020",
	} {
		if got := v.KeyRange().String(); got != want {
			t.Errorf("%v is named %q, want %q", v, got, want)
		}
	}
}

func TestKeyRangeContains(t *testing.T) {
	for _, c := range []struct {
		name string
		key  []byte
		want bool
	}{
		{"-", nil, true}, {"-80", []byte{0x7f, 0xff}, true}, {"-80", []byte{0x80}, false},
		{"80-", []byte{0x80}, true}, {"80-", []byte{0xff, 0xff, 1}, true},
		{"40-80", []byte{0x40}, true}, {"40-80", []byte{0x3f, 0xff}, false}, {"40-80", []byte{0x7f}, true},
		{"40-80", []byte{0x80}, false},
	} {
		k, err := ParseKeyRange(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.Contains(c.key); got != c.want {
			t.Errorf("%s contains %x: %v", c.name, c.key, got)
		}
	}
	for _, bad := range []string{"", "40", "40-4", "80-40", "40-40", "x-", "40-80-c0"} {
		if k, err := ParseKeyRange(bad); err == nil {
			t.Errorf("%q reads as %q", bad, k)
		}
	}
}

func FuzzParseKeyRange(f *testing.F) {
	for _, s := range []string{"-40", "40-80", "c0-", "-", "4-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseKeyRange(s)
		if err != nil {
			return
		}
		again, err := ParseKeyRange(k.String())
		if err != nil || again.String() != k.String() {
			t.Errorf("%q: %q, %v", s, again, err)
		}
	})
}
