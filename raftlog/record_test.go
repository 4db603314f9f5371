package raftlog

import (
	"bytes"
	"encoding/hex"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

var update = flag.Bool("update", false, "write the golden files")

func entry(i, term uint64, data string) *raft.Log {
	return &raft.Log{
		Index: i, Term: term, Data: nonEmpty([]byte(data)),
		AppendedAt: time.Date(2026, 11, 21, 8, 0, 0, int(i), time.UTC),
	}
}

func TestEntriesRoundTrip(t *testing.T) {
	for name, l := range map[string]*raft.Log{
		"plain": entry(1, 1, "x"),
		"empty": entry(7, 2, ""),
		"zero":  {Index: 1},
		"all": {Index: math.MaxUint64, Term: math.MaxUint64, Type: raft.LogConfiguration, Data: []byte{0},
			Extensions: []byte("ext"), AppendedAt: time.Unix(1, 5).UTC()},
		"direct": entry(3, 1, string(bytes.Repeat([]byte("d"), directData+1))),
		"zone":   {Index: 2, AppendedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))},
	} {
		t.Run(name, func(t *testing.T) {
			var b batch
			if err := b.append(9, l); err != nil {
				t.Fatal(err)
			}
			all := bytes.Join(b.pieces(nil), nil)
			if len(all) != b.size {
				t.Fatalf("%d bytes, size says %d", len(all), b.size)
			}
			body, _, size, err := splitRecord(all)
			if err != nil || size != len(all) {
				t.Fatal(err, size)
			}
			var got raft.Log
			if err := decodeEntry(body, &got); err != nil {
				t.Fatal(err)
			}
			if !got.AppendedAt.Equal(l.AppendedAt) {
				t.Errorf("time %v, want %v", got.AppendedAt, l.AppendedAt)
			}
			got.AppendedAt = l.AppendedAt
			if !reflect.DeepEqual(&got, l) {
				t.Errorf("got %+v, want %+v", got, l)
			}
			e, err := decodeEdit(body)
			if err != nil || e.group != 9 || e.index != l.Index || e.kind != kindAppend {
				t.Errorf("edit %+v, %v", e, err)
			}
		})
	}
}

// TestEntryHasNoOtherFields fails when a release of Raft adds a field that would be lost.
func TestEntryHasNoOtherFields(t *testing.T) {
	if n := reflect.TypeFor[raft.Log]().NumField(); n != 6 {
		t.Fatalf("raft.Log has %d fields, the format knows 6", n)
	}
}

// TestGoldenFormat compares every byte of a segment with the golden file of format 1.
func TestGoldenFormat(t *testing.T) {
	var b, c batch
	if err := b.append(1, entry(5, 2, "five")); err != nil {
		t.Fatal(err)
	}
	b.delete(kindPrefix, 1, 4)
	b.delete(kindSuffix, 2, 8)
	c.set(2, []byte("CurrentTerm"), []byte{0, 0, 0, 3})
	c.forget(3)
	var h [frameHead]byte
	putFrame(&h, 77, 4, b.size+c.size, len(b.edits)+len(c.edits), b.crcs, c.crcs)
	got := append(segmentHeader{number: 12, firstRound: 4, salt: 77}.encode(), h[:]...)
	got = append(got, bytes.Join(c.pieces(b.pieces(nil)), nil)...)
	path := filepath.Join("testdata", "segment-1.hex")
	if *update {
		if err := os.WriteFile(path, []byte(hex.Dump(got)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || hex.Dump(got) != string(want) {
		t.Fatalf("the format has changed (%v):\n%s", err, hex.Dump(got))
	}
	f, ok := readFrame(got[segmentHead:], 77)
	if !ok || f.round != 4 || len(f.edits) != 5 {
		t.Fatalf("read back: %v %+v", ok, f)
	}
	if _, ok := readFrame(got[segmentHead:], 78); ok {
		t.Fatal("a frame of another life of the file was accepted")
	}
}

func FuzzRecord(f *testing.F) {
	var b batch
	b.append(1, entry(5, 2, "five"))
	b.set(2, []byte("k"), []byte("v"))
	b.delete(kindSuffix, 2, 8)
	f.Add(bytes.Join(b.pieces(nil), nil)[recordHead:])
	f.Add([]byte{1, 1, 1, 1, 0, 15})
	f.Add([]byte{4, 1, 200, 200})
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := decodeEdit(body)
		var l raft.Log
		if decodeEntry(body, &l) == nil && (err != nil || e.index != l.Index) {
			t.Fatalf("an entry %d that is the edit %+v, %v", l.Index, e, err)
		}
	})
}

func FuzzFrame(f *testing.F) {
	var b batch
	b.append(1, entry(5, 2, "five"))
	var h [frameHead]byte
	putFrame(&h, 0, 4, b.size, 1, b.crcs)
	f.Add(append(h[:], bytes.Join(b.pieces(nil), nil)...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		fr, ok := readFrame(b, 0)
		if ok && (fr.size > len(b) || len(fr.edits) > len(b)) {
			t.Fatalf("%+v of %d bytes", fr, len(b))
		}
		laterFrame(b, 0, 0)
		decodeSegmentHeader(b)
	})
}
