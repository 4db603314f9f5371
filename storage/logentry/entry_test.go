package logentry

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file again")

const stamp = 0x019a_5c00_0000_0007

// golden is an entry of the golden file. What a release has written, every later one reads (V1):
// lines are added, never changed.
type golden struct {
	stamp txn.Timestamp
	entry Entry
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

var (
	id           = txn.ID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	groupStats   = unhex("a09c01000117a09c01cf0402d804")
	bucketStats  = unhex("0002a09c01924004582ca19c01060ab009d804a09c010f0117a09c01bdbc1202d804")
	onePut       = unhex("01036b65790576616c7565")
	fourWrites   = unhex("01036b65790576616c75650204676f6e6503056c617267650701000927c0000304066c6f636b6564")
	ingested     = unhex("00000000000000070109612d726f772d6b65790576616c756500000000000000080209612d726f772d6b6579")
	twoFragments = []txn.FragmentID{1, 3}
)

func preparation() *Preparation {
	at := time.UnixMicro(1_795_000_000_000_001).UTC()
	req := txn.PreparationRequest{GID: "a name", Owner: 10, Database: 16384, At: at, Floor: 99}
	return &Preparation{Request: req, Home: 3, Writers: twoFragments, Complete: true}
}

func goldenEntries() []golden {
	list := []Entry{
		&ReadLease{Until: stamp + 1},
		&Commit{ID: id, Stats: groupStats, Writes: fourWrites},
		&Part{ID: id, Number: 300, Writes: fourWrites},
		&Prepare{
			ID: id, C: stamp, Coordinator: 3, Attempt: 1, Writers: []txn.FragmentID{1, 3, 200}, Parts: 2,
			Stats: groupStats, Writes: fourWrites,
		},
		&Prepare{
			ID: id, C: stamp, Coordinator: 3, Attempt: 2, Again: true, Writers: twoFragments, Stats: []byte{},
			Writes: []byte{},
		},
		&Decide{ID: id, C: stamp - 9, Outcome: txn.Committed, Writers: twoFragments},
		&Resolve{ID: id, C: stamp - 9, Outcome: txn.Aborted},
		&Forget{IDs: []txn.ID{id, {}}},
		&Watermark{At: 5},
		&DropSpan{Span: txn.Span{Start: unhex("00004e20"), End: unhex("00004e21")}},
		&PrepareTransaction{ID: id, Preparation: preparation(), Parts: 2, Stats: groupStats, Writes: fourWrites},
		&CompletePreparation{ID: id},
		&CommitPrepared{ID: id},
		&DropPrepared{ID: id, Incomplete: true},
		&Prepare{
			ID: id, C: stamp, Coordinator: 3, Attempt: 1, Implicit: true, Writers: twoFragments, Stats: groupStats,
			Writes: fourWrites,
		},
		&BarPrepare{ID: id, C: stamp - 9},
		&Outcomes{List: []TransactionOutcome{
			{ID: id, C: 9, Outcome: txn.Committed, Decide: true}, {C: 10, Outcome: txn.Aborted},
		}},
	}
	list = append(list, goldenMoves()...)
	var out []golden
	for _, e := range list {
		out = append(out, golden{stamp, e})
	}
	return append(out, laterEntries()...)
}

func goldenMoves() []Entry {
	step := Step{Move: 300, Ranges: []shardmap.Interval{{Lo: 0, Hi: 7}, {Lo: 1000, Hi: 1 << 20}}}
	globals := []Index{{Table: 20000, Index: 3}}
	return []Entry{
		&Fence{Step: step},
		&Unfence{Step: step},
		&BeginIngest{Step: step, Since: 9, Globals: globals},
		&Ingest{Move: 300, Before: 5, Deletes: true, Stats: groupStats, Writes: ingested},
		&Own{Step: step, Since: 9},
		&MovedAway{Step: step, Stats: groupStats},
		&Clean{Step: step, Globals: globals},
		&Abandon{Step: step, Globals: globals},
	}
}

// laterEntries have what entries of their kinds did not have in the beginning.
func laterEntries() []golden {
	step := Step{Move: 300, Ranges: []shardmap.Interval{{Lo: 0, Hi: 7}}}
	prepare := Prepare{ID: txn.ID{1}, C: 9, Coordinator: 3, Attempt: 1, Writers: twoFragments, Stats: bucketStats,
		Writes: onePut}
	implicit := prepare
	implicit.Implicit = true
	return []golden{
		{1, &Watermark{At: 5, Tidy: true}},
		{1, &BeginIngest{Step: step, Since: 9, Globals: []Index{{Table: 20000, Index: 3}}, Generation: 200}},
		{1, &Sweep{At: 5, Move: 300, Keys: [][]byte{[]byte("a-key"), []byte("another")}}},
		{9, &Commit{ID: txn.ID{1}, Stats: bucketStats, Writes: onePut}},
		{9, &prepare},
		{9, &implicit},
		{9, &PrepareTransaction{ID: txn.ID{1}, Preparation: preparation(), Parts: 2, Stats: bucketStats,
			Writes: onePut}},
	}
}

func (g golden) encode() []byte {
	b := g.entry.Encode()
	SetStamp(b, g.stamp)
	return b
}

// preparations are the formats of a Preparation.
func preparations() (one, two *Preparation) {
	two = preparation()
	two.Reads = []txn.Span{
		{Start: unhex("00004e20"), End: unhex("00004e21")},
		{Start: []byte("from here"), End: []byte("from here\x00")},
		{Start: []byte("from there")},
	}
	return preparation(), two
}

func TestGoldenEntries(t *testing.T) {
	var lines strings.Builder
	for _, g := range goldenEntries() {
		b := g.encode()
		name := fmt.Sprintf("entry-%d", g.entry.Kind())
		if b[0] == formatBuckets {
			name += "-format-2"
		}
		fmt.Fprintf(&lines, "%s %x\n", name, b)
	}
	one, two := preparations()
	fmt.Fprintf(&lines, "hold %x\nhold-2 %x\n", one.Append(nil), two.Append(nil))
	path := filepath.Join("testdata", "entries.golden")
	if *rewrite {
		if err := os.WriteFile(path, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if lines.String() != string(want) {
		t.Fatalf("a format on disk has changed:\n%s\nwant\n%s", lines.String(), want)
	}
}

func TestDecodeReturnsWhatWasEncoded(t *testing.T) {
	seen := map[Kind]bool{}
	for _, g := range goldenEntries() {
		b := g.encode()
		got, err := Decode(b)
		if err != nil || !reflect.DeepEqual(got, g.entry) || Stamp(b) != g.stamp {
			t.Errorf("%x decodes to %+v at %d, %v; want %+v", b, got, Stamp(b), err, g.entry)
		}
		seen[g.entry.Kind()] = true
	}
	for kind, of := range kinds {
		if of == nil {
			continue
		}
		if got := of().Kind(); got != Kind(kind) {
			t.Errorf("the table of kinds has kind %d at %d", got, kind)
		}
		if !seen[Kind(kind)] {
			t.Errorf("no golden entry is of kind %d", kind)
		}
	}
	one, two := preparations()
	for _, p := range []*Preparation{one, two} {
		if got, err := DecodePreparation(p.Append(nil)); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%+v, %v; want %+v", got, err, p)
		}
	}
}

func TestMalformedEntries(t *testing.T) {
	for _, g := range goldenEntries() {
		b := g.encode()
		_, hasWrites := g.entry.(interface{ EncodeInto([]byte) []byte })
		for n := range b {
			_, err := Decode(b[:n])
			if err != nil && !errors.Is(err, ErrMalformed) {
				t.Errorf("%x: %v", b[:n], err)
			}
			_, ingest := g.entry.(*Ingest)
			if err == nil && !hasWrites && !ingest && !shorter(g.entry) {
				t.Errorf("%x is accepted: a prefix of %x", b[:n], b)
			}
		}
		other := bytes.Clone(b)
		other[0] = formatGroups + formatBuckets - b[0]
		if _, err := Decode(other); !errors.Is(err, ErrMalformed) {
			t.Errorf("%x is accepted: of format %d", other, other[0])
		}
	}
	for _, s := range []string{"", "01", "0301", "03010000000000000000", "010e0000000000000000",
		"01ff0000000000000000"} {
		if _, err := Decode(unhex(s)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// shorter reports whether a prefix of the entry is one that has not got the last field yet.
func shorter(e Entry) bool {
	switch e := e.(type) {
	case *Watermark:
		return e.Tidy
	case *BeginIngest:
		return e.Generation != 0
	}
	return false
}

// TestEncodeInto: operations are not copied, unless there are very many writers.
func TestEncodeInto(t *testing.T) {
	room := append(make([]byte, HeadRoom, HeadRoom+len(fourWrites)), fourWrites...)
	many := make([]txn.FragmentID, 500)
	for i := range many {
		many[i] = txn.FragmentID(i)
	}
	for _, e := range []interface {
		Entry
		EncodeInto(room []byte) []byte
	}{
		&Commit{ID: id, Stats: groupStats}, &Part{ID: id, Number: 7},
		&Prepare{ID: id, Writers: twoFragments, Stats: bucketStats},
		&PrepareTransaction{ID: id, Preparation: preparation()}, &Prepare{ID: id, Writers: many},
	} {
		b := e.EncodeInto(room)
		want := append(e.Encode(), fourWrites...)
		if !bytes.Equal(b, want) {
			t.Errorf("%x, want %x", b, want)
		}
		shared := &b[len(b)-1] == &room[len(room)-1]
		if p, ok := e.(*Prepare); shared != (!ok || len(p.Writers) < 100) {
			t.Errorf("%T shares the memory of its operations: %v", e, shared)
		}
	}
}

// TestAllocations: the path of every write allocates the header of an entry once, and the decoded
// entry once.
func TestAllocations(t *testing.T) {
	room := append(make([]byte, HeadRoom, HeadRoom+len(fourWrites)), fourWrites...)
	var b []byte
	if n := testing.AllocsPerRun(100, func() {
		e := Commit{ID: id, Stats: groupStats}
		b = e.EncodeInto(room)
	}); n > 1 {
		t.Errorf("EncodeInto allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := Decode(b); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("Decode allocates %v times", n)
	}
	many := (&Outcomes{List: make([]TransactionOutcome, 1000)}).Encode()
	if n := testing.AllocsPerRun(100, func() {
		if _, err := Decode(many); err != nil {
			t.Fatal(err)
		}
	}); n > 2 {
		t.Errorf("Decode allocates %v times for a list", n)
	}
}

// fill sets v to random values that an entry may have.
func fill(v reflect.Value, r *rand.Rand) {
	switch x := v.Addr().Interface().(type) {
	case *[]byte:
		*x = make([]byte, r.IntN(20))
		for i := range *x {
			(*x)[i] = byte(r.Uint32())
		}
		return
	case *[]shardmap.Interval:
		at := uint32(0)
		for range 1 + r.IntN(3) {
			lo := at + r.Uint32N(1000)
			at = lo + 1 + r.Uint32N(1000)
			*x = append(*x, shardmap.Interval{Lo: lo, Hi: at})
		}
		return
	case *time.Time:
		*x = time.UnixMicro(r.Int64N(1 << 50)).UTC()
		return
	case *txn.Outcome:
		*x = txn.Committed + txn.Outcome(r.IntN(2))
		return
	case **Preparation:
		*x = &Preparation{}
		fill(v.Elem(), r)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), r)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
		for i := range v.Len() {
			fill(v.Index(i), r)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), r)
		}
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int:
		v.SetInt(int64(r.Uint32() >> r.IntN(32)))
	case reflect.Uint64:
		v.SetUint(r.Uint64() >> r.IntN(64))
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(uint8(r.Uint32())) << (r.IntN(4) * 8 % int(v.Type().Size()*8)))
	case reflect.String:
		v.SetString(strings.Repeat("g", r.IntN(200)))
	default:
		panic(v.Type())
	}
}

// show prints an entry, with what it has a pointer to.
func show(e Entry) string {
	s := fmt.Sprintf("%T %+v", e, e)
	if p, ok := e.(*PrepareTransaction); ok {
		q := *p
		q.Preparation = nil
		s = fmt.Sprintf("%+v %+v", q, *p.Preparation)
	}
	return s
}

func roundTrip(t *testing.T, kind Kind, seed uint64) {
	r := rand.New(rand.NewPCG(seed, uint64(kind)))
	e := kinds[kind]()
	fill(reflect.ValueOf(e).Elem(), r)
	if p, ok := e.(*Prepare); ok {
		p.Implicit = kind == KindPrepareImplicit
	}
	if stats := reflect.ValueOf(e).Elem().FieldByName("Stats"); stats.IsValid() && r.IntN(2) == 0 {
		stats.SetBytes(append([]byte(BucketStats), stats.Bytes()...))
	}
	b := e.Encode()
	SetStamp(b, txn.Timestamp(seed))
	got, err := Decode(b)
	if err != nil {
		t.Fatalf("%s does not decode: %v", show(e), err)
	}
	if show(got) != show(e) || Stamp(b) != txn.Timestamp(seed) {
		t.Fatalf("%s decodes to %s at %d", show(e), show(got), Stamp(b))
	}
	again := got.Encode()
	SetStamp(again, txn.Timestamp(seed))
	if !bytes.Equal(again, b) {
		t.Fatalf("%s encodes to %x, then to %x", show(e), b, again)
	}
}

func TestRoundTrip(t *testing.T) {
	for kind, of := range kinds {
		for seed := uint64(0); of != nil && seed < 200; seed++ {
			roundTrip(t, Kind(kind), seed)
		}
	}
}

// FuzzRoundTrip encodes and decodes entries of each type.
func FuzzRoundTrip(f *testing.F) {
	for kind, of := range kinds {
		if of != nil {
			f.Add(byte(kind), uint64(kind))
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, seed uint64) {
		if int(kind) < len(kinds) && kinds[kind] != nil {
			roundTrip(t, Kind(kind), seed)
		}
	})
}

// FuzzDecode decodes any bytes.
func FuzzDecode(f *testing.F) {
	for _, g := range goldenEntries() {
		f.Add(g.encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = DecodePreparation(b)
		e, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(e.Encode())
		if err != nil || !bytes.Equal(again.Encode(), e.Encode()) || show(again) != show(e) {
			t.Fatalf("%x decodes to what does not encode: %v", b, err)
		}
	})
}
