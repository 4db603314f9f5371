package storage

import (
	"slices"

	"github.com/sherddb/sherd/txn"
)

// packLocks adds the pinned locks to what a prepare carries, but for those that follow from a write of their row. Called with mu held or by
// the committing goroutine.
func (t *Tx) packLocks(p *packer) error {
	if t.pins == 0 {
		return nil
	}
	pack := func(key []byte, mode txn.LockMode) error {
		op, written, err := t.stage.get(key, t.stage.mark())
		if err == nil && (!written || op.kept && mode > txn.NoKeyUpdate) {
			p.add(lockOp(mode), key, nil)
		}
		return err
	}
	held := t.held
	if t.set != nil {
		held = append(slices.Clone(held), t.set.shownLocks()...)
	}
	for _, l := range held {
		if !l.pinned || l.filed {
			continue
		}
		if err := pack([]byte(l.key), l.mode); err != nil {
			return err
		}
	}
	if t.pinned == nil {
		return nil
	}
	return t.pinned.each(func(key []byte) error {
		if l := t.r.locks.heldBy(t, key); l != nil && l.pinned {
			return pack(key, l.mode)
		}
		return nil
	})
}

// adopt rebuilds the locks of a prepared transaction at the start of a term (T4), in the modes that its entries tell. Called with no locks in
// the table but those of other prepared transactions, beside which these were granted.
func (r *Replica) adopt(p *preparedTxn, term uint64) {
	t := &Tx{r: r, id: p.id, term: term, since: p.since, phase: phasePrepared, strange: true}
	t.adopted.Store(true)
	t.owns = []*ownership{r.own.Load()}
	err := p.each(func(key []byte, mode txn.LockMode) error {
		l := r.locks.force(t, key, mode)
		t.hold(l, l.mode, false)
		return nil
	})
	if err != nil { // either its outcome is being applied, or the database cannot be read, and no outcome either
		r.cfg.Logger.Warn("locks of a prepared transaction", "fragment", r.cfg.Fragment, "txn", p.id, "error", err)
	}
	r.tmu.Lock()
	r.txs[p.id] = t
	r.tmu.Unlock()
}
