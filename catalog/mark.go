package catalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync/atomic"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/raftgroup"
)

// A replica that starts again knows its log, but not how much of it a majority has; Raft hears that from a leader. So that a node can go on without
// one, how far the log was applied is kept in a file: what was applied was decided.

const (
	markFile   = "applied"
	markFormat = 1
	markSize   = 1 + 8 + 4 // format, index, checksum of both
)

// mark is the file. It is not synced: after a loss of power it may say less than was applied, never more than is in the log.
type mark struct{ f *os.File }

func openMark(path string) (*mark, uint64, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, err
	}
	var b [markSize]byte
	if _, err := io.ReadFull(f, b[:]); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		f.Close()
		return nil, 0, err
	}
	return &mark{f}, decodeMark(b[:]), nil
}

// decodeMark returns 0 for a mark that was cut off.
func decodeMark(b []byte) uint64 {
	if len(b) != markSize || b[0] != markFormat || binary.BigEndian.Uint32(b[9:]) != crc32.ChecksumIEEE(b[:9]) {
		return 0
	}
	return binary.BigEndian.Uint64(b[1:])
}

func encodeMark(index uint64) []byte {
	b := binary.BigEndian.AppendUint64([]byte{markFormat}, index)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func (k *mark) set(index uint64) error {
	_, err := k.f.WriteAt(encodeMark(index), 0)
	return err
}

func (k *mark) close() error {
	if k == nil {
		return nil
	}
	return errors.Join(k.f.Sync(), k.f.Close())
}

// replay is what is left to be applied before Raft runs.
type replay struct {
	log      raft.LogStore
	snapshot atomic.Uint64 // index of the one that was opened last, 0: none
	upTo     uint64
}

// recover is called with the log before Raft restores a snapshot, if there is one. Entries behind it follow in Restore.
func (m *machine) recover(log raft.LogStore, snapshot uint64, upTo uint64) error {
	m.replay.log, m.replay.upTo = log, upTo
	if snapshot == 0 {
		return m.replayLog()
	}
	return nil
}

// replayLog applies what the mark says was applied before.
func (m *machine) replayLog() error {
	r := m.replay
	m.replay = nil
	// What the machine has applied are commands. Behind the last of them the snapshot may cover entries of Raft's own, a change of members or a barrier,
	// and those need not be in the log: it begins behind the snapshot where that came from another server.
	m.index = max(m.index, r.snapshot.Load())
	last, err := r.log.LastIndex()
	if err != nil {
		return err
	}
	for i := m.index + 1; i <= min(r.upTo, last); i++ {
		var l raft.Log
		if err := r.log.GetLog(i, &l); err != nil {
			return fmt.Errorf("catalog: entry %d, which was applied before, cannot be read: %w", i, err)
		}
		if l.Type == raft.LogCommand {
			m.Apply(&l)
		}
	}
	return nil
}

// openMarked adds to the options of a group what a replica among several needs.
func (m *machine) openMarked(path string, o *raftgroup.Options) error {
	k, upTo, err := openMark(path)
	if err != nil {
		return err
	}
	m.mark, m.replay = k, &replay{}
	o.Restoring = m.replay.snapshot.Store
	o.Recover = func(log raft.LogStore, snapshot uint64) error { return m.recover(log, snapshot, upTo) }
	return nil
}
