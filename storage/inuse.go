package storage

import "fmt"

// InUse says what keeps the fragment from being dropped though it owns nothing, "" where nothing does: what is prepared here or held, decisions that
// writers may still ask for (T7), open transactions, and snapshots that are kept readable.
func (r *Replica) InUse() string {
	r.smu.RLock()
	prepared, decided, held := len(r.prepared), len(r.decided), len(r.held)
	r.smu.RUnlock()
	r.tmu.Lock()
	open := len(r.txs)
	r.tmu.Unlock()
	r.leases.mu.Lock()
	kept := len(r.leases.held)
	r.leases.mu.Unlock()
	for _, x := range []struct {
		n    int
		what string
	}{
		{held, "transactions held by PREPARE TRANSACTION"}, {prepared, "prepared transactions"}, {decided, "decisions that writers may ask for"},
		{open, "open transactions"}, {kept, "snapshots that are in use"},
	} {
		if x.n > 0 {
			return fmt.Sprintf("%s: %d", x.what, x.n)
		}
	}
	return ""
}
