package storage

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/protocol"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// goldenOwners is what a checkpoint has of moves.
func goldenOwners() ownState {
	x := ownership.Piece{Range: OwnedRange{BucketRange: BucketRange{Lo: 0, Hi: 7}, State: Gone, Move: 300, F: 5,
		Generation: 1, Since: 2}, Left: true, Edge: 6}
	y := x
	y.BucketRange, y.State, y.Generation, y.Move, y.F, y.Left = BucketRange{Lo: 7, Hi: 1 << 20}, Receiving, 4, 301, 0,
		false
	y.Edge = 0
	var d counts.Deltas
	d.Add(keyspace.RowPrefix(20000, 7, 1), 1, 300)
	return ownState{Machine: ownership.Machine{List: ownership.List{x, y}, Generations: 4},
		receipts: []receipt{{move: 301, entries: 2, since: 2, deletes: true, counted: d}}}
}

// goldenCounts are lines that package counts checks.
var goldenCounts = []string{
	"exact-key ffffffff42000200004e20bc", "exact-value 010480808005",
	"exact-key ffffffff420002", "exact-value 01ac02",
	"statistics-of-groups a09c01000117a09c01cf0402d804",
	"statistics-of-buckets 0002a09c01924004582ca19c01060ab009d804a09c010f0117a09c01bdbc1202d804",
}

// goldenWrites are the operations 1 to 4.
func goldenWrites() []byte {
	b := logentry.AppendOp(nil, logentry.OpPut, []byte("key"), []byte("value"))
	b = logentry.AppendOp(b, logentry.OpDelete, []byte("gone"), nil)
	b = logentry.AppendOp(b, logentry.OpPutHead, []byte("large"), engine.Head(600_000))
	return logentry.AppendOp(b, logentry.OpLock, []byte("locked"), nil)
}

// goldenIngested are operations of an Ingest entry.
func goldenIngested() []byte {
	b := logentry.AppendIngested(nil, 7, logentry.OpPut, []byte("a-row-key"), []byte("value"))
	return logentry.AppendIngested(b, 8, logentry.OpDelete, []byte("a-row-key"), nil)
}

func goldenLines() (lines []string) {
	add := func(name string, b []byte) { lines = append(lines, name+" "+hex.EncodeToString(b)) }
	add("row-key", append(keyspace.RowPrefix(20000, 151326, 2), "orders/1-A"...))
	add("index-prefix", keyspace.IndexPrefix(20000, 3))
	add("chunk-key", keyspace.ChunkKey([]byte("key"), 258))
	add("decision", encodeDecision(&decision{C: 77, writers: []txn.FragmentID{1, 2}}, true))
	s := newState()
	s.index, s.stamp, s.lease, s.watermark = 9, 8, 7, 6
	s.open[txn.ID{1}] = &openTxn{id: txn.ID{1}, own: 3, indexes: []uint64{3, 4}, parts: 2, stats: []byte("stats"),
		Writer: protocol.Writer[txn.Timestamp]{Prepared: true, C: 5}, coordinator: 2, attempt: 1,
		writers: []txn.FragmentID{1, 2}}
	s.remember(txn.ID{2}, 8)
	lines = append(lines, "checkpoint "+checkpoint1)
	add("locks-and-kept-rows", goldenLocks())
	add("piece-key", keyspace.PieceKey(txn.ID{1}, 258))
	lines = append(lines, "checkpoint-2 "+checkpoint2)
	add("outcomes-key", keyspace.StampRecord(keyspace.Outcomes, 9))
	lines = append(lines, "checkpoint-3 "+checkpoint3)
	s.open[txn.ID{1}].Implicit = true
	lines = append(lines, "checkpoint-4 "+checkpoint4)
	s.installing = []*lateRows{{o: &openTxn{id: txn.ID{3}, own: 2, indexes: []uint64{5, 7}}, version: 4}}
	lines = append(lines, "checkpoint-5 "+checkpoint5)
	add("edges", append(keyspace.HighEdge, keyspace.LowEdge...))
	s.own = goldenOwners()
	add("checkpoint-6", checkpointRecord(s))
	add("deletion", (&dropJob{span: keyspace.TableSpan(20000)}).encode())
	add("deletion-of-moved",
		(&dropJob{left: []leftRange{{BucketRange{Lo: 1, Hi: 300}, 2}},
			globals: []logentry.Index{{Table: 20000, Index: 3}}}).encode())
	add("global-entry-key", keyspace.Stored(append(keyspace.IndexPrefix(20000, 3), 2, 0x4f, 0x1e, 'x'), 2))
	add("forgotten", append(keyspace.StampRecord(keyspace.Forgotten, 9), encodeForgotten([]txn.ID{{1}, {2}})...))
	s.open[txn.ID{1}].stats = []byte(logentry.BucketStats + "stats")
	add("checkpoint-7", checkpointRecord(s))
	lines = append(lines, goldenCounts...)
	add("operations", goldenWrites())
	add("ingested-operations", goldenIngested())
	return lines
}

// checkpointRecord is the checkpoint record of s.
func checkpointRecord(s *state) []byte {
	b, _ := s.encode()
	return b
}

// checkpoint1 is what releases wrote before open transactions had pieces under own keys.
const checkpoint1 = "01090000000000000008000000000000000700000000000000060101000000000000000000000000000000020304010" +
	"00000" +
	"0000000005020102010201020000000000000000000000000000000000000000000008"

// checkpoint2 is what they wrote before outcomes were saved.
const checkpoint2 = "02090000000000000008000000000000000700000000000000060101000000000000000000000000000000030205737" +
	"46174730203040100000000000000050201" +
	"02010201020000000000000000000000000000000000000000000008"

// checkpoint3 is what they wrote before there were implicit commits.
const checkpoint3 = "03090000000000000008000000000000000700000000000000060101000000000000000000000000000000030205737" +
	"461747302030401000000000000000502" +
	"010201020102000000000000000000000000000000000000000000000801"

// checkpoint4 is what they wrote before rows were installed in the background.
const checkpoint4 = "04090000000000000008000000000000000700000000000000060101000000000000000000000000000000030205737" +
	"4617473020304010000000000000005" +
	"0201020102010102000000000000000000000000000000000000000000000801"

// checkpoint5 is what they wrote before buckets were moved.
const checkpoint5 = "05090000000000000008000000000000000700000000000000060101000000000000000000000000000000030205737" +
	"4617473020304010000000000" +
	"000005020102010201010200000000000000000000000000000000000000000000080101030000000000000000000000000000000000000" +
	"00000000402020507"

// checkpoint6 is what is written if no statistics of open transactions name buckets.
const checkpoint6 = "06090000000000000008000000000000000700000000000000060101000000000000000000000000000000030205737" +
	"461747302030401000000000000000502" +
	"010201020101020000000000000000000000000000000000000000000008010103000000000000000000000000000000000000000000000" +
	"40202050702000704" +
	"01ac0201000000000000000500000000000000020000000000000006078080400300ad02040000000000000000000000000000000200000" +
	"000000000000401ad" +
	"020200000000000000020107a09c010002d804"

func TestCheckpointOfFormat6(t *testing.T) {
	s := newState()
	s.own = goldenOwners()
	b6, err := hex.DecodeString(checkpoint6)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{checkpointRecord(s), b6} {
		got, err := decodeCheckpoint(b)
		if err != nil || !reflect.DeepEqual(got.own, s.own) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	got, err := decodeCheckpoint(checkpointRecord(s))
	if err != nil || !reflect.DeepEqual(got.own, s.own) {
		t.Fatalf("%+v, %v", got, err)
	}
	b, err := hex.DecodeString(checkpoint5)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeCheckpoint(b); err != nil || got.own.Moved() || len(got.installing) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestCheckpointOfFormat5(t *testing.T) {
	s := newState()
	s.index, s.stamp = 9, 8
	s.installing = []*lateRows{{o: &openTxn{id: txn.ID{3}, own: 2, indexes: []uint64{5, 7}}, version: 4}}
	got, err := decodeCheckpoint(checkpointRecord(s))
	if err != nil || len(got.installing) != 1 || got.firstIndex(got.remaining()) != 5 {
		t.Fatalf("%+v, %v", got, err)
	}
	if x := got.installing[0]; x.o.id != (txn.ID{3}) || x.o.own != 2 || x.version != 4 || x.before != 9 {
		t.Fatalf("%+v", x)
	}
}

func TestCheckpointOfFormat4(t *testing.T) {
	b, err := hex.DecodeString(checkpoint4)
	if err != nil {
		t.Fatal(err)
	}
	s, err := decodeCheckpoint(b)
	if err != nil {
		t.Fatal(err)
	}
	if o := s.open[txn.ID{1}]; o == nil || !o.Implicit || s.unsaved != 1 || len(s.installing) > 0 {
		t.Fatalf("%+v", s)
	}
}

func TestCheckpointOfFormat3(t *testing.T) {
	b, err := hex.DecodeString(checkpoint3)
	if err != nil {
		t.Fatal(err)
	}
	s, err := decodeCheckpoint(b)
	if err != nil {
		t.Fatal(err)
	}
	if o := s.open[txn.ID{1}]; o == nil || !o.Prepared || o.Implicit || s.unsaved != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestCheckpointOfFormat2(t *testing.T) {
	b, err := hex.DecodeString(checkpoint2)
	if err != nil {
		t.Fatal(err)
	}
	s, err := decodeCheckpoint(b)
	if err != nil {
		t.Fatal(err)
	}
	if o := s.open[txn.ID{1}]; o == nil || o.parts != 2 || s.unsaved != 1 || len(s.order) != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestCheckpointOfFormat1(t *testing.T) {
	b, err := hex.DecodeString(checkpoint1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := decodeCheckpoint(b)
	if err != nil {
		t.Fatal(err)
	}
	o := s.open[txn.ID{1}]
	if s.index != 9 || s.stamp != 8 || o == nil || !slices.Equal(o.indexes, []uint64{3, 4}) || o.parts != partsInLog ||
		o.C != 5 || s.recent[txn.ID{2}] != 8 {
		t.Fatalf("%+v %+v", s, o)
	}
}

// goldenLocks are the operations 5 to 9.
func goldenLocks() []byte {
	var b []byte
	for m := txn.KeyShare; m <= txn.Update; m++ {
		b = logentry.AppendOp(b, logentry.LockOp(m), []byte(m.String()), nil)
	}
	b = logentry.AppendOp(b, logentry.OpPutKept, []byte("key"), []byte("value"))
	return logentry.AppendOp(b, logentry.OpPutHeadKept, []byte("large"), engine.Head(600_000))
}

func TestOperationsTellTheirLocks(t *testing.T) {
	var got []string
	err := logentry.EachOp(goldenLocks(), func(op logentry.Op, key, value []byte) error {
		got = append(got, fmt.Sprint(op, " ", string(key), " ", len(value), " ", op.Mode(), " ", op.Writes()))
		return nil
	})
	want := "5 KEY SHARE 0 KEY SHARE false, 6 SHARE 0 SHARE false, 7 NO KEY UPDATE 0 NO KEY UPDATE false, 4 UPDATE " +
		"0 UPDATE false, " +
		"8 key 5 NO KEY UPDATE true, 9 large 7 NO KEY UPDATE true"
	if err != nil || strings.Join(got, ", ") != want {
		t.Fatal(strings.Join(got, ", "), err)
	}
}

func TestGoldenFormats(t *testing.T) {
	path := filepath.Join("testdata", "formats-1.golden")
	got := strings.Join(goldenLines(), "\n") + "\n"
	if *rewrite {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Fatalf("a format on disk has changed:\n%s\nwant\n%s", got, want)
	}
}

// FuzzEntryContents reads what entries carry and package logentry does not look at.
func FuzzEntryContents(f *testing.F) {
	for _, b := range [][]byte{goldenWrites(), goldenLocks(), goldenIngested()} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = logentry.EachOp(b, func(logentry.Op, []byte, []byte) error { return nil })
		_ = logentry.EachIngested(b, func(txn.Timestamp, logentry.Op, []byte, []byte) error { return nil })
	})
}

func FuzzDecodeRecords(f *testing.F) {
	for _, l := range goldenLines() {
		b, _ := hex.DecodeString(l[strings.IndexByte(l, ' ')+1:])
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := decodeCheckpoint(b); err == nil {
			if _, err := decodeCheckpoint(checkpointRecord(s)); err != nil {
				t.Fatal(err)
			}
		}
		_, _, _ = decodeDecision(b)
		if j, err := decodeDrop(make([]byte, 8), b); err == nil && !bytes.Equal(j.encode(), b) {
			if k, err := decodeDrop(make([]byte, 8), j.encode()); err != nil || !reflect.DeepEqual(j, k) {
				t.Fatal(err)
			}
		}
		_ = newState().loadPreparation(nil, b)
		_, _, _ = findOutcome(b, txn.ID{})
		_, _ = engine.SizeOfHead(b)
	})
}
