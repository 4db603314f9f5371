package locks

import (
	"fmt"
	"slices"
	"time"

	"github.com/sherddb/sherd/txn"
)

// Lock is a lock that is held or waited for: a row of pg_locks.
type Lock struct {
	Tag     Tag
	Mode    Mode
	PID     uint32 // 0 for a prepared transaction
	Owner   txn.ID // the transaction; zero for a lock of the session itself
	Session bool   // it outlives the transaction
	Granted bool
	Since   time.Time // of a wait
}

// Locks lists all locks. Those of one object are of one moment.
func (m *Manager) Locks() []Lock {
	var out []Lock
	for i := range m.stripes {
		out = m.stripes[i].list(out)
	}
	return out
}

func (s *stripe) list(out []Lock) []Lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.objects {
		for _, h := range o.holds {
			session := h.owner.session.Load()
			for mode := AccessShare; mode < modes; mode++ {
				if h.modes.Has(mode) {
					out = append(out, Lock{
						Tag: o.tag, Mode: mode, PID: session.pid, Owner: h.owner.id, Session: h.owner == &session.own,
						Granted: true,
					})
				}
			}
		}
		for _, w := range o.queue {
			out = append(out, Lock{Tag: o.tag, Mode: w.mode, PID: w.session.pid, Owner: w.Waiter.ID, Since: w.since})
		}
		for _, b := range o.barriers {
			if len(b.left) > 0 {
				out = append(
					out,
					Lock{Tag: o.tag, Mode: Share, PID: b.owner.session.Load().pid, Owner: b.owner.id, Since: b.since},
				)
			}
		}
	}
	return out
}

// Blocking returns the backends that a backend's wait for one of these locks waits for; 0 stands
// for a prepared transaction.
func (m *Manager) Blocking(pid uint32) []uint32 {
	var out []uint32
	for i := range m.stripes {
		s := &m.stripes[i]
		s.mu.Lock()
		for _, o := range s.objects {
			for at, w := range o.queue {
				if w.session.pid == pid {
					out = append(out, o.pidsBefore(w, at)...)
				}
			}
		}
		s.mu.Unlock()
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (o *object) pidsBefore(w *wait, at int) []uint32 {
	var out []uint32
	for _, h := range o.holds {
		if session := h.owner.session.Load(); h.modes&conflicts[w.mode] != 0 && session != w.session {
			out = append(out, session.pid)
		}
	}
	for _, x := range o.queue[:at] {
		if x.session != w.session && x.mode.Conflicts(w.mode) {
			out = append(out, x.session.pid)
		}
	}
	return out
}

// String names the object as PostgreSQL's messages do.
func (t Tag) String() string {
	if t.Kind == Advisory {
		return fmt.Sprintf("advisory lock [%d,%d,%d,%d]", t.Database, t.Class, t.Object, t.Sub)
	}
	if t.Kind == Object {
		return fmt.Sprintf("definition %d of class %d", t.Object, t.Class)
	}
	return fmt.Sprintf("relation %d of database %d", t.Object, t.Database)
}

// KeyText returns the key of an advisory lock as it was asked for: 42, or (1, 2).
func (t Tag) KeyText() string {
	if t.Sub == 2 {
		return fmt.Sprintf("(%d, %d)", int32(t.Class), int32(t.Object))
	}
	return fmt.Sprint(int64(uint64(t.Class)<<32 | uint64(t.Object)))
}
