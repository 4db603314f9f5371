package storage

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/writebuf"
	"github.com/sherddb/sherd/txn"
)

// encode returns the write set in pieces of at most logentry.MaxBody (except for a single larger
// operation), each behind HeadRoom free bytes, and its statistics.
//
// If the write set or the keys of pinned locks are on disk, all pieces but the last are sent as
// they are made, and only the last is returned.
func (c *Committer) encode() (pieces [][]byte, stats []byte, err error) {
	if c.t.buffer.OnDisk() || c.withPins && c.t.locks.PinsOnDisk() {
		return c.sendSpilled()
	}
	var d counts.BucketDeltas
	plain := !c.t.buffer.Mixed()
	err = c.t.buffer.Last(func(op *writebuf.Op) error {
		old, err := c.oldSize(op)
		plain = plain && engine.Chunks(len(op.Value)) == 0 && engine.Chunks(old) == 0
		countOp(&d, op, old)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	var p packer
	if plain {
		p.pieces = c.t.buffer.Pieces()
	} else if err := c.t.buffer.Last(func(op *writebuf.Op) error { return c.pack(&p, op) }); err != nil {
		return nil, nil, err
	}
	if c.withPins {
		err = c.packLocks(&p)
	}
	if len(p.pieces) == 0 {
		p.grow()
	}
	return p.pieces, c.counted(&d), err
}

// sendSpilled puts a write set that is on disk into the log as parts, all but the last one. They go
// in the order of their keys, so that Badger's new tables do not overlap and each is merged with
// few others.
func (c *Committer) sendSpilled() (last [][]byte, stats []byte, err error) {
	if err := c.t.buffer.Spill(c.t.bufferFile); err != nil {
		return nil, nil, err
	}
	s := partSender{t: c.t}
	var d counts.BucketDeltas
	p := packer{full: s.send, size: partBody}
	own, err := c.t.buffer.Span(txn.Span{}, c.t.buffer.Mark(), false)
	for ; err == nil && own.OK; err = own.Next() {
		var old int
		if old, err = c.oldSize(&own.Op); err != nil {
			break
		}
		countOp(&d, &own.Op, old)
		if encodeOp(&own.Op, old, p.add); p.err != nil {
			break
		}
	}
	if err == nil && c.withPins {
		err = c.packLocks(&p)
	}
	if err == nil {
		err = p.err
	}
	if werr := s.wait(); err == nil {
		err = werr
	}
	if err != nil {
		c.dropParts()
		return nil, nil, err
	}
	if len(p.pieces) == 0 {
		p.grow()
	}
	return p.pieces, c.counted(&d), nil
}

func (c *Committer) pack(p *packer, op *writebuf.Op) error {
	old, err := c.oldSize(op)
	if err == nil {
		encodeOp(op, old, p.add)
	}
	return err
}

// packer cuts a write set into pieces of at most logentry.MaxBody (except for a single larger
// operation), each behind HeadRoom free bytes.
type packer struct {
	pieces [][]byte
	size   int                      // of a piece; 0: logentry.MaxBody
	full   func(piece []byte) error // takes full pieces; nil: they are kept
	err    error                    // of full
}

// firstPiece is the room of a piece at first: most transactions write one row.
const firstPiece = 1 << 10

func (p *packer) grow() {
	if n := len(p.pieces); n == 0 || p.full == nil {
		p.pieces = append(p.pieces, make([]byte, logentry.HeadRoom, logentry.HeadRoom+firstPiece))
		return
	}
	if p.err == nil {
		p.err = p.full(p.pieces[0])
	}
	p.pieces[0] = make([]byte, logentry.HeadRoom, p.limit())
}

func (p *packer) limit() int {
	if p.size > 0 {
		return p.size
	}
	return logentry.MaxBody
}

func (p *packer) add(op logentry.Op, key, value []byte) {
	n := len(p.pieces) - 1
	if n < 0 || len(p.pieces[n]) > logentry.HeadRoom && len(p.pieces[n])+len(key)+len(value) > p.limit() {
		p.grow()
		n = len(p.pieces) - 1
	}
	p.pieces[n] = logentry.AppendOp(p.pieces[n], op, key, value)
}

// encodeOp passes add the operations on Badger's keys that op stands for. old is the size of the
// value that it replaces (-1: none).
func encodeOp(op *writebuf.Op, old int, add func(op logentry.Op, key, value []byte)) {
	n := engine.Chunks(len(op.Value))
	switch {
	case op.Delete:
		add(logentry.OpDelete, op.Key, nil)
	case n == 0 && op.Kept:
		add(logentry.OpPutKept, op.Key, op.Value)
	case n == 0:
		add(logentry.OpPut, op.Key, op.Value)
	default:
		for i := range n {
			add(logentry.OpPut, keyspace.ChunkKey(op.Key, i),
				op.Value[i*engine.ChunkSize:min((i+1)*engine.ChunkSize, len(op.Value))])
		}
		head := logentry.OpPutHead
		if op.Kept {
			head = logentry.OpPutHeadKept
		}
		add(head, op.Key, engine.Head(len(op.Value)))
	}
	for i := n; i < engine.Chunks(old); i++ {
		add(logentry.OpDelete, keyspace.ChunkKey(op.Key, i), nil)
	}
}

func countOp(d *counts.BucketDeltas, op *writebuf.Op, old int) {
	if !keyspace.IsRow(op.Key) {
		return
	}
	docs, bytes := 0, 0
	if old >= 0 {
		docs, bytes = -1, -len(op.Key)-old
	}
	if !op.Delete {
		docs, bytes = docs+1, bytes+len(op.Key)+len(op.Value)
	}
	if old >= 0 || !op.Delete {
		d.Add(op.Key, docs, bytes)
	}
}

// counted counts the rows of the write set, and returns its statistics as they go into the log.
func (c *Committer) counted(d *counts.BucketDeltas) []byte {
	c.t.r.live.written.Add(c.t.term, d)
	return c.t.r.encodeDeltas(d)
}

// oldSize returns the size of the newest committed value, or -1 if there is none. It does not look
// up index entries, because their values are never chunked.
func (c *Committer) oldSize(op *writebuf.Op) (int, error) {
	if op.Old != writebuf.UnknownSize {
		return int(op.Old), nil
	}
	if !keyspace.IsRow(op.Key) {
		return -1, nil
	}
	value, _, err := c.t.r.rows.newest(untilTerm(context.Background(), c.t.r.proposer), op.Key)
	if value == nil {
		return -1, err
	}
	return len(value), err
}

// The size of parts of a write set on disk, and the number of parts on their way, bound what Raft
// holds of one transaction.
const (
	partBody      = 256 << 10
	partsInFlight = 8
)

// sendParts puts all pieces but the last into the log and returns the last.
func (c *Committer) sendParts(pieces [][]byte) ([]byte, error) {
	s := partSender{t: c.t}
	var err error
	for ; len(pieces) > 1 && err == nil; pieces = pieces[1:] {
		err = s.send(pieces[0])
		pieces[0] = nil
	}
	if werr := s.wait(); err == nil {
		err = werr
	}
	if err != nil {
		c.dropParts()
		return nil, err
	}
	return pieces[0], nil
}

// partSender puts pieces into the log as parts, some at a time.
type partSender struct {
	t      *Tx
	flying []raftgroup.Proposal
}

func (s *partSender) send(piece []byte) error {
	t := s.t
	if t.parts == 0 {
		if err := t.r.installs.AwaitRoom(context.Background()); err != nil {
			return err
		}
	}
	e := logentry.Part{ID: t.id, Number: t.parts}
	p, _, err := t.r.offer(context.Background(), offer{Entry: proposer.Entry{Body: e.EncodeInto(piece), Term: t.term}})
	if err != nil {
		return err
	}
	t.parts++
	s.flying = append(s.flying, p)
	if len(s.flying) < partsInFlight {
		return nil
	}
	err = awaitPart(s.flying[0])
	s.flying = s.flying[1:]
	return err
}

// wait waits for all that were sent.
func (s *partSender) wait() (err error) {
	for _, p := range s.flying {
		if perr := awaitPart(p); err == nil {
			err = perr
		}
	}
	s.flying = nil
	return err
}

// awaitPart returns a definite error: a part alone has no effect, whether it reached the log or
// not.
func awaitPart(p raftgroup.Proposal) error {
	res, err := await(p)
	if err == nil && res == resVoid || pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		return proposer.ErrTermOver
	}
	return err
}

// dropParts makes the log forget the parts of a transaction that will not commit. If that fails,
// the next leader does it.
func (c *Committer) dropParts() {
	if c.parts > 0 {
		_, _, _ = c.t.r.log.run((&logentry.Resolve{ID: c.t.id, Outcome: txn.Aborted}).Encode(), 0)
	}
}

// packLocks adds the pinned locks to a prepare's operations, except those that follow from a write
// of their row. Called with mu held or by the committing goroutine.
func (c *Committer) packLocks(p *packer) error {
	pack := func(key []byte, mode txn.LockMode) error {
		op, written, err := c.t.buffer.Get(key, c.t.buffer.Mark())
		if err == nil && (!written || op.Kept && mode > txn.NoKeyUpdate) {
			p.add(logentry.LockOp(mode), key, nil)
		}
		return err
	}
	return c.t.locks.Pinned(pack)
}
