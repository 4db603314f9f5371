package catalog

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
)

// Outcomes of transactions that changed definitions are kept for clients that lost the answer
// (40003). Fragments keep the outcomes of all other transactions. Aborts leave no trace: if an
// outcome is not known here, and the transaction is recent enough, it changed no definition.

// keptOutcomes is how long outcomes are kept: 15 minutes, in the form of a commit timestamp (48
// bits of milliseconds, 16 of a counter). Outcomes that are older than the newest one by that much
// are dropped, so that replicas agree (K2).
const keptOutcomes = 15 * 60 * 1000 << 16

// outcome is a commit.
type outcome struct {
	id       TransactionID
	commitTS uint64
}

// outcomes are the newest commits. Raft's goroutine adds to them; any goroutine may read them.
type outcomes struct {
	mu   sync.Mutex
	list []outcome // in the order of the log; guarded by mu
	max  uint64    // largest commitTS in it; guarded by mu
}

func (o *outcomes) add(id TransactionID, commitTS uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list, o.max = append(o.list, outcome{id, commitTS}), max(o.max, commitTS)
	n := 0
	for n < len(o.list) && o.list[n].commitTS+keptOutcomes < o.max {
		n++
	}
	o.list = o.list[n:]
}

func (o *outcomes) find(id TransactionID) (commitTS uint64, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := len(o.list) - 1; i >= 0; i-- {
		if o.list[i].id == id {
			return o.list[i].commitTS, true
		}
	}
	return 0, false
}

// all returns a list that later commits do not change.
func (o *outcomes) all() []outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.list)
}

func (o *outcomes) restore(list []outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list, o.max = list, 0
	for _, x := range list {
		o.max = max(o.max, x.commitTS)
	}
}

// CommitOf reports whether a transaction that changed definitions has committed, and when. If it
// returns false, the transaction has not committed and will not, unless a process is still working
// on it or its outcome is too old to be kept.
func (c *Catalog) CommitOf(ctx context.Context, id TransactionID) (commitTS uint64, committed bool, err error) {
	if commitTS, committed = c.machine.outcomes.find(id); committed {
		return commitTS, true, nil
	}
	// The entry may still be in progress. An entry that appears after the barrier belongs to a
	// process that is still working on the transaction.
	if err := c.barrier(ctx, leaderTimeout); err != nil {
		return 0, false, err
	}
	commitTS, committed = c.machine.outcomes.find(id)
	return commitTS, committed, nil
}

// anonymous returns an id for a batch that belongs to no transaction, so that the batch is applied
// once even if it is proposed several times.
func anonymous() *outcome {
	o := &outcome{commitTS: uint64(time.Now().UnixMilli()) << 16}
	rand.Read(o.id[:])
	return o
}

// encodeCommit encodes a batch that is a whole transaction, or that belongs to none.
func encodeCommit(ops []op, of *outcome) ([]byte, error) {
	batch := batchOf(ops)
	if of != nil {
		batch.Transaction, batch.CommitTs = of.id[:], of.commitTS
	}
	return marshal(&pb.Entry{Kind: &pb.Entry_Batch{Batch: batch}})
}

func decodeOutcome(transaction []byte, commitTS uint64) (*outcome, error) {
	id, err := decodeTransactionID(transaction)
	return &outcome{id, commitTS}, err
}

func decodeOutcomes(list []*pb.Decided) (out []outcome, err error) {
	for _, x := range list {
		o, err := decodeOutcome(x.GetTransaction(), x.GetCommitTs())
		if err != nil {
			return nil, err
		}
		out = append(out, *o)
	}
	return out, nil
}
