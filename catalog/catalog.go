package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/internal/dirsync"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftgroup"
)

// Options say where a catalog is kept.
type Options struct {
	Dir    string // the log in Dir/log, snapshots in Dir/snapshots
	Logger *slog.Logger

	// For a catalog with replicas on several nodes. If Transport is nil, this process has the only
	// replica.
	Transport raft.Transport
	ID        raft.ServerID // this node: its number
	Join      bool          // start empty: the leader adds this node
	Forward   Forward       // sends requests to the leader; required if Transport is set

	// how long a voter may be unreachable before another node replaces it; default 30 s
	VoterGrace time.Duration

	SnapshotThreshold uint64 // entries between snapshots; 0 is the default of raftgroup
}

// Catalog is this node's replica of the catalog. All methods may be called concurrently.
type Catalog struct {
	opts    Options
	machine *machine
	group   *raftgroup.Group

	leadSince atomic.Int64  // nanoseconds since 1970, of this node's leadership
	applied   chan struct{} // the followers have to be notified
	stop      context.CancelFunc
	done      sync.WaitGroup

	mu   sync.Mutex
	oids numberBlock // OIDs taken in advance; guarded by mu

	coordinated map[TransactionID]bool // prepared transactions that this process is about to decide; guarded by mu
}

// Open opens the replica, restores the last snapshot and replays the log after it. It does not wait
// until the replica is up to date: WaitReady does.
func Open(o Options) (*Catalog, error) {
	if o.VoterGrace == 0 {
		o.VoterGrace = voterGrace
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	c := &Catalog{opts: o, machine: newMachine(), applied: make(chan struct{}, 1),
		coordinated: map[TransactionID]bool{}, stop: func() {}}
	if err := c.open(); err != nil {
		return nil, fmt.Errorf("open catalog in %s: %w", filepath.Clean(o.Dir), err)
	}
	return c, nil
}

func (c *Catalog) open() error {
	o := &c.opts
	if (o.Transport == nil) != (o.Forward == nil) {
		return errors.New("a transport and a way to the node that leads go together")
	}
	g := raftgroup.Options{
		Dir: o.Dir, Name: "catalog", FSM: c.machine, ID: o.ID, Transport: o.Transport, Join: o.Join,
		RestoreOnStart: true, SnapshotThreshold: o.SnapshotThreshold, Logger: o.Logger,
	}
	if o.Transport != nil {
		if err := dirsync.Make(o.Dir); err != nil {
			return err
		}
		if err := c.machine.openMarked(filepath.Join(o.Dir, markFile), &g); err != nil {
			return err
		}
		g.OnLeader = func(uint64) { c.leadSince.Store(time.Now().UnixNano()) }
	}
	var err error
	if c.group, err = raftgroup.Open(g); err != nil {
		return errors.Join(err, c.machine.mark.close())
	}
	if o.Transport != nil {
		ctx, stop := context.WithCancel(context.Background())
		c.stop = stop
		c.group.Reconcile(c.desired, nil)
		c.done.Go(func() { c.lead(ctx) })
		c.done.Go(func() { c.spreads(ctx) })
	}
	return nil
}

// WaitReady waits until the view holds every change that was acknowledged before the call. If no
// leader answers for some seconds and the definitions on disk name this node, it returns nil, and
// the view is what was known when the node stopped. A node that has just joined waits until its
// view names it.
func (c *Catalog) WaitReady(ctx context.Context) error {
	if c.opts.Forward == nil {
		if err := c.group.WaitLeader(ctx); err != nil {
			return err
		}
		return c.abortLeft(ctx)
	}
	for {
		err := c.barrier(ctx, startTimeout)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case names(c.View(), nodeOf(c.group.ID())):
			c.opts.Logger.Warn("the catalog has no leader; going on with the definitions that are on disk", "why", err)
			return nil
		}
	}
}

// names reports whether a view has definitions and names a node, as one of the cluster or as one
// that was removed.
func names(v *View, node uint32) bool {
	return v.Cluster() != nil && (v.Node(node) != nil || v.RemovedNode(node) != nil)
}

// Close closes the replica.
func (c *Catalog) Close() error {
	c.stop()
	c.done.Wait()
	return errors.Join(c.group.Close(), c.machine.mark.close())
}

// Snapshot writes a snapshot now and truncates the log behind it.
func (c *Catalog) Snapshot() error { return c.group.Snapshot() }

// View returns the newest state that this node knows.
func (c *Catalog) View() *View { return c.machine.view.Load() }

// Current returns a view that holds every change that was acknowledged on any node before the call.
// It needs a leader, and waits up to ten seconds for one.
func (c *Catalog) Current(ctx context.Context) (*View, error) {
	if err := c.barrier(ctx, leaderTimeout); err != nil {
		return nil, err
	}
	return c.View(), nil
}

// WaitVersion waits until the view has reached a version and returns it.
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

// Watch calls f with the current view and then with each newer one, until ctx ends or f returns an
// error. Watch may skip views, but never the newest.
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

// Apply proposes a change and returns the version of the resulting view; View then returns that
// view or a newer one. Errors: a conflict (IsConflict), a name that is already used, a reference to
// a missing object, and 40003 if the outcome is unknown. For an empty change Apply returns the
// version it was planned at.
func (c *Catalog) Apply(ctx context.Context, ch *Change) (uint64, error) {
	return c.apply(ctx, ch, nil)
}

// Commit is Apply for a change that is a whole transaction. Its outcome can be queried afterwards
// (CommitOf).
func (c *Catalog) Commit(ctx context.Context, id TransactionID, commitTS uint64, ch *Change) (uint64, error) {
	return c.apply(ctx, ch, &outcome{id, commitTS})
}

func (c *Catalog) apply(ctx context.Context, ch *Change, of *outcome) (uint64, error) {
	if ch.Empty() {
		return ch.base.version, nil
	}
	if of == nil && c.opts.Forward != nil {
		of = anonymous()
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
		return applied{}, pgerr.New(pgerr.ProgramLimitExceeded,
			"a change of definitions of %d bytes exceeds the limit of %d", len(data), maxEntry)
	}
	// An entry that this release cannot read must not get into the log: every replica would stop
	// there.
	if _, err := decodeEntry(data); err != nil {
		return applied{}, err
	}
	if c.opts.Forward == nil {
		return c.proposeHere(ctx, data)
	}
	return c.route(ctx, &pb.Request{Kind: &pb.Request_Propose{Propose: data}}, leaderTimeout)
}

// maxAttempts bounds how often Update plans a change again.
const maxAttempts = 100

// Update plans a change with f against the current view and applies it. After a conflict it plans
// the change again, so f may run several times; f must not keep its arguments. Update returns a
// view that holds the change. An error of f is returned as it is.
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
			return c.WaitVersion(writing(ctx), version)
		}
		if !IsConflict(err) {
			return nil, err
		}
	}
	return nil, err
}
