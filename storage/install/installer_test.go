package install

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keysummary"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/stopper"
	"github.com/sherddb/sherd/txn"
)

// bench is an Installer over a database of its own. Pieces are written when gate has a token, those
// that are wanted at once.
type bench struct {
	*Installer
	db        *engine.Engine
	gate      chan struct{}
	mu        sync.Mutex
	installed []txn.ID // guarded by mu
}

var errClosed = errors.New("closed")

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{gate: make(chan struct{}, 100)}
	stop, pace := stopper.New(), NewPace()
	db, err := engine.Open(engine.Options{
		Dir: t.TempDir(), Fragment: 1, Logger: slog.New(slog.DiscardHandler), Merges: pace.Merges(),
		Stop: stop.Stopped(), MemTable: 1 << 20, Free: func(string) (int64, error) { return 1 << 40, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	b.db = db
	b.Installer = New(Config{
		DB: db, Pace: pace, Stopper: stop, Fragment: 1, Closed: errClosed,
		Installed: func(x *Rows) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.installed = append(b.installed, x.ID)
		},
		Fault: func(point string) {
			if point == "install.piece" {
				select {
				case <-b.gate:
				case <-stop.Stopped():
				}
			}
		},
	})
	t.Cleanup(func() {
		stop.Stop()
		b.Wait()
		db.Abandon()
	})
	return b
}

// rows returns rows n to n+count-1, one in each piece.
func rows(t *testing.T, n, count int, version txn.Timestamp) *Rows {
	t.Helper()
	keys := &keysummary.Summary{}
	pieces := make([][]byte, count)
	for i := range pieces {
		pieces[i] = logentry.AppendOp(nil, logentry.OpPut, rowKey(n+i), fmt.Append(nil, "row ", n+i))
		if err := keys.Add(pieces[i]); err != nil {
			t.Fatal(err)
		}
	}
	keys.Seal()
	keys.SealPieces()
	return NewRows(txn.NewID(), version, keys, count, func(n int) ([]byte, error) { return pieces[n], nil })
}

func (b *bench) value(t *testing.T, n int, T txn.Timestamp) string {
	t.Helper()
	s := b.db.At(T)
	defer s.Close()
	v, _, err := s.Get(rowKey(n))
	if err != nil {
		t.Fatal(err)
	}
	return string(v)
}

func each(n int) func(fn func(s txn.Span) bool) {
	return func(fn func(s txn.Span) bool) { fn(txn.Span{Start: rowKey(n), End: rowKey(n + 1)}) }
}

// TestInstaller: rows are read from their pieces before they are in the database, pieces that a
// reader wants come first, and transactions are written in their order.
func TestInstaller(t *testing.T) {
	b := newBench(t)
	x, y := rows(t, 0, 4, 10), rows(t, 10, 2, 20)
	b.Start([]*Rows{x})
	b.Start([]*Rows{y})
	row, err := b.Find(x, rowKey(2))
	if err != nil || row == nil || string(row.Value) != "row 2" || row.Version != 10 || row.Arrived() {
		t.Fatalf("%+v, %v", row, err)
	}
	if row, err := b.Find(x, rowKey(5)); row != nil || err != nil {
		t.Errorf("%+v, %v", row, err)
	}
	missing := x.Missing(each(2))
	if fmt.Sprint(missing) != "[2]" {
		t.Fatal(missing)
	}
	<-b.Want(x, missing, nil)
	if got := b.value(t, 2, 10); got != "row 2" || !row.Arrived() {
		t.Errorf("a piece that was wanted is not in the database: %q", got)
	}
	if all, left := x.Pieces(); all != 4 || left != 3 || b.value(t, 1, 10) != "" || x.Done() {
		t.Errorf("%d of %d pieces are left", left, all)
	}
	if row, err := b.Find(x, rowKey(2)); row != nil || err != nil {
		t.Errorf("a row that is in the database is read from its piece: %+v, %v", row, err)
	}
	for range 5 {
		b.gate <- struct{}{}
	}
	b.Wait()
	if !x.Done() || !y.Done() || b.value(t, 11, 20) != "row 11" || b.value(t, 3, 9) != "" {
		t.Error("not all rows are in the database at their version")
	}
	if fmt.Sprint(b.installed) != fmt.Sprint([]txn.ID{x.ID, y.ID}) || b.cfg.Pace.Cached() != 0 {
		t.Error("the order of the commits was not kept, or pieces are still cached")
	}
}

// TestAbandon: those that wait for a piece are notified, and nothing more is written.
func TestAbandon(t *testing.T) {
	b := newBench(t)
	x := rows(t, 0, 3, 10)
	b.Start([]*Rows{x})
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Abandon()
	}()
	<-b.halted()
	b.gate <- struct{}{} // the piece at the gate was begun before
	<-done
	ended := make(chan struct{})
	if ch := b.Want(x, []int{2}, ended); ch != (<-chan struct{})(ended) {
		t.Error("a piece is wanted that will not be written")
	}
	if x.Done() || b.value(t, 2, 10) != "" {
		t.Error("rows were written after the end")
	}
	y := rows(t, 10, 1, 20)
	b.gate <- struct{}{}
	if err := b.WriteAll([]*Rows{y}); err != nil || !y.Done() || b.value(t, 10, 20) != "row 10" {
		t.Error("nothing can be written afterwards: ", err)
	}
}
