package raftgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// sealTail completes an interrupted change of segments in dir. raft-wal seals a full segment
// together with the last entries' write, and begins the next segment afterwards. After a kill or a
// close in between the metadata names the sealed segment as the tail. raft-wal v0.4.2 opens such a
// log and then refuses every entry ("segment is sealed"): the replica would follow no leader, and
// never lead again.
func sealTail(dir string, filer types.SegmentFiler) (err error) {
	if _, err := os.Stat(filepath.Join(dir, metadb.FileName)); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was written yet
	}
	db := &metadb.BoltMetaDB{}
	state, err := loadMeta(db, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if len(state.Segments) == 0 {
		return nil
	}
	tail := &state.Segments[len(state.Segments)-1]
	if !tail.SealTime.IsZero() {
		return nil
	}
	sealed, err := recoverSealed(filer, *tail)
	if err != nil || sealed == nil {
		return err
	}
	if sealed.MaxIndex == 0 || !readable(filer, *sealed) {
		return unseal(dir, *sealed)
	}
	*tail = *sealed
	state.Segments = append(state.Segments, types.SegmentInfo{
		ID: state.NextSegmentID, BaseIndex: sealed.MaxIndex + 1, MinIndex: sealed.MaxIndex + 1,
		Codec: sealed.Codec, SizeLimit: sealed.SizeLimit, CreateTime: time.Now(),
	})
	state.NextSegmentID++
	return db.CommitState(state) // wal.Open makes the next segment's file when it finds none
}

// loadMeta reads the metadata. If the file is damaged bbolt may panic, or read beyond its mapping.
func loadMeta(db *metadb.BoltMetaDB, dir string) (state types.PersistentState, err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if x := recover(); x != nil {
			err = fmt.Errorf("%s is damaged: %v", filepath.Join(dir, metadb.FileName), x)
		}
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	return db.Load(dir)
}

// recoverSealed returns the right metadata of the tail: nil if it is not sealed, MaxIndex 0 if it
// has no entry that was ever acknowledged.
func recoverSealed(filer types.SegmentFiler, tail types.SegmentInfo) (*types.SegmentInfo, error) {
	w, err := filer.RecoverTail(tail)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sealed, indexStart, err := w.Sealed()
	tail.MaxIndex, tail.IndexStart, tail.SealTime = w.LastIndex(), indexStart, time.Now()
	if err = errors.Join(err, w.Close()); err != nil || !sealed {
		return nil, err
	}
	return &tail, nil
}

// readable reports whether the index of a sealed segment finds the same entries as reading the
// segment from its beginning. It does not if the machine, not the process, stopped during the last
// write and only a part of that write is on disk.
func readable(filer types.SegmentFiler, sealed types.SegmentInfo) bool {
	unsealed := sealed
	unsealed.MaxIndex, unsealed.IndexStart, unsealed.SealTime = 0, 0, time.Time{}
	from, err := filer.RecoverTail(unsealed)
	if err != nil {
		return false
	}
	defer from.Close()
	to, err := filer.Open(sealed)
	if err != nil {
		return false
	}
	defer to.Close()
	for i := sealed.MinIndex; i <= sealed.MaxIndex; i++ {
		if !sameEntry(from, to, i) {
			return false
		}
	}
	return true
}

func sameEntry(a, b types.SegmentReader, index uint64) bool {
	x, err := a.GetLog(index)
	if err != nil {
		return false
	}
	defer x.Close()
	y, err := b.GetLog(index)
	if err != nil {
		return false
	}
	defer y.Close()
	return bytes.Equal(x.Bs, y.Bs)
}

// indexHeader is the length of the frame header before a segment's index.
const indexHeader = 8

// unseal removes an index that was written in part, and all after it: no entry of that write was
// ever acknowledged.
func unseal(dir string, sealed types.SegmentInfo) (err error) {
	f, err := os.OpenFile(filepath.Join(dir, segment.FileName(sealed)), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	from := int64(sealed.IndexStart) - indexHeader
	if from < 0 || from > info.Size() {
		return fmt.Errorf("the index of %s is said to begin at byte %d", f.Name(), sealed.IndexStart)
	}
	return errors.Join(f.Truncate(from), f.Truncate(info.Size()), f.Sync())
}
