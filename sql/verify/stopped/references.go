package stopped

import (
	"context"
	"errors"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/txn"
)

// references checks references between rows of different fragments, at one timestamp: the newest up
// to which everything is known to be here.
func (k *checker) references(
	ctx context.Context, c *verify.Check, d *catalog.Database, fragments []*fragment,
) (err error) {
	T, parts := txn.MaxTimestamp, []verify.Part(nil)
	for _, f := range fragments {
		if f.read == nil {
			continue
		}
		if !f.mostHere() { // replicas that are not here may have later entries
			T = min(T, f.read.stopped.Applied())
		}
	}
	for _, f := range fragments {
		if f.read == nil {
			continue
		}
		for _, u := range f.read.stopped.Undecided() {
			T = min(T, u.C-1)
		}
	}
	for _, f := range fragments {
		if f.read == nil {
			continue
		}
		s := f.read.stopped
		view, err := s.ViewAt(T)
		if pg := (*pgerr.Error)(nil); errors.As(err, &pg) && pg.Code == pgerr.SnapshotTooOld || err == nil && T == 0 {
			c.NoReferences("the replicas that are here end at different timestamps, " +
				"and versions of rows that were current at the last common one have been removed")
			return nil
		}
		if err != nil {
			return err
		}
		defer view.Close()
		parts = append(parts, verify.Part{ID: f.def.ID, View: view,
			Moved: owned(s.OwnershipAt(T)), Added: f.def.Added, Dropping: f.read.dropping})
	}
	if len(parts) == 0 {
		c.NoReferences("no fragment is here")
		return nil
	}
	return c.References(ctx, parts, T == txn.MaxTimestamp, k.Scratch)
}

// mostHere reports whether a majority of the voters is here, so that their logs have everything
// that was decided.
func (f *fragment) mostHere() bool {
	voters, here := 0, 0
	for _, id := range f.def.Nodes {
		if slices.Contains(f.def.Joining, id) {
			continue
		}
		if voters++; slices.ContainsFunc(f.replicas, func(r *replica) bool { return r.node.NodeID == id }) {
			here++
		}
	}
	return 2*here > voters
}
