package sequence

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/tx"
)

// Transaction is a transaction with the sequences whose storage it has made. No other transaction
// can use these, so it counts for itself.
type Transaction struct {
	*tx.Tx
	made map[uint32]*uncommitted // by storage
}

// uncommitted is such a sequence.
type uncommitted struct {
	oid   catalog.OID
	state State
	ahead int64 // what PostgreSQL would have logged ahead
}

// view is the catalog as the transaction sees it; t may be nil.
func (t *Transaction) view(a *Allocator) *catalog.View {
	if t == nil {
		return a.services.Catalog.View()
	}
	return t.View()
}

// own returns the state of a sequence whose storage the transaction has made; nil for others.
func (t *Transaction) own(seq *catalog.Table) *uncommitted {
	if t.Schema == nil {
		return nil
	}
	if now := t.Newest().Table(seq.OID); now != nil && now.StorageID == seq.StorageID {
		return nil
	}
	return stateIn(&t.made, seq)
}

// stateIn returns the state of a sequence, and keeps it in a map by storage from the first call on.
func stateIn(by *map[uint32]*uncommitted, seq *catalog.Table) *uncommitted {
	n := (*by)[seq.StorageID]
	if n == nil {
		n = &uncommitted{oid: seq.OID, state: State{seq.Sequence.Value, seq.Sequence.Called}}
		if *by == nil {
			*by = map[uint32]*uncommitted{}
		}
		(*by)[seq.StorageID] = n
	}
	return n
}

// take returns the next values.
func (n *uncommitted) take(t *catalog.Table, count int64) (catalog.Run, error) {
	r, ok := t.Sequence.After(n.state.Value, n.state.Called, count)
	if !ok {
		return r, t.Exhausted()
	}
	n.state = State{r.Last, true}
	if n.ahead -= r.Count; n.ahead < 0 {
		more, _ := t.Sequence.After(r.Last, true, aheadValues)
		n.ahead = more.Count
	}
	return r, nil
}

// Define adds the states of these sequences to the change of the schema that is committed.
func (t *Transaction) Define(ch *catalog.Change) {
	for storage, n := range t.made {
		ch.SetSequence(n.oid, storage, n.state.Value, n.state.Called)
	}
}
