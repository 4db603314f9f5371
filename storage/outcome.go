package storage

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// lastWriters remembers whose the newest commits were, for the texts of errors. It is of this process: a restart forgets it.
type lastWriters struct {
	ring [1024]writer
	next int
}

type writer struct {
	C  txn.Timestamp
	id txn.ID
}

func (l *lastWriters) add(id txn.ID, C txn.Timestamp) {
	l.ring[l.next] = writer{C, id}
	l.next = (l.next + 1) % len(l.ring)
}

// writerAt tells which transaction committed at C, the zero ID if that is not known any more.
func (r *Replica) writerAt(C txn.Timestamp) txn.ID {
	r.machine.mu.Lock()
	defer r.machine.mu.Unlock()
	for _, w := range r.machine.writers.ring {
		if w.C == C {
			return w.id
		}
	}
	return txn.ID{}
}

// unanswered says in the error of a lost answer which transaction it is about.
func unanswered(err error, id txn.ID) error {
	if !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		return err
	}
	return txn.Unanswered(id, err)
}
