package storage

import (
	"fmt"
	"time"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// A prepared transaction (PREPARE TRANSACTION) has its writes and locks
// in the log of each of its fragments, and no C: readers see what was there before, other writers
// of its rows wait. One of its fragments, chosen by its name, is its home:
//
//	claim      the home prepares first, incomplete: the name is taken
//	prepare    the others follow, in parallel; then the catalog, if definitions change
//	complete   an entry of the home's log: from here on it stands
//
// A fragment that has the transaction asks the home. If a claim is incomplete and its coordinator
// is gone, the query drops it, as an entry of the home's log. What the home does not know was
// dropped there, or was never claimed, and is dropped (T7: time-outs start the query, nothing
// else). COMMIT PREPARED is a prepare (of a step) at a C, and a decision, with the home as the
// coordinator fragment; an abort of that attempt leads back to the state before. ROLLBACK PREPARED
// ends the home's record first.

// loadPreparation adds a record found at the start to the same transaction, which the checkpoint
// has.
func (s *state) loadPreparation(rest, v []byte) error {
	h, err := logentry.DecodePreparation(v)
	if err == nil && len(rest) != len(txn.ID{}) {
		err = codec.ErrMalformed
	}
	if err != nil {
		return fmt.Errorf("damaged record of a prepared transaction: %w", err)
	}
	o := s.open[txn.ID(rest)]
	if o == nil {
		return fmt.Errorf("record of the prepared transaction %x, which is not open: %w", rest, codec.ErrMalformed)
	}
	o.preparation = h
	return nil
}

// prepareTransaction applies a PREPARE TRANSACTION entry. Parts may precede it, as with a prepare.
// The home refuses a name that is taken.
func (m *machine) prepareTransaction(e *logentry.PrepareTransaction, index uint64) (result, error) {
	o := m.s.open[e.ID]
	if o.count() != e.Parts || o != nil && (o.Prepared || o.preparation != nil) {
		return resVoid, nil
	}
	if e.Preparation.Home == m.r.cfg.Fragment && m.s.preparedAs(e.Preparation) != nil {
		return resTaken, nil
	}
	if o == nil {
		o = &openTxn{id: e.ID, since: time.Now(), writes: e.Writes}
		m.s.open[e.ID] = o
	} else if err := o.keys.Add(e.Writes); err != nil {
		return 0, err
	}
	o.indexes = append(o.indexes, index)
	o.stats, o.preparation = e.Stats, e.Preparation
	m.effects.parts = append(m.effects.parts, e.ID)
	m.effects.preparations = append(m.effects.preparations, o)
	return resDone, m.storePreparation(o)
}

// preparedAs returns the transaction that this home has by the name of h, nil if there is none.
func (s *state) preparedAs(h *logentry.Preparation) *openTxn {
	for _, o := range s.open {
		if x := o.preparation; x != nil && x.Home == h.Home && x.Request.GID == h.Request.GID &&
			x.Request.Database == h.Request.Database {
			return o
		}
	}
	return nil
}

func (m *machine) storePreparation(o *openTxn) error {
	return m.kvs.Set(keyspace.IDRecord(keyspace.Prepared, o.id), o.preparation.Append(nil), m.s.stamp)
}

// completePreparation applies the home's last entry of PREPARE TRANSACTION: the transaction stands.
func (m *machine) completePreparation(id txn.ID) (result, error) {
	o := m.s.open[id]
	if o == nil || o.preparation == nil {
		return resVoid, nil
	}
	h := *o.preparation // readers have the other copy
	h.Complete = true
	o.preparation = &h
	m.effects.preparations = append(m.effects.preparations, o)
	return resDone, m.storePreparation(o)
}

// commitPrepared commits a transaction that is prepared here alone, at the entry's stamp.
func (m *machine) commitPrepared(id txn.ID) (result, error) {
	o := m.s.open[id]
	if o == nil {
		if _, ok := m.s.recent[id]; ok {
			return resDone, nil
		}
		return resVoid, nil
	}
	if o.preparation == nil || !o.preparation.Complete || o.Prepared {
		return resVoid, nil
	}
	if err := m.remember(id, m.s.stamp); err != nil {
		return 0, err
	}
	o.C = m.s.stamp
	return resDone, m.installOpen(o, m.s.stamp)
}

// dropPrepared drops a prepared transaction: at the home by ROLLBACK PREPARED or, if that is all
// that is wanted, only if it is incomplete; elsewhere because the home has dropped it. The home
// does not drop it while it is prepared to commit, because it may be about to commit.
func (m *machine) dropPrepared(e *logentry.DropPrepared) (result, error) {
	o := m.s.open[e.ID]
	if o == nil || o.preparation == nil {
		return resDone, nil
	}
	if o.preparation.Home == m.r.cfg.Fragment && (o.Prepared || e.Incomplete && o.preparation.Complete) {
		return resVoid, nil
	}
	m.endOpen(o)
	return resAborted, m.dropPieces(o, m.s.stamp)
}

// endCommitAttempt ends an attempt to commit a prepared transaction: it is as before. An attempt
// with another C is left alone.
func (m *machine) endCommitAttempt(o *openTxn, C txn.Timestamp) {
	if o.Prepared && o.C == C {
		o.Prepared, o.C, o.attempt = false, 0, 0
		m.effects.unprepared = append(m.effects.unprepared, o.id)
	}
}
