package storage

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/writebuf"
	"github.com/sherddb/sherd/txn"
)

// preparation is what this replica knows of a prepared transaction (PREPARE TRANSACTION).
type preparation struct {
	id          txn.ID
	preparation *logentry.Preparation
	locked      *preparedTxn // its locks
	asked       time.Time    // the home was asked last; guarded by transactions.mu
}

// newPreparation is called with transactions.mu held.
func (r *Replica) newPreparation(o *openTxn) *preparation {
	h := &preparation{id: o.id, preparation: o.preparation}
	if before := r.txns.preparations[o.id]; before != nil {
		h.locked, h.asked = before.locked, before.asked
	} else {
		h.locked = newPrepared(r.machine, o)
	}
	return h
}

// PreparationRequest is what a participant gets to know about PREPARE TRANSACTION.
type PreparationRequest struct {
	txn.PreparationRequest
	Home    txn.FragmentID
	Writers []txn.FragmentID // all, the home included; ascending
	// what a SERIALIZABLE transaction that writes somewhere has read must be true at its commit
	// (T8)
	Reads bool
}

// PrepareTransaction puts the write buffer and the locks into the log, where they survive any crash
// until the transaction is committed or dropped by name. The home prepares first, the others after
// its answer. The transaction stands only after CompletePreparation, unless the home is the only
// fragment. What was read is validated, and guarded from here on (prepared_reads.go). After an
// error the caller drops the transaction everywhere, the home first (Outcomes.DropPrepared).
func (c *Committer) PrepareTransaction(ctx context.Context, req PreparationRequest) error {
	h := &logentry.Preparation{Request: req.PreparationRequest, Home: req.Home, Writers: req.Writers}
	h.Complete = len(req.Writers) == 1
	var reads *validation
	if req.Reads {
		err := c.join() // so that it belongs to the term in which the guard holds
		if err == nil {
			reads = c.validation()
			err = c.guardReads(ctx, reads, h)
		}
		if err != nil {
			c.abandon()
			return err
		}
	}
	p, err := c.offerPreparation(ctx, h, reads)
	if err != nil {
		c.t.r.guards.Drop(c.t.id)
		c.dropParts()
		c.abandon()
		return err
	}
	c.t.mu.Lock()
	c.t.phase, c.t.byName = phasePrepared, true
	c.t.mu.Unlock()
	res, err := await(p)
	c.t.r.fault("preparation.after")
	if err != nil || res == resDone {
		return err // if the result is unknown, the guard stays until the preparation is dropped
	}
	c.t.r.guards.Drop(c.t.id)
	c.t.end()
	if res == resTaken {
		return pgerr.New(pgerr.DuplicateObject, "transaction identifier \"%s\" is already in use", req.GID)
	}
	return proposer.ErrTermOver
}

// join makes the write buffer if there is none.
func (c *Committer) join() error {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	return c.t.begin()
}

func (c *Committer) offerPreparation(
	ctx context.Context, h *logentry.Preparation, reads *validation,
) (raftgroup.Proposal, error) {
	c.withPins = true
	if err := c.encodeBuffer(); err != nil {
		return raftgroup.Proposal{}, err
	}
	e := logentry.PrepareTransaction{ID: c.t.id, Preparation: h, Parts: c.parts, Stats: c.delta}
	c.t.r.fault("preparation.before")
	p, _, err := c.t.r.offer(ctx,
		offer{Entry: proposer.Entry{Body: e.EncodeInto(c.rest), Term: c.t.term}, reads: reads, tx: c.t})
	return p, err
}

// CompletePreparation makes a prepared transaction stand, at its home, when all others have it.
func (c *Committer) CompletePreparation() error {
	res, _, err := c.t.r.log.run((&logentry.CompletePreparation{ID: c.t.id}).Encode(), 0)
	c.t.r.fault("preparation.complete")
	if err == nil && res == resVoid {
		err = pgerr.New(pgerr.SerializationFailure, "transaction was aborted because its preparation took too long").
			WithHint("Try again.")
	}
	return err
}

// Detach leaves a prepared transaction to the log: its session is done with it.
func (c *Committer) Detach() {
	c.t.mu.Lock()
	c.t.buffer = writebuf.Buffer{}
	c.t.mu.Unlock()
	c.t.locks.SetSession(0)
	// no coordinator in this process works on it: its home or its coordinator fragment may be asked
	c.t.adopted.Store(true)
}

func (t *Tx) isByName() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byName
}

// commitPrepared commits a transaction that is prepared in this fragment alone. If it fails, except
// with 40003, the transaction is prepared as before.
func (c *Committer) commitPrepared(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	e := logentry.CommitPrepared{ID: c.t.id}
	p, stamp, err := c.t.r.offer(ctx,
		offer{Entry: proposer.Entry{Body: e.Encode(), Term: c.t.term, Above: req.Floor}, tx: c.t})
	if err != nil {
		return 0, err
	}
	res, err := await(p)
	c.t.r.fault("preparation.committed")
	if err == nil && res == resVoid {
		err = pgerr.New(pgerr.ObjectNotInPrerequisiteState, "transaction %s is not prepared any more", c.t.id)
	}
	return stamp, unanswered(err, c.t.id)
}

// adoptPreparation rebuilds the locks of a prepared transaction at the start of a term. Called with
// transactions.mu held.
func (r *Replica) adoptPreparation(h *preparation, term uint64) {
	if r.txns.prepared[h.id] == nil {
		r.adopt(h.locked, term)
	}
	t := r.live.find(h.id)
	t.mu.Lock()
	t.byName = true
	t.mu.Unlock()
	h.asked = time.Time{} // at once
}

// mayAsk reports whether it is time to ask the home of a prepared transaction: at the start of a
// term and from time to time, but much later if its session may still be working. Called with
// transactions.mu held.
func (r *Outcomes) mayAsk(h *preparation, now time.Time) bool {
	after := r.cfg.Timing.RecoverAfter
	if !r.isAdopted(h.id) {
		after = r.cfg.Timing.RecoverLive
		if h.asked.IsZero() {
			h.asked = now
		}
	}
	if h.home() == r.cfg.Fragment && h.preparation.Complete || now.Sub(h.asked) < after {
		return false
	}
	h.asked = now
	return true
}

func (h *preparation) home() txn.FragmentID { return h.preparation.Home }

// askHome drops what is prepared here if its home does not have it (any more).
func (r *Outcomes) askHome(h *preparation) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	if h.home() == r.cfg.Fragment {
		_, _ = r.PreparationStands(ctx, h.id)
		return
	}
	if r.cfg.Others.Stands == nil {
		return
	}
	stands, err := r.cfg.Others.Stands(ctx, h.home(), h.id)
	if err == nil && !stands {
		err = r.DropPrepared(h.id)
	}
	if err != nil { // it was not found out: the next round asks again, without a pause
		r.cfg.Logger.Debug("home does not answer", "fragment", r.cfg.Fragment, "home", h.home(), "txn", h.id,
			"err", err)
		r.txns.mu.Lock()
		h.asked = time.Time{}
		r.txns.mu.Unlock()
	}
}

// PreparationStands answers, as the home, whether a prepared transaction stands. An incomplete one
// without a session here that may complete it is dropped by this question.
func (r *Outcomes) PreparationStands(ctx context.Context, id txn.ID) (bool, error) {
	// What a confirmed leader does not know does not exist.
	if _, err := r.snapshot(ctx); err != nil {
		return false, err
	}
	r.txns.mu.RLock()
	h, decided := r.txns.preparations[id], r.txns.decided[id] != nil
	r.txns.mu.RUnlock()
	switch {
	case decided:
		return true, nil // the outcome is sent to those that prepared
	case h == nil:
		return false, nil
	case h.preparation.Complete || r.isLive(id):
		return true, nil
	}
	res, _, err := r.log.run((&logentry.DropPrepared{ID: id, Incomplete: true}).Encode(), 0)
	return res == resVoid, err
}

// DropPrepared drops what is prepared here. At the home this is ROLLBACK PREPARED, and returns
// 55000 while the transaction is being committed. In other fragments it is called after the home
// has dropped the transaction.
func (r *Outcomes) DropPrepared(id txn.ID) error {
	res, _, err := r.log.run((&logentry.DropPrepared{ID: id}).Encode(), 0)
	r.cfg.Knobs.Fault("preparation.dropped")
	if err == nil && res == resVoid {
		err = pgerr.New(pgerr.ObjectNotInPrerequisiteState, "prepared transaction is busy").
			WithDetail("It is being committed.")
	}
	if err == nil {
		r.guards.Drop(id) // also a guard whose transaction did not get into the log
	}
	return err
}

// PreparedTransactions lists the transactions that stand and have their home here, by name.
func (r *Outcomes) PreparedTransactions() ([]txn.PreparedTransaction, error) {
	if r.proposer.Term() == 0 {
		return nil, proposer.ErrNotLeader
	}
	r.txns.mu.RLock()
	defer r.txns.mu.RUnlock()
	var out []txn.PreparedTransaction
	for _, h := range r.txns.preparations {
		if h.home() == r.cfg.Fragment && h.preparation.Complete {
			out = append(out, txn.PreparedTransaction{
				ID: h.id, PreparationRequest: h.preparation.Request, Fragments: h.preparation.Writers})
		}
	}
	slices.SortFunc(out, func(a, b txn.PreparedTransaction) int {
		return cmp.Or(strings.Compare(a.GID, b.GID), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return out, nil
}

// PreparedTx returns the handle of a transaction that is prepared here, for its commit.
func (r *Replica) PreparedTx(id txn.ID) (*Tx, error) {
	if t := r.Tx(id); t.isByName() {
		return t, nil
	}
	return nil, pgerr.New(pgerr.CannotConnectNow, "%s is not ready to commit the prepared transaction", r.cfg.Name()).
		WithHint("Try again in a moment.")
}

// PreparedTables returns the storage ids of the tables in which a transaction prepared here writes
// or has locked rows, or whose rows it has read.
func (r *Outcomes) PreparedTables(id txn.ID) ([]uint32, error) {
	for again := true; ; again = false {
		r.txns.mu.RLock()
		h := r.txns.preparations[id]
		if h == nil {
			r.txns.mu.RUnlock()
			return nil, nil
		}
		each, reads := h.locked.each, h.preparation.Reads
		r.txns.mu.RUnlock()
		tables := map[uint32]bool{}
		for _, x := range reads {
			tables[keyspace.TableOf(x.Start)] = true
			if len(x.End) >= 8 { // a span over several tables, made when there were too many reads
				tables[keyspace.TableOf(x.End)] = true
			}
		}
		err := each(func(key []byte, _ txn.LockMode) error {
			tables[keyspace.TableOf(key)] = true
			return nil
		})
		if err == nil || !again { // its writes may have gone elsewhere, or to their rows, meanwhile
			return slices.Sorted(maps.Keys(tables)), err
		}
	}
}
