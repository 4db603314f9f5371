package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

const (
	movedTable    = 30000
	globalIndexID = 3
)

// withGlobals says that index 3 is global.
func withGlobals(c *Config) {
	c.Global = func(_, index uint32) bool { return index == globalIndexID }
}

// movedKey is the key of a row in a bucket.
func movedKey(bucket uint32, name string) []byte {
	return append(keyspace.RowPrefix(movedTable, bucket, 0), name...)
}

// movedEntry is the key of a global index entry in a bucket.
func movedEntry(bucket uint32, name string) []byte {
	b := keyspace.IndexPrefix(movedTable, globalIndexID)
	return append(append(b, byte(bucket>>16), byte(bucket>>8), byte(bucket)), name...)
}

var movedRange = []BucketRange{{Lo: 100, Hi: 200}}

// mover drives moves between fragments as package rebalance/move does, without a catalog.
type mover struct {
	t    testing.TB
	c    *cluster
	next uint64
}

func (m *mover) number() uint64 { m.next++; return m.next }

// copy brings the ranges up to a timestamp.
func (m *mover) copy(from, to *Replica, move uint64, req ReadRequest) (ReadResult, error) {
	ctx := testContext(m.t)
	return from.Moves.ReadVersions(ctx, req, func(batch []Version) error { return to.Moves.Ingest(ctx, move, batch) })
}

// prepare does all steps up to the flip.
func (m *mover) prepare(from, to *Replica, move uint64, ranges []BucketRange) (F, since txn.Timestamp, err error) {
	ctx := testContext(m.t)
	if _, err := to.Moves.BeginIngest(ctx, move, ranges, from.Watermark()); err != nil {
		return 0, 0, fmt.Errorf("receive: %w", err)
	}
	first, err := m.copy(from, to, move, ReadRequest{Ranges: ranges})
	if err != nil {
		return 0, 0, fmt.Errorf("first round: %w", err)
	}
	second, err := m.copy(from, to, move, ReadRequest{Ranges: ranges, Since: first.T})
	if err != nil {
		return 0, 0, fmt.Errorf("second round: %w", err)
	}
	if F, err = from.Moves.Fence(ctx, move, ranges, testTimeout); err != nil {
		return 0, 0, fmt.Errorf("fence: %w", err)
	}
	_, err = m.copy(from, to, move, ReadRequest{Ranges: ranges, Since: second.T, Final: true, Move: move})
	return F, first.Watermark, err
}

// finish does those after it.
func (m *mover) finish(from, to *Replica, move uint64, ranges []BucketRange, F, since txn.Timestamp) {
	m.t.Helper()
	ctx := testContext(m.t)
	for _, err := range []error{
		to.Moves.Own(ctx, move, ranges, F, since), from.Moves.MoveAway(ctx, move, ranges),
		from.Moves.Clean(ctx, move, ranges),
	} {
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

func (m *mover) move(from, to *Replica, ranges []BucketRange) {
	m.t.Helper()
	n := m.number()
	F, since, err := m.prepare(from, to, n, ranges)
	if err != nil {
		m.t.Fatal(err)
	}
	m.finish(from, to, n, ranges, F, since)
}

// count checks that a fragment's statistics count what a view of it does.
func (m *mover) count(r *Replica) {
	m.t.Helper()
	ctx := testContext(m.t)
	c := r.Inspect.Census()
	stats, err := c.Stats(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	v, err := r.Tx(txn.ID{}).View(ctx, c.At)
	if err != nil {
		m.t.Fatal(err)
	}
	defer v.Close()
	v.OwnedOnly()
	want := counts.Range{}
	for _, s := range stats {
		want.Documents, want.Bytes = want.Documents+s.Documents, want.Bytes+s.Bytes
	}
	got := counts.Range{}
	err = v.Scan(ctx, txn.Prefix(keyspace.IndexPrefix(movedTable, keyspace.Rows)), false,
		func(key, value []byte) error {
			got.Documents, got.Bytes = got.Documents+1, got.Bytes+int64(len(key)+len(value))
			return nil
		})
	if err != nil || got != want {
		m.t.Errorf("fragment %d counts %+v and has %+v, %v", r.ID(), want, got, err)
	}
}

// rowsAt returns what a fragment has of ranges at T: rows and global entries.
func rowsAt(t testing.TB, r *Replica, T txn.Timestamp, ranges []BucketRange, reverse bool) string {
	t.Helper()
	ctx := testContext(t)
	v, err := r.Tx(txn.ID{}).ViewOf(ctx, T, ranges)
	if err != nil {
		return err.Error()
	}
	defer v.Close()
	var out strings.Builder
	for _, m := range ranges {
		for _, span := range []txn.Span{keyspace.BucketSpan(movedTable, m.Lo, m.Hi),
			keyspace.StoredSpan(logentry.Index{Table: movedTable, Index: globalIndexID}, m, 0)} {
			err := v.Scan(ctx, span, reverse, func(key, value []byte) error {
				if got, err := v.Get(ctx, key); err != nil || string(got) != string(value) {
					t.Errorf("%x is %q in a scan and %q by itself, %v", key, value, got, err)
				}
				fmt.Fprintf(&out, "%d:%s=%.10s ", binary.BigEndian.Uint32(append([]byte{0}, key[8:11]...)),
					strings.TrimLeft(string(key[11:]), "\x00"), value)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return out.String()
}

func current(t testing.TB, r *Replica) txn.Timestamp {
	t.Helper()
	T, err := r.Snapshot(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return T
}

func openMover(t testing.TB, change ...func(*Config)) *mover {
	return &mover{t: t, c: openCluster(t, tempDirs(t, 2), append([]func(*Config){withGlobals}, change...)...)}
}

// TestFenceWaitsForWhatIsPrepared: a move waits for a prepared write set, one of PREPARE
// TRANSACTION has it refused by name.
func TestFenceWaitsForWhatIsPrepared(t *testing.T) {
	m := openMover(t, slowRecovery)
	a := m.c.rs[0]
	buffer := func(name string) *Tx {
		tx := a.Tx(txn.NewID())
		if err := errors.Join(tx.LockNewest(t.Context(), movedKey(100, name)),
			tx.Put(movedKey(100, name), []byte("x"))); err != nil {
			t.Fatal(err)
		}
		return tx
	}
	prepared := buffer("prepared")
	req := PreparationRequest{PreparationRequest: txn.PreparationRequest{GID: "a name"}, Home: 1, Writers: []txn.FragmentID{1}}
	if err := prepared.PrepareTransaction(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	var inTheWay *PreparedError
	if _, err := a.Moves.Fence(t.Context(), m.number(), movedRange, time.Second); !errors.As(err, &inTheWay) ||
		inTheWay.GID != "a name" || pgerr.Code(err) != pgerr.ObjectInUse {
		t.Errorf("a prepared transaction: %v", err)
	}
	if err := a.Outcomes.DropPrepared(prepared.ID()); err != nil {
		t.Fatal(err)
	}
	undecided := buffer("undecided")
	C := current(t, a).Add(10 * time.Millisecond)
	if err := undecided.Prepare(t.Context(),
		txn.PrepareRequest{C: C, Coordinator: 1, Writers: []txn.FragmentID{1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Moves.Fence(t.Context(), m.number(), movedRange, time.Millisecond); !errors.Is(err, ErrUndecided) {
		t.Errorf("a prepared transaction: %v", err)
	}
	if len(a.Owned.Fenced()) != 0 {
		t.Errorf("the fence was begun: %+v", a.Owned.Fenced())
	}
	done := make(chan error)
	go func() {
		_, err := a.Moves.Fence(context.Background(), m.number(), movedRange, time.Minute)
		done <- err
	}()
	if out, err := undecided.Decide(t.Context(),
		txn.Decision{ID: undecided.ID(), C: C, Outcome: txn.Committed,
			Writers: []txn.FragmentID{1}}); out != txn.Committed || err != nil {
		t.Fatal(out, err)
	}
	if err := <-done; err != nil {
		t.Errorf("after the decision: %v", err)
	}
}

// TestVersionsOfABusyRow: a row with many versions is read in batches, from where an earlier read
// has ended, and each version has the value before it.
func TestVersionsOfABusyRow(t *testing.T) {
	m := openMover(t)
	a, key := m.c.rs[0], movedKey(100, "busy")
	for i := range 40 {
		commitRow(t, a, key, fmt.Sprint(i, " ", strings.Repeat("x", 60_000)))
	}
	commitRow(t, a, movedKey(101, "other"), "y")
	var all []Version
	batches := 0
	res, err := a.Moves.ReadVersions(t.Context(), ReadRequest{Ranges: movedRange}, func(b []Version) error {
		batches++
		all = append(all, b...)
		return nil
	})
	if err != nil || len(all) != 41 || batches < 8 {
		t.Fatalf("%d versions in %d batches, %v", len(all), batches, err)
	}
	for i, v := range all[:40] {
		if !strings.HasPrefix(string(v.Value), fmt.Sprint(i, " ")) ||
			i > 0 && string(v.Before) != string(all[i-1].Value) || i == 0 && v.Before != nil {
			t.Errorf("version %d is %.5q after %.5q", i, v.Value, v.Before)
		}
	}
	var rest []Version
	_, err = a.Moves.ReadVersions(t.Context(), ReadRequest{Ranges: movedRange, T: res.T, After: &all[30]},
		func(b []Version) error {
			rest = append(rest, b...)
			return nil
		})
	if err != nil || len(rest) != 10 || string(rest[0].Value) != string(all[31].Value) ||
		string(rest[0].Before) != string(all[30].Value) {
		t.Errorf("%d versions behind the 31st, %v", len(rest), err)
	}
}

// TestMoveThereAndBack moves a range that has updated, deleted and large rows, and global entries.
func TestMoveThereAndBack(t *testing.T) {
	m := openMover(t)
	a, b := m.c.rs[0], m.c.rs[1]
	commitRow(t, a, movedKey(99, "outside"), "x")
	commitRow(t, a, movedKey(100, "first"), "1")
	commitRow(t, a, movedKey(199, "last"), "1")
	commitRow(t, a, movedEntry(150, "entry"), "e1")
	commitRow(t, a, movedKey(150, "large"), strings.Repeat("a", 700_000))
	before := current(t, a)
	if err := deleteRow(a, movedKey(199, "last")); err != nil {
		t.Fatal(err)
	}
	commitRow(t, a, movedKey(100, "first"), "2")
	commitRow(t, a, movedKey(150, "large"), "small")
	commitRow(t, a, movedEntry(120, "entry"), "e2")
	middle := current(t, a)
	want := func(when string, r *Replica) {
		t.Helper()
		for T, rows := range map[txn.Timestamp]string{
			before: "100:first=1 150:large=aaaaaaaaaa 199:last=1 150:entry=e1 ",
			middle: "100:first=2 150:large=small 120:entry=e2 150:entry=e1 ",
		} {
			if got := rowsAt(t, r, T, movedRange, false); got != rows {
				t.Errorf("%s, at %s: %s", when, T, got)
			}
		}
	}
	want("before", a)
	m.move(a, b, movedRange)
	want("at the target", b)
	want("at the source, in the past", a)
	var moved *txn.MovedError
	if err := a.Admit(t.Context(), movedRange, 0, false); !errors.As(err, &moved) || moved.Fragment != 1 ||
		moved.Move != 1 || pgerr.Code(err) != pgerr.SerializationFailure {
		t.Errorf("the source gives a current timestamp: %v", err)
	}
	if _, err := tryRow(a, movedKey(100, "first"), "lost"); !errors.As(err, &moved) {
		t.Errorf("the source writes: %v", err)
	}
	commitRow(t, b, movedKey(100, "first"), "3")
	commitRow(t, b, movedEntry(120, "entry"), "e3")
	if got := rowsAt(t, b, current(t, b), movedRange,
		true); got != "150:large=small 100:first=3 150:entry=e1 120:entry=e3 " {
		t.Error(got)
	}
	if got := a.Inspect.BucketStats(0); len(got) != 1 || got[0].Documents != 1 {
		t.Errorf("the source counts %+v", got)
	}
	if got := b.Inspect.BucketStats(0); len(got) != 1 || got[0].Documents != 2 {
		t.Errorf("the target counts %+v", got)
	}
	m.count(a)
	m.count(b)
	m.move(b, a, []BucketRange{{Lo: 100, Hi: 150}})
	m.count(a)
	m.count(b)
	if got := rowsAt(t, a, current(t, a), []BucketRange{{Lo: 100, Hi: 150}},
		false); got != "100:first=3 120:entry=e3 " {
		t.Error(got)
	}
	past := rowsAt(t, a, middle, []BucketRange{{Lo: 100, Hi: 150}}, false)
	if past != "100:first=2 120:entry=e2 " {
		t.Error(past)
	}
	if x := a.Owned.Ranges(); len(x) != 2 || x[0].State != Owned || x[0].Generation != 1 || x[1].State != Gone {
		t.Errorf("%+v", x)
	}
	crashed := m.c.crash(withGlobals)
	if got := rowsAt(t, crashed.rs[0], current(t, crashed.rs[0]), []BucketRange{{Lo: 100, Hi: 150}},
		false); got != "100:first=3 120:entry=e3 " {
		t.Errorf("after a crash: %s", got)
	}
	if got := crashed.rs[0].Owned.Ranges(); fmt.Sprint(got) != fmt.Sprint(a.Owned.Ranges()) {
		t.Errorf("after a crash: %v", got)
	}
}
