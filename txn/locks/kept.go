package locks

import "github.com/sherddb/sherd/txn"

// Kept is a lock that is kept elsewhere for an owner: an advisory lock, shared by the sessions of
// several nodes.
type Kept struct {
	PID   uint32 // of the session, if it holds the lock itself, or 0
	Owner txn.ID // of the transaction, if it holds the lock, or zero
	Tag   Tag
	Mode  Mode
}

// OnRelease sets the function that is called with the advisory locks that owners release. It must be
// called before the Manager is used.
func (m *Manager) OnRelease(f func([]Kept)) { m.released = f }

func (m *Manager) tell(kept []Kept) {
	if m.released != nil && len(kept) > 0 {
		m.released(kept)
	}
}

// Adopt records that the transaction holds a lock that is kept elsewhere, until it releases it like
// its own locks.
func (o *Owner) Adopt(tag Tag, mode Mode) { o.note(grant{&object{tag: tag}, mode}) }

// Adopt notes that the session holds, once more, a lock that is kept elsewhere.
func (s *Session) Adopt(tag Tag, mode Mode) { s.counted(tag, mode) }

// Drop releases one lock of a transaction.
func (o *Owner) Drop(tag Tag, mode Mode) {
	o.mu.Lock()
	var gone []grant
	kept := o.log[:0]
	for _, g := range o.log {
		if g.o.tag == tag && g.mode == mode {
			gone = append(gone, g)
		} else {
			kept = append(kept, g)
		}
	}
	o.log = kept
	if o.index != nil {
		o.index[tag] &^= 1 << mode
	}
	o.mu.Unlock()
	for _, g := range gone {
		o.session.Load().m.release(o, g)
	}
}
