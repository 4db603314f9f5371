package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/truncation"
	"github.com/sherddb/sherd/txn"
)

// checkMark compares the newest checkpoint's record with its mark: the log is cut by the mark, and
// the record must not need more of it. It returns what the record names.
func checkMark(t *testing.T, r *Replica) []*lateRows {
	t.Helper()
	s, _, err := loadState(r.db)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := r.kept.Newest()
	if !ok || m.Index != s.index {
		t.Fatalf("the mark is of entry %d, the record of %d", m.Index, s.index)
	}
	if first := s.firstIndex(s.remaining()); first > 0 && first < m.First {
		t.Errorf("the record needs the log from %d on, and the mark keeps it from %d on", first, m.First)
	}
	return s.installing
}

// TestMarkOfInstalling: the rows of a large commit become complete between the record of a
// checkpoint, which names them, and its mark.
func TestMarkOfInstalling(t *testing.T) {
	for _, way := range []string{"commit", "held"} {
		t.Run(way, func(t *testing.T) {
			var meet atomic.Pointer[func()]
			g := &installGate{}
			r := openTest(t, t.TempDir(), g.config, func(c *Config) {
				inner := c.Knobs.Fault
				c.Knobs.Fault = func(point string) {
					inner(point)
					if f := meet.Load(); f != nil && point == "checkpoint.after" {
						(*f)()
					}
				}
			})
			open := g.close(t, 0)
			commitBy(t, r, way)
			finish := func() { open(); r.installs.Wait() }
			meet.Store(&finish)
			checkpointNow(t, r)
			if n := len(checkMark(t, r)); n != 1 {
				t.Fatalf("%d installs are named", n)
			}
		})
	}
}

func checkpointNow(t *testing.T, r *Replica) {
	t.Helper()
	r.machine.mu.Lock()
	defer r.machine.mu.Unlock()
	if err := r.machine.checkpoint(); err != nil {
		t.Fatal(err)
	}
}

// TestRecordOfInstalled: rows that are there need no log entries, in a checkpoint and in a stream,
// also if pieces under own keys are still to be deleted. Streams of earlier releases named the
// entries.
func TestRecordOfInstalled(t *testing.T) {
	r := openTest(t, t.TempDir(), slowRecovery, func(c *Config) { c.Limits.BufferMemory = 64 << 10 })
	commitBy(t, r, "held")
	r.installs.Wait()
	checkpointNow(t, r)
	named := checkMark(t, r)
	if len(named) != 1 || named[0].o.own == 0 || len(named[0].o.indexes) > 0 {
		t.Fatalf("%+v", named)
	}
	f, err := r.machine.freeze()
	if err != nil {
		t.Fatal(err)
	}
	defer f.release()
	for _, earlier := range []bool{false, true} {
		s, err := decodeCheckpoint(f.state)
		if err != nil || len(s.installing) != 1 || s.firstIndex(s.remaining()) != 0 {
			t.Fatalf("%+v, %v", s, err)
		}
		if earlier {
			s.installing[0].o.indexes = []uint64{3}
		}
		sent := *f
		sent.state, _ = s.encode()
		var b bytes.Buffer
		if err := r.writeTo(&counter{w: &b, limit: math.MaxInt64}, &sent); err != nil {
			t.Fatal(err)
		}
		to := openTest(t, t.TempDir(), slowRecovery)
		if err := to.machine.restoreAt(io.NopCloser(&b), 0); err != nil {
			t.Fatalf("earlier release %v: %v", earlier, err)
		}
		checkLarge(t, to, 0)
	}
}

// TestInstalledBeyondCut: a checkpoint of an earlier release names entries that its mark did not
// keep. Their rows are in tables then.
func TestInstalledBeyondCut(t *testing.T) {
	r := openTest(t, t.TempDir(), slowRecovery)
	m := r.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pieces.log = raft.NewInmemStore()
	for _, c := range []struct {
		cut  uint64
		lost bool
	}{{5, false}, {4, true}} {
		cut := binary.BigEndian.AppendUint64([]byte{1}, c.cut)
		err := os.WriteFile(filepath.Join(r.cfg.Dir, truncation.File), cut, 0o600)
		if err := errors.Join(err, r.kept.Open(c.cut, false)); err != nil {
			t.Fatal(err)
		}
		m.s.installing = []*lateRows{{o: &openTxn{id: txn.NewID(), indexes: []uint64{5, 6}}, version: 9}}
		if err := m.finishInstalls(); pgerr.Is(err, pgerr.DataCorrupted) != c.lost || !c.lost && err != nil {
			t.Errorf("the log was cut at %d: %v", c.cut, err)
		}
		m.s.installing = nil
	}
}

// TestDiscardBelowNamedInstall: a restart writes again the rows of an install that its checkpoint
// names. Badger keeps deletions of such rows while a restart would begin with that checkpoint,
// wherever the watermark is: a replica that catches up applies the entries of the commit, the
// deletion and the watermark within a moment.
func TestDiscardBelowNamedInstall(t *testing.T) {
	g := &installGate{}
	r := openTest(t, t.TempDir(), g.config, smallTables)
	open := g.close(t, 0)
	at := commitLarge(t, r, 0)
	tx := r.Tx(txn.NewID())
	if err := tx.LockNewest(t.Context(), rowKey(3)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Delete(rowKey(3)); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context(), txn.CommitRequest{}); err != nil {
		t.Fatal(err)
	}
	pass(t, r, r.Applied())
	checkpoint(t, r)
	open()
	r.installs.Wait()
	discard := func() txn.Timestamp {
		newCollector(r).discard(time.Now())
		return r.db.Condition().Discards
	}
	if got := discard(); got >= at {
		t.Errorf("Badger may discard below %v, and a restart writes rows at %v again", got, at)
	}
	commitRow(t, r, rowKey(5000), "x") // its entry forgets the install
	checkpoint(t, r)
	if got := discard(); got < at {
		t.Errorf("no checkpoint names the install, and Badger may discard below %v only, not %v", got, at)
	}
}
