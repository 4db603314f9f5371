package raftgroup

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
	"github.com/sherddb/sherd/internal/sparse"
)

const smallSegment = 4 << 10

func openSmallWAL(t *testing.T, dir string) *wal.WAL {
	t.Helper()
	w, err := openWAL(&Options{Name: "g", SegmentSize: smallSegment, Logger: slog.New(slog.DiscardHandler)}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func logEntry(index uint64) *raft.Log {
	return &raft.Log{Index: index, Term: 3, Type: raft.LogCommand, Data: bytes.Repeat([]byte{byte(index)}, 500)}
}

// sealedTail makes a log whose process was killed after its segment was sealed by its last entries,
// and before the next one was begun. It returns the directory, the last segment's file, the offset
// of the last write in it, and the last entries before that write and in it.
func sealedTail(t *testing.T) (dir, file string, from int64, before, last uint64) {
	t.Helper()
	dir = t.TempDir()
	w := openSmallWAL(t, dir)
	for before < 3 {
		before++
		if err := w.StoreLog(logEntry(before)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db := &metadb.BoltMetaDB{}
	state, err := db.Load(dir)
	if err = errors.Join(err, db.Close()); err != nil || len(state.Segments) != 1 {
		t.Fatalf("%+v, %v", state, err)
	}
	info := state.Segments[0]
	file = filepath.Join(dir, segment.FileName(info))
	from = lastWritten(t, file)
	tail, err := segment.NewFiler(dir, newVFS()).RecoverTail(info)
	if err != nil {
		t.Fatal(err)
	}
	var batch []types.LogEntry
	for last = before; last < before+8; {
		last++
		var b bytes.Buffer
		if err := (&wal.BinaryCodec{}).Encode(logEntry(last), &b); err != nil {
			t.Fatal(err)
		}
		batch = append(batch, types.LogEntry{Index: last, Data: b.Bytes()})
	}
	if err := tail.Append(batch); err != nil {
		t.Fatal(err)
	}
	if sealed, _, err := tail.Sealed(); err != nil || !sealed {
		t.Fatalf("sealed: %v, %v", sealed, err)
	}
	if err := tail.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, file, from, before, last
}

// lastWritten is the end of what is not zero in a file.
func lastWritten(t *testing.T, file string) int64 {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(bytes.TrimRight(b, "\x00")))
}

// goesOn checks that a log has every entry up to one of two, accepts more, and has all of them when
// it is opened again.
func goesOn(t *testing.T, dir string, least, most uint64) {
	t.Helper()
	w := openSmallWAL(t, dir)
	last, err := w.LastIndex()
	if err != nil || last != least && last != most {
		t.Fatalf("the last entry is %d, wanted %d or %d: %v", last, least, most, err)
	}
	more := last + 20
	for i := last + 1; i <= more; i++ {
		if err := w.StoreLog(logEntry(i)); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = openSmallWAL(t, dir)
	defer w.Close()
	for i := uint64(1); i <= more; i++ {
		var got raft.Log
		if err := w.GetLog(i, &got); err != nil || !bytes.Equal(got.Data, logEntry(i).Data) {
			t.Fatalf("entry %d of %d: %v", i, more, err)
		}
	}
}

// TestKilledBeforeTheNextSegment kills a process between the write that seals a segment and the
// metadata of the next one.
func TestKilledBeforeTheNextSegment(t *testing.T) {
	dir, _, _, _, last := sealedTail(t)
	goesOn(t, dir, last, last)
}

// TestTornSeal stops a machine during the write that seals a segment: only the first bytes of the
// write are on disk, or all but some in its middle. The index is at its end.
func TestTornSeal(t *testing.T) {
	dir, file, from, before, last := sealedTail(t)
	end := lastWritten(t, file)
	for at := from; at < end; at += 211 {
		torn(t, dir, file, [2]int64{at, end}, before, last)
		torn(t, dir, file, [2]int64{at, min(at+64, end)}, before, last)
	}
	for at := end - 96; at < end; at += 4 {
		torn(t, dir, file, [2]int64{at, at + 4}, before, last)
	}
}

// torn checks that the log continues in a copy in which some bytes of a file are zero.
func torn(t *testing.T, dir, file string, zero [2]int64, before, last uint64) {
	t.Run(fmt.Sprint(zero), func(t *testing.T) {
		to := t.TempDir()
		if err := sparse.Dir(to, dir); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(to, filepath.Base(file)), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt(make([]byte, zero[1]-zero[0]), zero[0])
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		goesOn(t, to, before, last)
	})
}
