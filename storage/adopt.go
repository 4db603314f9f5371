package storage

import (
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// packLocks adds the pinned locks to a prepare's operations, except those that follow from a write
// of their row. Called with mu held or by the committing goroutine.
func (c *Committer) packLocks(p *packer) error {
	pack := func(key []byte, mode txn.LockMode) error {
		op, written, err := c.t.stage.Get(key, c.t.stage.Mark())
		if err == nil && (!written || op.Kept && mode > txn.NoKeyUpdate) {
			p.add(logentry.LockOp(mode), key, nil)
		}
		return err
	}
	return c.t.locks.Pinned(pack)
}

// adopt rebuilds the locks of a prepared transaction at the start of a term (T4), in the modes that
// its entries name. It is called with no locks in the table but those of other prepared
// transactions, which were granted together with these.
func (r *Replica) adopt(p *preparedTxn, term uint64) {
	t := newTx(r, p.id)
	t.term, t.since, t.phase, t.strange = term, p.since, phasePrepared, true
	t.adopted.Store(true)
	t.placed.Adopt(r.Owned.Load())
	err := p.each(func(key []byte, mode txn.LockMode) error {
		t.locks.Force(key, mode)
		if t.locks.Full() {
			t.locks.Compact(t.stageFile)
		}
		return nil
	})
	if err != nil {
		// either its outcome is being applied, or the database cannot be read and so no outcome is
		// applied
		r.cfg.Logger.Warn("locks of a prepared transaction", "fragment", r.cfg.Fragment, "txn", p.id, "error", err)
	}
	r.live.add(t)
}
