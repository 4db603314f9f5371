package storage

import "errors"

// Term gives the term in which this replica leads and serves; 0 where it does not.
func (r *Replica) Term() uint64 { return r.term.Load() }

// NotLed tells whether an error says that the replica does not lead its fragment: nothing was done.
func NotLed(err error) bool { return errors.Is(err, errNoLeader) }

// StageLost tells whether an error says that a stage is of an earlier term, with which it went.
func StageLost(err error) bool { return errors.Is(err, errStageLost) }

// TermEnded tells whether an error says that the replica led when it put an entry into the log, and did no longer when it was to be applied.
func TermEnded(err error) bool { return errors.Is(err, errTermEnded) }

// Term gives the term of the transaction's stage; 0 where it has none yet.
func (t *Tx) Term() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.term
}
