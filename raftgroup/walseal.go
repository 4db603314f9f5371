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

// sealTail finishes what a raft-wal in dir has begun. It seals a full segment with the last entries' write, and begins the next one afterwards: who is
// killed, or closes it, in between has a sealed segment that its metadata takes for the tail. raft-wal v0.4.2 opens such a log, and refuses every entry
// from then on ("segment is sealed"): the group would follow nobody, and never lead again.
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
	return db.CommitState(state) // the next segment's file is made by wal.Open, which finds that there is none
}

// loadMeta reads the metadata. Of a damaged file bbolt may panic, or read beyond what it has mapped.
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

// recoverSealed gives what the metadata should say of the tail: nil if it is not sealed, MaxIndex 0 if it has no entry that was ever acknowledged.
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

// readable tells whether the index of a sealed segment leads to the entries that reading the segment from its beginning finds. It does not where
// the machine, not the process, stopped within the last write, and only part of that is there.
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

// unseal removes an index that was written in part, and what follows it: nothing of that write was ever acknowledged.
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
