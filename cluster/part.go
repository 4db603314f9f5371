package cluster

import (
	"context"
	"time"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// part is a transaction's handle on one fragment: led here, or by another node. What it tells of its stage (HasWrites, Mark and the like) costs no
// round trip.
type part interface {
	exec.Fragment
	txn.Participant
	Mark() txn.Mark
	// RollbackTo, Restart and Rollback of one elsewhere are sent and not waited for; the next call comes after them.
	RollbackTo(m txn.Mark)
	Restart(m txn.Mark)
	ForgetReads()
	SetLockTimeout(d time.Duration)
	// width gives how many buckets at least are written.
	width() int
	// Hold, HoldComplete, unhold and Detach are the steps of PREPARE TRANSACTION.
	Hold(ctx context.Context, req storage.HoldRequest) error
	HoldComplete() error
	unhold() error
	Detach()
}

// localPart is a part in a fragment that is led here.
type localPart struct {
	Stage
	replica *storage.Replica
}

var _ part = (*localPart)(nil)

func (t *Transaction) newLocalPart(r *storage.Replica) *localPart {
	p := &localPart{Stage: Stage{Tx: r.Tx(t.id), of: t}, replica: r}
	p.SetSession(t.options.Session)
	p.SetLockTimeout(t.options.LockTimeout)
	if t.options.Isolation == txn.Serializable {
		p.TrackReads()
	}
	return p
}

func (p *localPart) width() int { return p.places.count() }

func (p *localPart) unhold() error { return p.replica.Unhold(p.ID()) }
