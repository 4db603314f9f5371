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
	"time"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// goldenEntries are one of each kind. What a release has written, every later one reads (V1): lines are added, never changed.
func goldenEntries() []*entry {
	id := txn.ID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	var d deltas
	d.add(RowPrefix(20000, 151326, 1), 1, 300)
	d.add(RowPrefix(20000, 7, 1), -1, -12)
	writes := appendOp(nil, opPut, []byte("key"), []byte("value"))
	writes = appendOp(writes, opDelete, []byte("gone"), nil)
	writes = appendOp(writes, opPutHead, []byte("large"), encodeChunkHead(600_000))
	writes = appendOp(writes, opLock, []byte("locked"), nil)
	const stamp = 0x019a_5c00_0000_0007
	entries := []*entry{
		{kind: kindCeiling, stamp: stamp, ts: stamp + 1},
		{kind: kindCommit, stamp: stamp, id: id, stats: d.encode(), writes: writes},
		{kind: kindPart, stamp: stamp, id: id, parts: 300, writes: writes},
		{kind: kindPrepare, stamp: stamp, id: id, ts: stamp, anchor: 3, attempt: 1, writers: []txn.FragmentID{1, 3, 200}, parts: 2, stats: d.encode(), writes: writes},
		{kind: kindPrepare, stamp: stamp, id: id, ts: stamp, anchor: 3, attempt: 2, again: true, writers: []txn.FragmentID{1, 3}},
		{kind: kindDecide, stamp: stamp, id: id, ts: stamp - 9, outcome: txn.Committed, writers: []txn.FragmentID{1, 3}},
		{kind: kindResolve, stamp: stamp, id: id, ts: stamp - 9, outcome: txn.Aborted},
		{kind: kindForget, stamp: stamp, ids: []txn.ID{id, {}}},
		{kind: kindGC, stamp: stamp, ts: 5},
		{kind: kindDropSpan, stamp: stamp, span: TableSpan(20000)},
		{kind: kindHold, stamp: stamp, id: id, hold: goldenHold(), parts: 2, stats: d.encode(), writes: writes},
		{kind: kindHoldComplete, stamp: stamp, id: id},
		{kind: kindCommitHeld, stamp: stamp, id: id},
		{kind: kindUnhold, stamp: stamp, id: id, incomplete: true},
		{kind: kindPrepareAll, stamp: stamp, id: id, ts: stamp, anchor: 3, attempt: 1, writers: []txn.FragmentID{1, 3}, stats: d.encode(), writes: writes},
		{kind: kindBar, stamp: stamp, id: id, ts: stamp - 9},
		{kind: kindSettle, stamp: stamp, settles: []settlement{{id: id, C: 9, outcome: txn.Committed, decide: true}, {C: 10, outcome: txn.Aborted}}},
		{kind: kindHold, stamp: stamp, id: id, hold: goldenHeldReads(), writes: writes},
	}
	return append(entries, goldenMoves(stamp, d.encode())...)
}

// laterEntries have what entries of their kinds did not have in the beginning.
func laterEntries() []*entry {
	received := moving{move: 300, ranges: []BucketRange{{Lo: 0, Hi: 7}}, since: 9, globals: []globalIndex{{20000, 3}}, arrival: 200}
	return []*entry{
		{kind: kindGC, stamp: 1, ts: 5, tidy: true}, {kind: kindReceive, stamp: 1, moving: received},
		{kind: kindSweep, stamp: 1, ts: 5, moving: moving{move: 300}, keys: [][]byte{[]byte("a-key"), []byte("another")}},
	}
}

// goldenMoves are the entries of moves.
func goldenMoves(stamp txn.Timestamp, stats []byte) []*entry {
	m := moving{move: 300, ranges: []BucketRange{{Lo: 0, Hi: 7}, {Lo: 1000, Hi: 1 << 20}}, since: 9, globals: []globalIndex{{20000, 3}}}
	fenced, carried := moving{move: m.move, ranges: m.ranges}, moving{move: m.move, carries: 5, deletes: true}
	received, owned, cleaned := m, fenced, fenced
	owned.since, cleaned.globals = 9, m.globals
	writes := appendCarried(nil, 7, opPut, []byte("a-row-key"), []byte("value"))
	writes = appendCarried(writes, 8, opDelete, []byte("a-row-key"), nil)
	return []*entry{
		{kind: kindFence, stamp: stamp, moving: fenced},
		{kind: kindUnfence, stamp: stamp, moving: fenced},
		{kind: kindReceive, stamp: stamp, moving: received},
		{kind: kindCarry, stamp: stamp, moving: carried, stats: stats, writes: writes},
		{kind: kindOwn, stamp: stamp, moving: owned},
		{kind: kindGone, stamp: stamp, moving: fenced, stats: stats},
		{kind: kindClean, stamp: stamp, moving: cleaned},
		{kind: kindAbandon, stamp: stamp, moving: cleaned},
	}
}

// goldenOwners is what a checkpoint has of moves.
func goldenOwners() ownState {
	x := ownRange{OwnedRange: OwnedRange{BucketRange: BucketRange{Lo: 0, Hi: 7}, State: Gone, Move: 300, F: 5, Arrival: 1, Since: 2}, left: true, edge: 6}
	y := x
	y.BucketRange, y.State, y.Arrival, y.Move, y.F, y.left = BucketRange{Lo: 7, Hi: 1 << 20}, Receiving, 4, 301, 0, false
	y.edge = 0
	var d deltas
	d.add(RowPrefix(20000, 7, 1), 1, 300)
	return ownState{list: []ownRange{x, y}, arrivals: 4, receipts: []receipt{{move: 301, carries: 2, since: 2, deletes: true, counted: d}}}
}

func goldenHeldReads() *hold {
	h := goldenHold()
	h.reads = []txn.Span{TableSpan(20000), {Start: []byte("from here"), End: []byte("from here\x00")}, {Start: []byte("from there")}}
	return h
}

// entriesOfFormat2 have statistics that name buckets.
func entriesOfFormat2() []*entry {
	d := bucketDeltas{}
	d.add(RowPrefix(20000, 151326, 1), 1, 300)
	d.add(RowPrefix(20000, 7, 1), -1, -12)
	d.add(RowPrefix(20000, shardmap.BucketCount+9, 1), 2, 44)
	d.fold(statKey{20001, 3}, statValue{5, 600})
	id, writes := txn.ID{1}, appendOp(nil, opPut, []byte("key"), []byte("value"))
	return []*entry{
		{kind: kindCommit, stamp: 9, id: id, stats: d.encode(), writes: writes},
		{kind: kindPrepare, stamp: 9, id: id, ts: 9, anchor: 3, attempt: 1, writers: []txn.FragmentID{1, 3}, stats: d.encode(), writes: writes},
		{kind: kindPrepareAll, stamp: 9, id: id, ts: 9, anchor: 3, attempt: 1, writers: []txn.FragmentID{1, 3}, stats: d.encode(), writes: writes},
		{kind: kindHold, stamp: 9, id: id, hold: goldenHold(), parts: 2, stats: d.encode(), writes: writes},
	}
}

func allEntries() []*entry {
	return slices.Concat(goldenEntries(), laterEntries(), entriesOfFormat2())
}

// goldenExact are the records of a group that is counted by bucket.
func goldenExact() (out []struct{ key, value []byte }) {
	c := &exactCount{base: true, slack: 300, sums: map[bucketKey]statValue{{20000, 700}: {2, 5 << 20}}, dirty: map[bucketKey]struct{}{{20000, 700}: {}}}
	x := newExactCounts()
	x.counts[2] = c
	_ = x.checkpoint(func(key, value []byte) error { out = append(out, struct{ key, value []byte }{key, value}); return nil })
	return out
}

func goldenHold() *hold {
	req := txn.HoldRequest{GID: "a name", Owner: 10, Database: 16384, At: time.UnixMicro(1_795_000_000_000_001).UTC(), Floor: 99}
	return &hold{req: req, home: 3, writers: []txn.FragmentID{1, 3}, complete: true}
}

func goldenLines() (lines []string) {
	add := func(name string, b []byte) { lines = append(lines, name+" "+hex.EncodeToString(b)) }
	for _, e := range goldenEntries() {
		if e.hold != nil && e.hold.reads != nil {
			continue // at the end
		}
		add(fmt.Sprintf("entry-%d", e.kind), e.encode())
	}
	add("row-key", append(RowPrefix(20000, 151326, 2), "orders/1-A"...))
	add("index-prefix", IndexPrefix(20000, 3))
	add("chunk-key", chunkKey([]byte("key"), 258))
	add("decision", encodeDecision(&decision{C: 77, writers: []txn.FragmentID{1, 2}}, true))
	add("hold", goldenHold().append(nil))
	s := newState()
	s.index, s.stamp, s.ceiling, s.watermark = 9, 8, 7, 6
	s.open[txn.ID{1}] = &openTxn{id: txn.ID{1}, own: 3, indexes: []uint64{3, 4}, parts: 2, stats: []byte("stats"), prepared: true, C: 5, anchor: 2, attempt: 1, writers: []txn.FragmentID{1, 2}}
	s.remember(txn.ID{2}, 8)
	lines = append(lines, "checkpoint "+checkpoint1)
	add("locks-and-kept-rows", goldenLocks())
	add("piece-key", pieceKey(txn.ID{1}, 258))
	lines = append(lines, "checkpoint-2 "+checkpoint2)
	add("outcomes-key", stampKey(ownOutcomes, 9))
	lines = append(lines, "checkpoint-3 "+checkpoint3)
	s.open[txn.ID{1}].implied = true
	lines = append(lines, "checkpoint-4 "+checkpoint4)
	s.installing = []*install{{o: &openTxn{id: txn.ID{3}, own: 2, indexes: []uint64{5, 7}}, version: 4}}
	lines = append(lines, "checkpoint-5 "+checkpoint5)
	add("edges", append(ownKey(ownEdge), lowEdge...))
	add("hold-2", goldenHeldReads().append(nil))
	s.own = goldenOwners()
	add("checkpoint-6", checkpointRecord(s))
	add("deletion", (&dropJob{span: TableSpan(20000)}).encode())
	add("deletion-of-moved", (&dropJob{left: []leftRange{{BucketRange{Lo: 1, Hi: 300}, 2}}, globals: []globalIndex{{20000, 3}}}).encode())
	add("global-entry-key", stored(append(IndexPrefix(20000, 3), 2, 0x4f, 0x1e, 'x'), 2))
	for _, e := range laterEntries() {
		add(fmt.Sprintf("entry-%d", e.kind), e.encode())
	}
	add("forgotten", append(stampKey(ownForgot, 9), encodeForgotten([]txn.ID{{1}, {2}})...))
	s.open[txn.ID{1}].stats = append(slices.Clone(bucketForm), "stats"...)
	add("checkpoint-7", checkpointRecord(s))
	for _, e := range entriesOfFormat2() {
		add(fmt.Sprintf("entry-%d-format-2", e.kind), e.encode())
	}
	for _, x := range goldenExact() {
		add("exact-key", x.key)
		add("exact-value", x.value)
	}
	return lines
}

// checkpointRecord is the checkpoint record of s.
func checkpointRecord(s *state) []byte {
	b, _ := s.encode()
	return b
}

// checkpoint1 is what releases wrote before open transactions had pieces under own keys.
const checkpoint1 = "0109000000000000000800000000000000070000000000000006010100000000000000000000000000000002030401000000" +
	"0000000005020102010201020000000000000000000000000000000000000000000008"

// checkpoint2 is what they wrote before outcomes were saved.
const checkpoint2 = "0209000000000000000800000000000000070000000000000006010100000000000000000000000000000003020573746174730203040100000000000000050201" +
	"02010201020000000000000000000000000000000000000000000008"

// checkpoint3 is what they wrote before commit could be implied.
const checkpoint3 = "03090000000000000008000000000000000700000000000000060101000000000000000000000000000000030205737461747302030401000000000000000502" +
	"010201020102000000000000000000000000000000000000000000000801"

// checkpoint4 is what they wrote before rows were installed in the background.
const checkpoint4 = "040900000000000000080000000000000007000000000000000601010000000000000000000000000000000302057374617473020304010000000000000005" +
	"0201020102010102000000000000000000000000000000000000000000000801"

// checkpoint5 is what they wrote before buckets were moved.
const checkpoint5 = "050900000000000000080000000000000007000000000000000601010000000000000000000000000000000302057374617473020304010000000000" +
	"00000502010201020101020000000000000000000000000000000000000000000008010103000000000000000000000000000000000000000000000402020507"

// checkpoint6 is what is written if no statistics of open transactions name buckets.
const checkpoint6 = "06090000000000000008000000000000000700000000000000060101000000000000000000000000000000030205737461747302030401000000000000000502" +
	"01020102010102000000000000000000000000000000000000000000000801010300000000000000000000000000000000000000000000040202050702000704" +
	"01ac0201000000000000000500000000000000020000000000000006078080400300ad02040000000000000000000000000000000200000000000000000401ad" +
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
	if got, err := decodeCheckpoint(b); err != nil || got.own.moved() || len(got.installing) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestCheckpointOfFormat5(t *testing.T) {
	s := newState()
	s.index, s.stamp = 9, 8
	s.installing = []*install{{o: &openTxn{id: txn.ID{3}, own: 2, indexes: []uint64{5, 7}}, version: 4}}
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
	if o := s.open[txn.ID{1}]; o == nil || !o.implied || s.unsaved != 1 || len(s.installing) > 0 {
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
	if o := s.open[txn.ID{1}]; o == nil || !o.prepared || o.implied || s.unsaved != 1 {
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
	if s.index != 9 || s.stamp != 8 || o == nil || !slices.Equal(o.indexes, []uint64{3, 4}) || o.parts != partsInLog || o.C != 5 || s.recent[txn.ID{2}] != 8 {
		t.Fatalf("%+v %+v", s, o)
	}
}

// goldenLocks are the operations 5 to 9.
func goldenLocks() []byte {
	var b []byte
	for m := txn.KeyShare; m <= txn.Update; m++ {
		b = appendOp(b, lockOp(m), []byte(m.String()), nil)
	}
	b = appendOp(b, opPutKept, []byte("key"), []byte("value"))
	return appendOp(b, opPutHeadKept, []byte("large"), encodeChunkHead(600_000))
}

func TestOperationsTellTheirLocks(t *testing.T) {
	var got []string
	err := eachOp(goldenLocks(), func(op opKind, key, value []byte) error {
		got = append(got, fmt.Sprint(op, " ", string(key), " ", len(value), " ", op.mode(), " ", op.writes()))
		return nil
	})
	want := "5 KEY SHARE 0 KEY SHARE false, 6 SHARE 0 SHARE false, 7 NO KEY UPDATE 0 NO KEY UPDATE false, 4 UPDATE 0 UPDATE false, " +
		"8 key 5 NO KEY UPDATE true, 9 large 7 NO KEY UPDATE true"
	if err != nil || strings.Join(got, ", ") != want {
		t.Fatal(strings.Join(got, ", "), err)
	}
	for _, op := range []opKind{opPut, opPutHead, opPutKept, opPutHeadKept} {
		if putOf(op.userMeta()) != op {
			t.Fatalf("operation %d does not survive a stream", op)
		}
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
	for _, e := range allEntries() {
		d, err := decodeEntry(e.encode())
		if err != nil {
			t.Fatalf("kind %d: %v", e.kind, err)
		}
		if !bytes.Equal(d.encode(), e.encode()) {
			t.Fatalf("kind %d reads as %+v", e.kind, d)
		}
	}
}

func TestKeys(t *testing.T) {
	key := append(RowPrefix(20000, 151326, 7), "pk"...)
	if !IsRow(key) || TableOf(key) != 20000 || BucketOf(key) != 151326 || ArrivalOf(key) != 7 || string(PrimaryKeyOf(key)) != "pk" {
		t.Fatalf("%x", key)
	}
	if IsRow(append(IndexPrefix(20000, 1), key...)) || IsRow(ownKey(ownApplied)) {
		t.Fatal("an index entry is no row")
	}
	if s := BucketSpan(20000, 151326, 151327); !s.Contains(key) || s.Contains(RowPrefix(20000, 151327, 1)) {
		t.Fatalf("%x", s)
	}
	if s := TableSpan(20000); !s.Contains(key) || s.Contains(RowPrefix(20001, 0, 1)) {
		t.Fatalf("%x", s)
	}
}

func FuzzDecodeEntry(f *testing.F) {
	for _, e := range allEntries() {
		f.Add(e.encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEntry(b)
		if err != nil {
			return
		}
		again, err := decodeEntry(e.encode())
		if err != nil || !bytes.Equal(again.encode(), e.encode()) {
			t.Fatalf("%x decodes to what does not encode: %v", b, err)
		}
		_ = eachOp(e.writes, func(opKind, []byte, []byte) error { return nil })
		_ = newStatistics().apply(e.stats)
		_ = eachCarried(e.writes, func(txn.Timestamp, opKind, []byte, []byte) error { return nil })
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
		_ = newState().loadHold(nil, b)
		_, _, _ = findOutcome(b, txn.ID{})
		_, _, _ = decodeChunkHead(b)
		_ = newStatistics().load(b[:min(6, len(b))], b)
	})
}
