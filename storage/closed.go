package storage

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// CloseAt closes T, or more, at the leader (T9).
func (r *Replica) CloseAt(ctx context.Context, T txn.Timestamp) (proposer.Closed, error) {
	return r.proposer.Close(ctx, T)
}

// LearnClosed adds a closed timestamp that a leader has reported.
func (r *Replica) LearnClosed(c proposer.Closed) { r.learned.Learn(c, r.Applied()) }

// Servable returns the largest timestamp at which this replica can be read, whether it leads or
// not: all at or below it has been applied, and nothing will ever be stamped there. Readers wait
// for undecided and installing transactions by themselves (T3). 0: it cannot be read at present.
func (r *Replica) Servable() txn.Timestamp {
	if r.db.Torn() {
		return 0
	}
	return r.learned.UpTo(r.Applied())
}

// Closing reports whether T will be closed here once everything that a leader had proposed before
// it closed T has been applied.
func (r *Replica) Closing(T txn.Timestamp) bool { return r.learned.Closing(T, r.Applied()) }

// NotClosed reports whether an error says that a replica cannot serve a timestamp (yet). Nothing
// was read.
func NotClosed(err error) bool { return err == errNotClosed }

var errNotClosed = pgerr.New(pgerr.CannotConnectNow, "the replica does not have everything up to the time to be read").
	WithHint("Try again in a moment.")

// ClosedView opens a view at T, which is closed, whether the replica leads or not. id is the
// reader's. ranges are those that it reads: as far as the replica knows they can be read at T,
// otherwise it waits or fails as Admit does. A scan of a local index does not notice a move by
// itself: what an earlier generation of a bucket has left looks like its present entries if the
// replica does not know yet that the bucket came back.
func (r *Replica) ClosedView(ctx context.Context, id txn.ID, T txn.Timestamp, ranges []BucketRange) (*View, error) {
	restores := r.db.Replacements()
	if servable := r.Servable(); servable == 0 || T > servable && rule.T9Closed {
		return nil, errNotClosed
	}
	// After T was found to be closed: an entry about buckets that is not in it is stamped above T.
	own, err := r.Owned.Await(ctx, T, func(o *owned.Buckets) (ownership.Verdict, ownership.Piece) {
		return o.About(ranges, func(p *ownership.Piece) ownership.Verdict { return p.Read(T) })
	})
	if err != nil {
		return nil, err
	}
	v := &View{r: r, t: newTx(r, id), T: T, own: own, b: r.db.At(T), restores: restores}
	v.over = r.proposer.Over() // of a leader's; a follower waits a little for what is undecided
	if err := v.kept(nil); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}
