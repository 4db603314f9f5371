package catalog

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/raftgroup"
)

// machine is the state machine. Raft calls it from one goroutine; readers load the view.
type machine struct {
	view     atomic.Pointer[View]
	counters counters   // of Raft's goroutine
	ids      idCounters // of Raft's goroutine
	index    uint64     // of the last entry applied; of Raft's goroutine
	outcomes outcomes
	mark     *mark   // nil in a catalog with one replica
	replay   *replay // until Raft runs
}

// applied answers a proposer.
type applied struct {
	version uint64 // of the view that the change led to
	first   counters
	firstID uint64
	outcome Outcome
	err     error
}

func newMachine() *machine {
	m := &machine{counters: firstCounters()}
	m.view.Store(emptyView())
	return m
}

// Apply applies an entry. It panics if it cannot decode the entry: continuing would make this
// replica differ from the others for good. Entries are checked before they are proposed, so this
// one is damaged or from a newer release.
func (m *machine) Apply(l *raft.Log) any {
	if l.Index != 0 && l.Index <= m.index {
		// Applied before Raft ran; no caller waits for it.
		return applied{version: m.view.Load().version}
	}
	e, err := decodeEntry(l.Data)
	if err != nil {
		panic(fmt.Sprintf("entry %d of the catalog's log: %v", l.Index, err))
	}
	a := m.apply(e)
	m.index = l.Index
	if a.version == 0 {
		a.version = m.view.Load().version // for callers that wait on other nodes
	}
	if m.mark != nil && m.replay == nil {
		if err := m.mark.set(l.Index); err != nil {
			// The 13 bytes exist already, so a full disk has room for them.
			panic(fmt.Sprintf("the catalog's mark cannot be written: %v", err))
		}
	}
	return a
}

func (m *machine) apply(e logEntry) applied {
	v := m.view.Load()
	switch {
	case e.prepare != nil:
		next, err := v.prepare(e.prepare, m.counters)
		if err != nil {
			return applied{err: err}
		}
		return m.advance(next, nil)
	case e.decide != nil:
		var ops []op
		if p := v.findPrepared(e.decide.id); p != nil && e.decide.commit &&
			(p.transaction == nil || e.decide.prepared) {
			ops = p.ops
		}
		next, outcome, err := v.decide(*e.decide, m.counters)
		if err != nil {
			panic(err) // K6 is violated: neither continuing nor refusing would be correct
		}
		if ops != nil {
			m.outcomes.add(e.decide.id, e.decide.commitTS)
		}
		a := m.advance(next, ops)
		a.outcome = outcome
		return a
	case e.forget != nil:
		return m.advance(v.forget(*e.forget), nil)
	case e.ops == nil:
		return m.allot(e.want)
	}
	return m.commit(v, e)
}

// commit applies a batch. A batch of a transaction is applied once.
func (m *machine) commit(v *View, e logEntry) applied {
	if e.commit != nil {
		if _, again := m.outcomes.find(e.commit.id); again {
			return applied{version: v.version}
		}
	}
	next, err := v.apply(e.ops, m.counters)
	if err != nil {
		return applied{err: err}
	}
	if e.commit != nil {
		m.outcomes.add(e.commit.id, e.commit.commitTS)
	}
	return m.advance(next, e.ops)
}

// advance publishes the next view, to which ops led.
func (m *machine) advance(next *View, ops []op) applied {
	if next != m.view.Load() {
		m.publish(next)
	}
	startIDs(ops, &m.ids)
	forgetIDs(next, &m.ids)
	return applied{version: next.version}
}

func (m *machine) allot(want allotment) applied {
	if want.table != 0 {
		first, err := allotIDs(m.view.Load(), &m.ids, want.table, want.ids)
		return applied{firstID: first, err: err}
	}
	first, next, err := m.counters.allot(want)
	m.counters = next
	return applied{first: first, err: err}
}

// state returns the present state, which later entries do not change.
func (m *machine) state() state {
	return state{m.view.Load(), m.counters, m.ids.Copy(), m.outcomes.all(), m.index}
}

func (m *machine) publish(v *View) {
	old := m.view.Swap(v)
	close(old.superseded)
}

// Snapshot returns the current state. It is immutable, so it is written while more entries are
// applied.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	return frozen{m.state()}, nil
}

// Restore replaces the state by a snapshot's.
func (m *machine) Restore(r io.ReadCloser) error {
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("catalog: read snapshot: %w", err)
	}
	s, err := decodeSnapshot(data)
	if err != nil {
		return err
	}
	m.counters, m.ids, m.index = s.counters, *s.ids, s.index
	m.outcomes.restore(s.outcomes)
	m.publish(s.view)
	if m.replay != nil {
		return m.replayLog()
	}
	return nil
}

// frozen is a state that is being written to a snapshot file.
type frozen struct{ state state }

// Persist writes the state to the snapshot store.
func (f frozen) Persist(sink raft.SnapshotSink) error {
	data, err := encodeSnapshot(f.state)
	if err == nil {
		_, err = sink.Write(data)
	}
	if err != nil {
		sink.Cancel()
		return fmt.Errorf("catalog: write snapshot: %w", err)
	}
	return sink.Close()
}

// Release does nothing, because frozen holds no resources.
func (f frozen) Release() {}

var _ raft.FSM = (*machine)(nil)

// maxEntry is the largest size of an entry. The catalog checks it, so that a change that is too
// large is refused with a clear message.
const maxEntry = raftgroup.MaxEntry
