package truncation

import (
	"time"

	"github.com/hashicorp/raft"
)

// log is the Raft log with truncation at its head held back (S2). Raft believes that the log is cut
// up to its snapshot; additional entries do no harm.
type log struct {
	raft.LogStore
	k *Keeper
}

// Wrap returns a log that is not cut further than the Keeper allows.
func (k *Keeper) Wrap(l raft.LogStore) raft.LogStore { return &log{l, k} }

// IsMonotonic implements raft.MonotonicLogStore as the underlying log does.
func (g *log) IsMonotonic() bool {
	m, ok := g.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// DeleteRange implements raft.LogStore.
func (g *log) DeleteRange(lo, hi uint64) error {
	first, err := g.FirstIndex()
	if err != nil {
		return err
	}
	if lo > first { // a follower drops a conflicting tail
		return g.LogStore.DeleteRange(lo, hi)
	}
	if g.k.cfg.Replaced() { // a stream, which is on disk, has replaced what the log led to
		return g.LogStore.DeleteRange(lo, hi)
	}
	m, ok := g.k.InTables()
	if !ok {
		return nil
	}
	if err := g.k.cfg.Release(); err != nil {
		return err
	}
	upTo, err := g.k.bound.allow(m, g.k.cfg.Fault)
	if err != nil {
		return err
	}
	if g.k.Several() {
		last, err := g.LastIndex()
		if err != nil {
			return err
		}
		upTo = min(upTo, g.k.retained.bound(last, time.Now()))
	}
	if upTo < lo {
		return nil
	}
	err = g.LogStore.DeleteRange(lo, min(hi, upTo))
	g.k.cfg.Fault("truncate.after")
	return err
}
