package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
)

// Options say where a catalog is kept.
type Options struct {
	Dir    string // the log in Dir/log, snapshots in Dir/snapshots
	Logger *slog.Logger

	ID        raft.ServerID  // this node among the catalog's voters; empty for a catalog of one
	Transport raft.Transport // nil: this process is the only voter
	Peers     []raft.Server

	SnapshotThreshold uint64 // entries between snapshots; 0 is the default of raftgroup
}

// Catalog is this node's replica of the catalog. All methods may be called concurrently.
type Catalog struct {
	machine *machine
	group   *raftgroup.Group

	mu   sync.Mutex
	oids numberBlock // OIDs taken in advance; guarded by mu

	coordinated map[TransactionID]bool // prepared transactions that this process is about to decide; guarded by mu
}

// Open opens the replica, restores the last snapshot and replays the log behind it. WaitReady tells when that is done.
func Open(o Options) (*Catalog, error) {
	m := newMachine()
	g, err := raftgroup.Open(raftgroup.Options{
		Dir: o.Dir, Name: "catalog", FSM: m, ID: o.ID, Transport: o.Transport, Peers: o.Peers,
		RestoreOnStart: true, SnapshotThreshold: o.SnapshotThreshold, Logger: o.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("open catalog in %s: %w", filepath.Clean(o.Dir), err)
	}
	return &Catalog{machine: m, group: g, coordinated: map[TransactionID]bool{}}, nil
}

// WaitReady waits until this node leads the catalog and its view holds every acknowledged change. Changes that a dead process left prepared
// are aborted.
func (c *Catalog) WaitReady(ctx context.Context) error {
	if err := c.group.WaitLeader(ctx); err != nil {
		return err
	}
	return c.abortLeft(ctx)
}

// Close ends the replica.
func (c *Catalog) Close() error { return c.group.Close() }

// Snapshot writes a snapshot now and truncates the log behind it.
func (c *Catalog) Snapshot() error { return c.group.Snapshot() }

// View gives the newest state that this node knows.
func (c *Catalog) View() *View { return c.machine.view.Load() }

// WaitVersion waits until the view has reached a version and gives it.
func (c *Catalog) WaitVersion(ctx context.Context, version uint64) (*View, error) {
	for {
		v := c.View()
		if v.version >= version {
			return v, nil
		}
		select {
		case <-v.Superseded():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Watch calls f with the present view and then with each newer one it gets to see, until ctx ends or f returns an error. Views may be
// skipped; the newest never is.
func (c *Catalog) Watch(ctx context.Context, f func(*View) error) error {
	for {
		v := c.View()
		if err := f(v); err != nil {
			return err
		}
		select {
		case <-v.Superseded():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Apply proposes a change and gives the version of the view it led to; View then shows it. Errors: a conflict (IsConflict), a name that is
// taken, a reference that does not hold, and 40003 where the outcome is unknown. An empty change gives the version it was planned at.
func (c *Catalog) Apply(ctx context.Context, ch *Change) (uint64, error) {
	return c.apply(ctx, ch, nil)
}

// Commit is Apply for a change that is the whole of a transaction, whose outcome can be asked for from then on (Recall).
func (c *Catalog) Commit(ctx context.Context, id TransactionID, commitTS uint64, ch *Change) (uint64, error) {
	return c.apply(ctx, ch, &outcome{id, commitTS})
}

func (c *Catalog) apply(ctx context.Context, ch *Change, of *outcome) (uint64, error) {
	if ch.Empty() {
		return ch.base.version, nil
	}
	data, err := encodeCommit(ch.ops, of)
	if err != nil {
		return 0, fmt.Errorf("catalog: encode change: %w", err)
	}
	a, err := c.proposeWhenFree(ctx, data)
	return a.version, err
}

func (c *Catalog) propose(ctx context.Context, data []byte) (applied, error) {
	if len(data) > maxEntry {
		return applied{}, pgerr.New(pgerr.ProgramLimitExceeded, "a change of definitions of %d bytes exceeds the limit of %d", len(data), maxEntry)
	}
	// What this release cannot read must not get into the log: every replica would stop there.
	if _, err := decodeEntry(data); err != nil {
		return applied{}, err
	}
	resp, _, err := c.group.Apply(ctx, data)
	if err != nil {
		return applied{}, err
	}
	a := resp.(applied)
	return a, a.err
}

// maxAttempts bounds how often Update plans a change anew.
const maxAttempts = 100

// Update plans a change with f against the present view and applies it; on a conflict it plans anew. f may run several times and must not
// keep what it got. It gives a view that holds the change. An error of f is returned as it is.
func (c *Catalog) Update(ctx context.Context, f func(*View, *Change) error) (*View, error) {
	var err error
	for range maxAttempts {
		base := c.View()
		ch := base.Plan()
		if err := f(base, ch); err != nil {
			return nil, err
		}
		var version uint64
		version, err = c.Apply(ctx, ch)
		if err == nil {
			return c.WaitVersion(ctx, version)
		}
		if !IsConflict(err) {
			return nil, err
		}
	}
	return nil, err
}
