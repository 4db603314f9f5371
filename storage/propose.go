package storage

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// offer is an entry for the log's queue.
type offer struct {
	proposer.Entry
	reads *validation // nil: nothing to validate
	tx    *Tx         // what it has here must be owned and unfenced; nil: it needs nothing
}

// offer stamps an entry and puts it into the log's queue, under one lock (T1). Reads are validated
// up to the stamp (T8).
func (r *Replica) offer(ctx context.Context, o offer) (raftgroup.Proposal, txn.Timestamp, error) {
	if o.reads != nil {
		return r.offerValidated(ctx, o)
	}
	for {
		own, err := o.tx.awaitIntact(ctx)
		if err != nil {
			return raftgroup.Proposal{}, 0, err
		}
		r.proposer.Lock()
		if o.tx == nil || r.Owned.Load() == own {
			// changes of ownership are published under this lock
			defer r.proposer.Unlock()
			return r.proposer.Stamp(o.Entry)
		}
		r.proposer.Unlock()
	}
}

// enqueue puts a stamped entry into the log's queue.
func (r *Replica) enqueue(term uint64, body []byte) raftgroup.Proposal {
	if r.cfg.Group.Transport == nil {
		return r.Group.raft.Propose(body)
	}
	return r.Group.raft.ProposeIn(term, body)
}

// extendLease logs a new lease expiry.
func (r *Replica) extendLease(until txn.Timestamp) error {
	_, _, err := r.log.run((&logentry.ReadLease{Until: until}).Encode(), 0)
	return err
}

// logWriter puts entries into the log that come from no write buffer.
type logWriter struct{ p *proposer.Proposer }

// run proposes an encoded entry that comes from no write buffer and waits until it is applied.
func (l logWriter) run(body []byte, above txn.Timestamp) (result, txn.Timestamp, error) {
	return l.runEntry(proposer.Entry{Body: body, Above: above})
}

// runEntry is run for an entry that its caller describes.
func (l logWriter) runEntry(e proposer.Entry) (result, txn.Timestamp, error) {
	p, stamp, err := l.p.Propose(e)
	if err != nil {
		return 0, 0, err
	}
	res, err := await(p)
	return res, stamp, err
}

// await waits for a proposal to be applied. It takes no context: the log answers soon or not at
// all, and a caller that left would not know the outcome.
func await(p raftgroup.Proposal) (result, error) {
	resp, _, err := p.Done()
	if err != nil {
		return 0, err
	}
	switch res, ok := resp.(result); {
	case res == resUnknown:
		return 0, errUnknownHere
	case !ok || res == resRejected:
		return 0, errTermEnded
	default:
		return res, nil
	}
}

// errUnknownHere is the answer for an entry in the log that a replica without room has not applied.
var errUnknownHere = pgerr.New(pgerr.StatementCompletionUnknown,
	"the fragment's replica was closed while its disk was full; the outcome is unknown")

var errTermEnded = pgerr.New(pgerr.SerializationFailure, "the fragment's leader changed during the statement").
	WithHint("Try again.")
