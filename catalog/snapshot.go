package catalog

import (
	"fmt"

	pb "github.com/sherddb/sherd/catalog/catalogpb"
)

// state is the result of applying the log: the view, the next numbers and the outcomes.
type state struct {
	view     *View
	counters counters
	ids      *idCounters
	outcomes []outcome
	index    uint64 // of the last entry applied
}

// encodeSnapshot writes the whole state.
func encodeSnapshot(s state) ([]byte, error) {
	p := &pb.Snapshot{
		Version: s.view.version, DefinitionVersion: s.view.definitionVersion,
		NextOid: s.counters.oid, NextFragment: s.counters.fragment, NextNode: s.counters.node, NextJob: s.counters.job,
		Index: s.index,
	}
	s.view.objects.Scan(func(_ uint64, e entry) bool {
		p.Objects = append(p.Objects, encodeObject(e.revision, e.desc))
		return true
	})
	for _, x := range s.view.prepared {
		p.Prepared = append(p.Prepared, prepareOf(x))
	}
	for _, x := range s.view.decided {
		p.Decided = append(p.Decided, &pb.Decided{Transaction: x.id[:], CommitTs: x.commitTS, Writers: x.writers})
	}
	for _, x := range s.outcomes {
		p.Outcomes = append(p.Outcomes, &pb.Decided{Transaction: x.id[:], CommitTs: x.commitTS})
	}
	s.ids.Scan(func(table OID, next uint64) bool {
		p.IdCounters = append(p.IdCounters, &pb.IDCounter{Table: table, Next: next})
		return true
	})
	return marshal(p)
}

// decodeSnapshot decodes a state. It refuses a state that violates an invariant, because the state
// machine never produces one.
func decodeSnapshot(data []byte) (state, error) {
	var p pb.Snapshot
	if err := unmarshal(data, &p, "snapshot"); err != nil {
		return state{}, err
	}
	v := emptyView()
	v.version, v.definitionVersion = p.GetVersion(), p.GetDefinitionVersion()
	c := counters{oid: p.GetNextOid(), fragment: p.GetNextFragment(), node: p.GetNextNode(), job: p.GetNextJob()}
	if v.definitionVersion > v.version {
		return state{}, fmt.Errorf("catalog: snapshot is damaged: definitions are of version %d, the catalog of %d",
			v.definitionVersion, v.version)
	}
	for _, o := range p.GetObjects() {
		if err := v.restore(o, c); err != nil {
			return state{}, fmt.Errorf("catalog: snapshot is damaged: %w", err)
		}
	}
	var err error
	v.objects.Scan(func(_ uint64, e entry) bool {
		err = v.checkPut(v, e.desc)
		return err == nil
	})
	if err != nil {
		return state{}, fmt.Errorf("catalog: snapshot is damaged: %w", err)
	}
	ids := &idCounters{}
	for _, n := range p.GetIdCounters() {
		if v.Table(n.GetTable()) == nil || n.GetNext() == 0 || n.GetNext() > maxIDNumber {
			return state{}, fmt.Errorf("catalog: snapshot is damaged: number %d for ids of table %d", n.GetNext(),
				n.GetTable())
		}
		ids.Set(n.GetTable(), n.GetNext())
	}
	if err := v.restoreTransactions(&p, c); err != nil {
		return state{}, fmt.Errorf("catalog: snapshot is damaged: %w", err)
	}
	known, err := decodeOutcomes(p.GetOutcomes())
	if err != nil {
		return state{}, fmt.Errorf("catalog: snapshot is damaged: %w", err)
	}
	return state{v, c, ids, known, p.GetIndex()}, nil
}

// restoreTransactions adds the prepared changes, which must still be valid (K6), and the decisions.
func (v *View) restoreTransactions(s *pb.Snapshot, c counters) error {
	var list []*prepared
	seen := map[TransactionID]bool{}
	for _, x := range s.GetPrepared() {
		p, err := decodePrepare(x)
		if err != nil {
			return err
		}
		if _, err := v.apply(p.ops, c); err != nil {
			return fmt.Errorf("prepared change %x: %w", p.id, err)
		}
		for _, q := range list {
			if q.holds.collides(p.holds) {
				return fmt.Errorf("prepared changes %x and %x collide", q.id, p.id)
			}
		}
		seen[p.id] = true
		list = append(list, p)
	}
	for _, x := range s.GetDecided() {
		id, err := decodeTransactionID(x.GetTransaction())
		if err != nil {
			return err
		}
		if seen[id] {
			return fmt.Errorf("transaction %x is there twice", id)
		}
		seen[id] = true
		v.decided = append(v.decided, &decided{id, x.GetCommitTs(), x.GetWriters()})
	}
	if len(seen) != len(list)+len(v.decided) {
		return fmt.Errorf("a prepared transaction is there twice")
	}
	v.prepared = list
	return nil
}

// restore adds one object of a snapshot.
func (v *View) restore(o *pb.Object, c counters) error {
	d, err := decodeObject(o)
	if err != nil {
		return err
	}
	if err := checkDescriptor(d); err != nil {
		return err
	}
	if err := c.checkAllotted(d); err != nil {
		return err
	}
	if o.GetRevision() == 0 || o.GetRevision() > v.version {
		return fmt.Errorf("revision %d of a catalog of version %d", o.GetRevision(), v.version)
	}
	if _, taken := v.objects.Get(uint64(keyOf(d))); taken {
		return fmt.Errorf("object %x is there twice", keyOf(d))
	}
	return v.insert(entry{o.GetRevision(), d})
}
