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

// A restarted replica knows its log, but not how much of it a majority has: Raft learns that from a
// leader. A file records how far the log was applied, so that a node can continue without a leader:
// applied entries are committed.

const (
	markFile   = "applied"
	markFormat = 1
	markSize   = 1 + 8 + 4 // format, index, checksum of both
)

// mark is that file. It is not synced. After a power failure it may name an earlier entry than the
// last applied one, but never an entry that is not in the log.
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

// decodeMark returns 0 for a truncated mark.
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

// replay is what has to be applied before Raft runs.
type replay struct {
	log      raft.LogStore
	snapshot atomic.Uint64 // index of the snapshot that was opened last, 0: none
	upTo     uint64
}

// recover is called with the log before Raft restores a snapshot. If there is one, Restore applies
// the entries after it.
func (m *machine) recover(log raft.LogStore, snapshot uint64, upTo uint64) error {
	m.replay.log, m.replay.upTo = log, upTo
	if snapshot == 0 {
		return m.replayLog()
	}
	return nil
}

// replayLog applies the entries that the mark records as applied.
func (m *machine) replayLog() error {
	r := m.replay
	m.replay = nil
	// m.index is the last command applied. After that command the snapshot may cover entries of
	// Raft itself, such as membership changes and barriers. They may be missing in the log: if the
	// snapshot came from another server, the log starts after the snapshot.
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

// openMarked adds what a replica among several needs to the options of a group.
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
