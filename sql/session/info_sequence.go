package session

import (
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/sequence"
)

// sequenceTx returns the session's transaction, or nil outside of a transaction.
func (s *Session) sequenceTx() *sequence.Transaction {
	if s.block.Tx == nil {
		return nil
	}
	return &s.block.Tx.Sequences
}

// NextValue implements builtin.SequenceInfo.
func (i info) NextValue(oid uint32) (int64, error) {
	return i.sequences.Next(i.ctx, i.sequenceTx(), oid)
}

// CurrentValue implements builtin.SequenceInfo.
func (i info) CurrentValue(oid uint32) (int64, error) {
	return i.sequences.Current(i.ctx, i.sequenceTx(), oid)
}

// LastValue implements builtin.SequenceInfo.
func (i info) LastValue() (int64, error) { return i.sequences.Last(i.ctx, i.sequenceTx()) }

// SetValue implements builtin.SequenceInfo.
func (i info) SetValue(oid uint32, value int64, called bool) error {
	return i.sequences.Set(i.ctx, i.sequenceTx(), oid, sequence.State{Value: value, Called: called})
}

// SequenceState implements builtin.SequenceInfo.
func (i info) SequenceState(oid uint32) (int64, bool, error) {
	st, err := i.sequences.Find(i.ctx, i.sequenceTx(), oid)
	return st.Value, st.Called, err
}

// SequenceParameters implements builtin.SequenceInfo.
func (i info) SequenceParameters(oid uint32) (builtin.SequenceParameters, error) {
	return i.sequences.Parameters(i.ctx, i.sequenceTx(), oid)
}
