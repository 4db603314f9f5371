package storage

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/sherddb/sherd/txn"
)

// A held transaction (PREPARE TRANSACTION) has its writes and locks in the log of each of its fragments, and no C: readers see what was there
// before, other writers of its rows wait. One of its fragments is its home, chosen by its name:
//
//	claim      the home holds first, incomplete: the name is taken
//	hold       the others hold, in parallel; then the catalog, if definitions change
//	complete   an entry of the home's log: from here on it stands
//
// Whoever finds itself holding asks the home. An incomplete claim whose coordinator is gone is dropped by the asking, as an entry of the
// home's log; what the home does not know was dropped there, or was never claimed, and is dropped (T7: time-outs start the asking, nothing
// else). COMMIT PREPARED is a prepare of what is held, at a C, and a decision, with the home as the anchor; an abort of that attempt leads
// back to holding. ROLLBACK PREPARED ends the home's record first.

// hold is the record of a held transaction, the same in each of its fragments but for complete, which is the home's.
type hold struct {
	req      txn.HoldRequest
	home     txn.FragmentID
	writers  []txn.FragmentID // all, the home included; ascending
	complete bool
	reads    []txn.Span // what a SERIALIZABLE one has read here, in order and apart
}

// The format byte of a hold, in log entries and under ownHold. Without reads it is written as before there were any.
const (
	holdFormat      = 1
	holdFormatReads = 2
)

func (h *hold) append(b []byte) []byte {
	format := byte(holdFormat)
	if len(h.reads) > 0 {
		format = holdFormatReads
	}
	b = append(b, format)
	b = putBytes(b, []byte(h.req.GID))
	b = binary.AppendUvarint(b, uint64(h.req.Owner))
	b = binary.AppendUvarint(b, uint64(h.req.Database))
	b = binary.BigEndian.AppendUint64(b, uint64(h.req.At.UnixMicro()))
	b = putTS(b, h.req.Floor)
	b = binary.AppendUvarint(b, uint64(h.home))
	b = append(b, boolByte(h.complete))
	b = putFragments(b, h.writers)
	if format == holdFormatReads {
		b = appendSpans(b, h.reads)
	}
	return b
}

func (r *reader) hold() *hold {
	f := r.byte()
	if r.err == nil && f != holdFormat && f != holdFormatReads {
		r.err = fmt.Errorf("%w: a hold of format %d is not known to this release", errEntry, f)
	}
	h := &hold{}
	h.req.GID = string(r.bytes())
	h.req.Owner, h.req.Database = uint32(r.int()), uint32(r.int())
	h.req.At = time.UnixMicro(int64(r.ts())).UTC()
	h.req.Floor = r.ts()
	h.home = txn.FragmentID(r.int())
	h.complete = r.byte() != 0
	h.writers = r.fragments()
	if f == holdFormatReads {
		h.reads = r.spans()
	}
	return h
}

// The record of a held transaction is under ownHold · id: the hold as it is at the record's version. Where its writes are, pieces.go says.
func holdKey(id txn.ID) []byte { return ownKey(ownHold, id[:]...) }

// loadHold takes a record found at the start; the checkpoint tells of the same transaction.
func (s *state) loadHold(rest, v []byte) error {
	r := reader{b: v}
	h := r.hold()
	if r.err != nil || len(r.b) != 0 || len(rest) != len(txn.ID{}) {
		return fmt.Errorf("damaged hold: %w", errEntry)
	}
	o := s.open[txn.ID(rest)]
	if o == nil {
		return fmt.Errorf("hold of transaction %x, which is not open: %w", rest, errEntry)
	}
	o.hold = h
	return nil
}

// hold: parts may precede, as with a prepare. The home refuses a name that is taken.
func (m *machine) hold(e *entry, index uint64) (result, error) {
	o := m.s.open[e.id]
	if o.count() != e.parts || o != nil && (o.prepared || o.hold != nil) {
		return resVoid, nil
	}
	if e.hold.home == m.r.cfg.Fragment && m.s.heldAs(e.hold) != nil {
		return resTaken, nil
	}
	if o == nil {
		o = &openTxn{id: e.id, since: time.Now(), writes: e.writes}
		m.s.open[e.id] = o
	} else if err := o.keys.add(e.writes); err != nil {
		return 0, err
	}
	o.indexes = append(o.indexes, index)
	o.stats, o.hold = e.stats, e.hold
	m.effects.parts = append(m.effects.parts, e.id)
	m.effects.held = append(m.effects.held, o)
	return resDone, m.keepHold(o)
}

// heldAs gives the transaction that this home holds by the name of h, nil if there is none.
func (s *state) heldAs(h *hold) *openTxn {
	for _, o := range s.open {
		if o.hold != nil && o.hold.home == h.home && o.hold.req.GID == h.req.GID && o.hold.req.Database == h.req.Database {
			return o
		}
	}
	return nil
}

func (m *machine) keepHold(o *openTxn) error {
	return m.kvs.add(opPut, holdKey(o.id), o.hold.append(nil), uint64(m.s.stamp))
}

// holdComplete is the home's last word: the transaction stands.
func (m *machine) holdComplete(e *entry) (result, error) {
	o := m.s.open[e.id]
	if o == nil || o.hold == nil {
		return resVoid, nil
	}
	h := *o.hold // readers have the other one
	h.complete = true
	o.hold = &h
	m.effects.held = append(m.effects.held, o)
	return resDone, m.keepHold(o)
}

// commitHeld commits a transaction that is held here alone, at the entry's stamp.
func (m *machine) commitHeld(e *entry) (result, error) {
	o := m.s.open[e.id]
	if o == nil {
		if _, ok := m.s.recent[e.id]; ok {
			return resDone, nil
		}
		return resVoid, nil
	}
	if o.hold == nil || !o.hold.complete || o.prepared {
		return resVoid, nil
	}
	if err := m.remember(e.id, e.stamp); err != nil {
		return 0, err
	}
	o.C = e.stamp
	return resDone, m.installOpen(o, e.stamp)
}

// unhold drops what is held: at the home by ROLLBACK PREPARED, or, if only that is wanted, where it is incomplete; elsewhere because the home
// has dropped it. At the home nothing is dropped while it is prepared, for it may be about to commit.
func (m *machine) unhold(e *entry) (result, error) {
	o := m.s.open[e.id]
	if o == nil || o.hold == nil {
		return resDone, nil
	}
	if o.hold.home == m.r.cfg.Fragment && (o.prepared || e.incomplete && o.hold.complete) {
		return resVoid, nil
	}
	m.settle(o)
	return resAborted, m.dropPieces(o, e.stamp)
}

// backToHold ends an attempt to commit a held transaction: it is held as before. Another attempt's C is let alone.
func (m *machine) backToHold(o *openTxn, C txn.Timestamp) {
	if o.prepared && o.C == C {
		o.prepared, o.C, o.attempt = false, 0, 0
		m.effects.unprepared = append(m.effects.unprepared, o.id)
	}
}
