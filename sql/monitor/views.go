package monitor

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Views makes the rows of views over the whole cluster, for one statement.
type Views struct {
	Report   func(wanted Wanted) Report // of the whole cluster
	Catalog  *catalog.View
	Values   *types.Env // by which keys of rows are printed
	Database catalog.OID
	// Prepared lists the database's prepared transactions, and the fragments that did not answer.
	Prepared func() (list []txn.PreparedTransaction, missing []txn.FragmentID, err error)
	Warn     func(format string, args ...any)
}

// Sessions lists the sessions of the cluster, by process number.
func (v *Views) Sessions() []sysview.Session {
	all := v.Report(WantSessions | WantWaits)
	waits := map[uint32]bool{}
	for _, w := range all.Waits {
		if w.Object == "" { // a row
			waits[w.Waiter.Session] = true
		}
	}
	for i := range all.Sessions {
		if row := &all.Sessions[i]; waits[row.PID] {
			row.WaitType, row.Wait = "Lock", "transactionid"
		}
	}
	slices.SortFunc(all.Sessions, func(a, b sysview.Session) int { return int(int64(a.PID) - int64(b.PID)) })
	return all.Sessions
}

// Locks lists the locks of all kinds.
func (v *Views) Locks() ([]sysview.Lock, error) {
	all := v.Report(WantSessions | WantLocks | WantRows | WantWaits)
	waits := Blockers(all.Waits)
	out := transactionLocks(all.Sessions)
	for _, l := range all.Locks {
		if !l.Granted {
			l.Blockers = waits[l.PID]
		}
		out = append(out, l)
	}
	return append(out, v.rowLocks(all.Rows)...), nil
}

// Blockers returns, for each session that waits for a lock of any kind, the sessions that it waits for,
// the oldest wait first.
func Blockers(waits []txn.Waiting) map[uint32][]uint32 {
	out := map[uint32][]uint32{}
	for _, w := range waits {
		for _, b := range w.Blockers {
			if pid := w.Waiter.Session; !slices.Contains(out[pid], b.Session) {
				out[pid] = append(out[pid], b.Session)
			}
		}
	}
	return out
}
