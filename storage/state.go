package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/keysummary"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/truncation"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/protocol"
)

// state is the small part of the state machine: everything but rows and index entries. It is in
// memory, changes only by applying entries in log order, and is written to Badger as a checkpoint.
// So at an entry it is the state below that entry's stamp, also when the log is replayed (S1). Only
// the applying goroutine uses it.
type state struct {
	index     uint64        // of the last entry applied
	stamp     txn.Timestamp // largest stamp applied (T1)
	lease     txn.Timestamp // last extension (T4)
	watermark txn.Timestamp // reads below are refused
	visible   txn.Timestamp // see machine.visible
	open      map[txn.ID]*openTxn
	decided   map[txn.ID]*decision
	recent    map[txn.ID]txn.Timestamp // commits of the last dedupWindow: each applies once
	order     []txn.ID                 // recent's ids, oldest first
	unsaved   int                      // of order, from its end: not in an outcome record yet

	installing []*lateRows // committed, with rows still to be installed; in the order of the commits

	own ownState // which buckets are the fragment's
}

// openTxn is a transaction with parts or a prepare in the log, and no outcome yet. pieces.go says
// where its writes are.
type openTxn struct {
	protocol.Writer[txn.Timestamp]

	id  txn.ID
	own int // pieces under own keys; they come first
	// entries that hold the other pieces and stay in the log (firstIndex): parts, then the prepare
	// with the rest
	indexes []uint64
	// all writes, if one prepare has brought them since the start; nil otherwise
	writes      []byte
	keys        *keysummary.Summary // nil if writes are there
	stats       []byte
	parts       int
	coordinator txn.FragmentID
	attempt     int
	writers     []txn.FragmentID
	// of a prepared transaction; its writes are under own keys, not in the log
	preparation *logentry.Preparation
	since       time.Time // when this process learned of it; starts recovery, decides nothing
}

// decision is a commit this coordinator fragment decided and may not forget yet.
type decision struct {
	id      txn.ID
	C       txn.Timestamp
	writers []txn.FragmentID
	since   time.Time
}

// dedupWindow is how long, in stamps, a commit's id is remembered. No gateway repeats a commit
// later than that.
const dedupWindow = txn.Timestamp(10_000 << 16)

const maxRecent = 4096

func newState() *state {
	return &state{open: map[txn.ID]*openTxn{}, decided: map[txn.ID]*decision{}, recent: map[txn.ID]txn.Timestamp{}}
}

func (s *state) remember(id txn.ID, at txn.Timestamp) {
	s.recent[id] = at
	s.order = append(s.order, id)
	s.unsaved++
	n := 0
	for n < len(s.order)-s.unsaved && (s.recent[s.order[n]]+dedupWindow < at || len(s.order)-n > maxRecent) {
		delete(s.recent, s.order[n])
		n++
	}
	s.order = s.order[n:]
}

// mark is what a checkpoint of s needs of the log; its record names the installs in again. A
// restart from it writes their rows once more, so deletions above them must be kept, wherever the
// watermark is.
func (s *state) mark(again []remaining) truncation.Mark {
	m := truncation.Mark{Index: s.index, First: s.firstIndex(again), Stamp: s.stamp, Watermark: s.watermark}
	for _, x := range again {
		m.Watermark = min(m.Watermark, x.version-1)
	}
	return m
}

// firstIndex returns the smallest index of an entry whose content is only in the log, or 0 if there
// is none.
func (s *state) firstIndex(installing []remaining) (first uint64) {
	for _, o := range s.open {
		first = firstOf(first, o.indexes)
	}
	for _, x := range installing {
		first = firstOf(first, x.indexes)
	}
	return first
}

func firstOf(first uint64, indexes []uint64) uint64 {
	if len(indexes) > 0 && (first == 0 || indexes[0] < first) {
		return indexes[0]
	}
	return first
}

// checkpointFormat is the format byte of the record keyspace.Checkpoint. In format 1, an open
// transaction's statistics and the number of its parts are only in the log. Formats before 3
// contain no outcomes, those before 4 no implicit commits, those before 5 no commits with rows
// still to be installed, those before 6 no moved buckets; before format 7 the statistics of open
// transactions did not name buckets.
const (
	checkpointFormat = 7
	groupsCheckpoint = 6
)

// format returns the oldest format that can express the state, so that an earlier release reads it
// if it can (V4).
func (s *state) format() byte {
	for _, o := range s.open {
		if logentry.NamesBuckets(o.stats) {
			return checkpointFormat
		}
	}
	return groupsCheckpoint
}

// encode returns the checkpoint record, which has what a restart needs besides the log and Badger's
// other keys, and the installs that it names: a restart writes their rows again.
func (s *state) encode() (record []byte, again []remaining) {
	again = s.remaining()
	b := []byte{s.format()}
	b = binary.AppendUvarint(b, s.index)
	b = codec.AppendTimestamp(b, s.stamp)
	b = codec.AppendTimestamp(b, s.lease)
	b = codec.AppendTimestamp(b, s.watermark)
	b = binary.AppendUvarint(b, uint64(len(s.open)))
	for _, id := range slices.SortedFunc(maps.Keys(s.open),
		func(a, b txn.ID) int { return slices.Compare(a[:], b[:]) }) {
		o := s.open[id]
		b = append(b, id[:]...)
		b = binary.AppendUvarint(b, uint64(o.own))
		b = binary.AppendUvarint(b, uint64(max(o.parts, 0)))
		b = codec.AppendBytes(b, o.stats)
		b = appendLogIndexes(b, o.indexes)
		b = append(b, codec.Bool(o.Prepared))
		b = codec.AppendTimestamp(b, o.C)
		b = binary.AppendUvarint(b, uint64(o.coordinator))
		b = binary.AppendUvarint(b, uint64(o.attempt))
		b = codec.AppendFragments(b, o.writers)
		b = append(b, codec.Bool(o.Implicit))
	}
	b = binary.AppendUvarint(b, uint64(len(s.order)))
	for _, id := range s.order {
		b = append(b, id[:]...)
		b = codec.AppendTimestamp(b, s.recent[id])
	}
	b = binary.AppendUvarint(b, uint64(s.unsaved))
	return s.own.append(appendInstalling(b, again)), again
}

func appendLogIndexes(b []byte, indexes []uint64) []byte {
	b = binary.AppendUvarint(b, uint64(len(indexes)))
	for _, i := range indexes {
		b = binary.AppendUvarint(b, i)
	}
	return b
}

func readLogIndexes(r *codec.Reader) (list []uint64) {
	n := r.Int()
	for i := 0; i < n && r.Err == nil; i++ {
		list = append(list, r.Uvarint())
	}
	return list
}

// partsInLog says that parts and statistics are to be read from the log.
const partsInLog = -1

func decodeCheckpoint(b []byte) (*state, error) {
	if len(b) == 0 || b[0] < 1 || b[0] > checkpointFormat {
		return nil, fmt.Errorf("checkpoint of a format this release does not know")
	}
	format := b[0]
	r := codec.Reader{B: b[1:]}
	s := newState()
	s.index = r.Uvarint()
	s.stamp, s.lease, s.watermark = r.Timestamp(), r.Timestamp(), r.Timestamp()
	n := r.Int()
	for i := 0; i < n && r.Err == nil; i++ {
		o := &openTxn{id: r.ID(), parts: partsInLog}
		if format > 1 {
			o.own, o.parts, o.stats = r.Int(), r.Int(), bytes.Clone(r.Bytes())
		}
		o.indexes = readLogIndexes(&r)
		o.Prepared = r.Byte() != 0
		o.C = r.Timestamp()
		o.coordinator = txn.FragmentID(r.Int())
		o.attempt = r.Int()
		o.writers = r.Fragments()
		if format > 3 {
			o.Implicit = r.Byte() != 0
		}
		s.open[o.id] = o
	}
	n = r.Int()
	for i := 0; i < n && r.Err == nil; i++ {
		id := r.ID()
		s.recent[id] = r.Timestamp()
		s.order = append(s.order, id)
	}
	s.visible, s.unsaved = s.stamp, len(s.order)
	if format > 2 {
		s.unsaved = min(r.Int(), len(s.order))
	}
	if format > 4 {
		s.installing = readInstalling(&r, s.stamp)
	}
	if format > 5 {
		s.own = readOwnState(&r)
	}
	if r.Err != nil || len(r.B) != 0 {
		return nil, fmt.Errorf("damaged checkpoint: %w", codec.ErrMalformed)
	}
	return s, nil
}

// loadState reads the newest checkpoint of db, and the decisions and statistics as they were at its
// stamp.
func loadState(db *engine.Engine) (*state, *counts.Sums, error) {
	stats := counts.New()
	t := db.At(txn.MaxTimestamp)
	defer t.Close()
	record, _, err := t.Get(keyspace.Record(keyspace.Checkpoint))
	if err != nil {
		return nil, nil, err
	}
	if record == nil {
		return newState(), stats, nil
	}
	s, err := decodeCheckpoint(record)
	if err != nil {
		return nil, nil, pgerr.New(pgerr.DataCorrupted, "the fragment's data is damaged: %v", err)
	}
	// Keys at stamps above the checkpoint's may exist already: parts of entries that will be
	// applied again.
	at := db.At(s.stamp)
	defer at.Close()
	if err := at.EachRecord(keyspace.Decision, s.loadDecision); err != nil {
		return nil, nil, err
	}
	if err := at.EachRecord(keyspace.Prepared, s.loadPreparation); err != nil {
		return nil, nil, err
	}
	if err := at.EachRecord(keyspace.Statistics, stats.Load); err != nil {
		return nil, nil, err
	}
	return s, stats, at.EachRecord(keyspace.BucketCounts, stats.LoadExact)
}

func (s *state) loadDecision(rest, v []byte) error {
	d, forgotten, err := decodeDecision(v)
	if err == nil && !forgotten {
		copy(d.id[:], rest)
		s.decided[d.id] = d
	}
	return err
}

// A decision record: format(1) · forgotten(1) · C(8) · writers.
func encodeDecision(d *decision, forgotten bool) []byte {
	b := codec.AppendTimestamp([]byte{1, codec.Bool(forgotten)}, d.C)
	return codec.AppendFragments(b, d.writers)
}

func decodeDecision(b []byte) (d *decision, forgotten bool, err error) {
	r := codec.Reader{B: b}
	if r.Byte() != 1 {
		return nil, false, fmt.Errorf("decision of a format this release does not know")
	}
	forgotten = r.Byte() != 0
	d = &decision{C: r.Timestamp(), writers: r.Fragments(), since: time.Now()}
	if r.Err != nil || len(r.B) != 0 {
		return nil, false, fmt.Errorf("damaged decision: %w", codec.ErrMalformed)
	}
	return d, forgotten, nil
}
