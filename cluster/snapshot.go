package cluster

import "github.com/sherddb/sherd/txn"

// HoldSnapshot keeps what is visible at T in fragments readable until the transaction ends; 72000 where it is gone already.
func (t *Transaction) HoldSnapshot(fragments []txn.FragmentID, T txn.Timestamp) error {
	for _, id := range fragments {
		r, err := t.host.Replica(id)
		if err != nil {
			return err
		}
		release, err := r.Hold(T)
		if err != nil {
			return err
		}
		t.mu.Lock()
		t.holds = append(t.holds, release)
		t.mu.Unlock()
	}
	return nil
}

// letGo ends the holds, with the transaction.
func (t *Transaction) letGo() {
	t.host.atWork.Delete(t.id)
	t.mu.Lock()
	holds := t.holds
	t.holds = nil
	t.mu.Unlock()
	for _, release := range holds {
		release()
	}
}
