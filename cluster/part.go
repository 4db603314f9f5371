package cluster

import (
	"context"
	"time"

	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// part is a transaction's participant in one fragment: led here (localPart), led by another node
// (remotePart), or by either (handle). What it reports about its write buffer (HasWrites, Mark and
// the like) costs no round trip.
type part interface {
	exec.Fragment
	txn.Participant
	Mark() txn.Mark
	// RollbackTo, Restart and Rollback of a remote part are sent and not waited for; the next call
	// comes after them.
	RollbackTo(m txn.Mark)
	Restart(m txn.Mark, forgetReads bool)
	SetLockTimeout(d time.Duration)
	// width returns how many buckets are written, at least.
	width() int
	// staged reports whether there is something that would be lost with the leader's term, or may
	// be.
	staged() bool
	// owned checks that the fragment still owns what the transaction has buffered, locked and read;
	// if not, it returns *txn.LostError.
	owned(ctx context.Context) error
	// Hold, HoldComplete, unhold and Detach are the steps of PREPARE TRANSACTION.
	Hold(ctx context.Context, req storage.HoldRequest) error
	HoldComplete(ctx context.Context) error
	unhold(ctx context.Context) error
	Detach()
}

// localPart is a part in a fragment that is led here.
type localPart struct {
	fragment.Part
	of      *Transaction
	replica *storage.Replica
}

var (
	_ part = (*localPart)(nil)
	_ part = (*remotePart)(nil)
)

func newLocalPart(r *storage.Replica, t *Transaction, o exec.TransactionOptions) *localPart {
	p := &localPart{of: t, replica: r}
	t.host.fragments.InitPart(&p.Part, r.Tx(t.id))
	p.SetSession(o.Session)
	p.SetLockTimeout(o.LockTimeout)
	if o.Isolation == txn.Serializable {
		p.TrackReads()
	}
	return p
}

// Run implements exec.Fragment.
func (p *localPart) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	if err := Admit(ctx, p.replica, task); err != nil {
		return exec.Result{}, err
	}
	return runTask(ctx, &p.Part, p.of, task, emit)
}

func (p *localPart) owned(context.Context) error { return p.Owned() }

// Restart drops the writes since m and keeps the locks.
func (p *localPart) Restart(m txn.Mark, forgetReads bool) {
	if p.Part.Restart(m); forgetReads {
		p.ForgetReads()
	}
}

func (p *localPart) width() int   { return p.Width() }
func (p *localPart) staged() bool { return p.Term() != 0 || p.HasReads() }

// HoldComplete completes the PREPARE TRANSACTION at the home.
func (p *localPart) HoldComplete(context.Context) error { return p.Tx.HoldComplete() }

func (p *localPart) unhold(context.Context) error { return p.replica.Unhold(p.ID()) }

// remotePart is a part in a fragment that another node leads.
type remotePart struct{ *remote.Part }

func (p *remotePart) width() int   { return p.Width() }
func (p *remotePart) staged() bool { return p.Staged() }

func (p *remotePart) owned(ctx context.Context) error { return p.Owned(ctx) }

func (p *remotePart) unhold(ctx context.Context) error { return p.DropPrepared(ctx) }
