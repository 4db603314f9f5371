package storage

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/proposer"
)

// IngestQueue is Ingest for callers with much to copy: it puts entries into the log while earlier
// ones are on their way to the disk, so that not every entry costs a round. One goroutine uses it
// and closes it.
//
// An entry names how many entries came before it, because what it counts depends on rows that must
// be visible. While entries are on their way, no other caller ingests here, and their row keys
// ascend; the queue is emptied before a row whose key does not.
type IngestQueue struct {
	r    *Mover
	move uint64

	sent []raftgroup.Proposal // on their way
	held bool                 // Mover.ingestMu, while there are any
	next receipt              // what will have been ingested when they are applied
	last []byte               // the largest key of a row among them
}

// NewIngestQueue begins a queue.
func (r *Mover) NewIngestQueue(move uint64) *IngestQueue { return &IngestQueue{r: r, move: move} }

// Put ingests a batch, and waits until at most ahead entries of about 256 KiB are on their way.
// After an error nothing is on its way, and it is not known which part of the batches was ingested.
func (q *IngestQueue) Put(ctx context.Context, batch []Version, ahead int) error {
	for len(batch) > 0 {
		if err := errors.Join(ctx.Err(), q.r.db.Room(false)); err != nil {
			q.Close()
			return err
		}
		if err := q.keep(max(ahead-1, 0)); err != nil {
			return err
		}
		n, err := q.some(batch)
		if err != nil {
			q.Close()
			return err
		}
		batch = batch[n:]
	}
	return q.keep(ahead)
}

// Flush waits for all.
func (q *IngestQueue) Flush() error { return q.keep(0) }

// Close waits for what is on its way, and ignores the results.
func (q *IngestQueue) Close() {
	for _, p := range q.sent {
		_, _ = await(p)
	}
	q.sent = nil
	q.release()
}

func (q *IngestQueue) release() {
	if q.held && len(q.sent) == 0 {
		q.held = false
		q.r.ingestMu.Unlock()
	}
}

// keep waits until no more than n are on their way.
func (q *IngestQueue) keep(n int) error {
	defer q.release()
	for len(q.sent) > n {
		res, err := await(q.sent[0])
		q.sent = q.sent[1:]
		if err == nil && res == resVoid {
			err = ErrMoveVoid
		}
		if err != nil {
			q.Close()
			return err
		}
	}
	return nil
}

// some sends the first versions of a batch, as many as fit into one entry, or none if they have to
// wait for entries on their way.
func (q *IngestQueue) some(batch []Version) (int, error) {
	if q.r.proposer.Term() == 0 {
		return 0, proposer.ErrNotLeader
	}
	if !q.held {
		q.r.ingestMu.Lock()
		q.held = true
		got, ok := q.r.machine.receiptOf(q.move)
		if !ok {
			return 0, ErrMoveVoid
		}
		q.next, q.last = got, nil
	}
	c := ingestion{r: q.r, move: q.move, got: q.next, own: q.r.Owned.Load().OrFirst()}
	n, err := c.pack(batch)
	if err != nil {
		return 0, err
	}
	if first := firstRow(batch[:n]); first != nil && len(q.sent) > 0 && bytes.Compare(first, q.last) <= 0 {
		return 0, q.keep(0)
	}
	if err := q.r.cfg.Clock.Check(c.newest); err != nil {
		return 0, err
	}
	for _, e := range c.entries() {
		p, _, err := q.r.proposer.Propose(proposer.Entry{Body: e.Encode(), Above: c.newest})
		if err != nil {
			return 0, err
		}
		q.sent = append(q.sent, p)
		q.next.entries++
	}
	if c.row != nil {
		q.last = c.row
	}
	q.next.deletes = q.next.deletes || c.deletes
	return n, nil
}

// firstRow returns the key of the first row in a batch, or nil if there is none. The rows of one
// entry ascend.
func firstRow(batch []Version) []byte {
	i := slices.IndexFunc(batch, func(x Version) bool { return keyspace.IsRow(x.Key) })
	if i < 0 {
		return nil
	}
	return batch[i].Key
}
