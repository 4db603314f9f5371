package raftgroup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/raftlog"
)

// Group is one open consensus group. All methods may be called concurrently.
type Group struct {
	name    string
	opts    Options
	raft    *raft.Raft
	log     logStore
	witness *witness
	sole    atomic.Bool // this server is the only voter: no other can lead (T5)
	round   confirmRounds

	applied atomic.Uint64 // the newest term in which this server led and applied an entry; the term may be over

	members sync.Mutex // held while the configuration changes
	nudge   chan struct{}
	lead    leadership

	mu    sync.Mutex
	term  uint64        // of this server's leadership once it is ready, otherwise 0; guarded by mu
	ready chan struct{} // closed while term != 0; guarded by mu
	// Closed when that term has ended and OnFollower has returned; nil before the first term;
	// guarded by mu.
	over chan struct{}

	gate    sync.RWMutex
	closing bool           // guarded by gate
	pending sync.WaitGroup // requests to Raft that are not answered yet

	stop    chan struct{}
	watched chan struct{} // closed when the watcher has ended
}

// Open opens the group of o, and writes a first configuration if the log is empty. It does not wait
// for a leader.
func Open(o Options) (*Group, error) {
	o.setDefaults()
	if o.Dir == "" || o.Name == "" || o.FSM == nil {
		return nil, errors.New("raftgroup: Dir, Name and FSM are required")
	}
	log, err := openLog(&o)
	if err != nil {
		return nil, fmt.Errorf("raft group %s: open log: %w", o.Name, diskError(err))
	}
	g := &Group{
		name: o.Name, opts: o, log: log, ready: make(chan struct{}), stop: make(chan struct{}),
		watched: make(chan struct{}), nudge: make(chan struct{}, 1),
	}
	g.lead.changed = make(chan struct{})
	if err := g.start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("raft group %s: %w", o.Name, err)
	}
	return g, nil
}

func (g *Group) start() error {
	o := &g.opts
	snaps := o.Snapshots
	if snaps == nil {
		s, err := raft.NewFileSnapshotStoreWithLogger(o.Dir, 2, newLogger(o.Logger, o.Name))
		if err != nil {
			return diskError(err)
		}
		snaps = s
	}
	if o.Restoring != nil {
		snaps = openings{snaps, o.Restoring}
	}
	if err := dropReplaced(g.log, snaps); err != nil {
		return err
	}
	var store raft.LogStore = g.log
	if shared, ok := g.log.(*raftlog.Group); ok {
		store = &replacing{Group: shared}
	}
	if o.WrapLog != nil {
		store = o.WrapLog(store)
	}
	trans := o.Transport
	if trans == nil {
		addr, mem := raft.NewInmemTransport(raft.ServerAddress(o.ID))
		mem.Connect(addr, mem)
		trans = mem
	}
	w, ok := trans.(wire)
	if !ok {
		return fmt.Errorf("transport %T has no pre-vote or cannot be closed", trans)
	}
	g.witness = newWitness(w, o.ID)
	notify := make(chan bool, 16)
	conf := o.raftConfig(notify)
	if err := g.rename(store, snaps, trans); err != nil {
		return err
	}
	if err := g.bootstrap(conf, store, snaps, trans); err != nil {
		return err
	}
	if err := g.recover(store, snaps); err != nil {
		return err
	}
	r, err := raft.NewRaft(conf, o.FSM, store, g.log, snaps, g.witness)
	if err != nil {
		return diskError(err)
	}
	g.raft = r
	g.refreshVoters()
	g.observe()
	go g.watch(notify)
	if g.sole.Load() {
		// A single voter has no other server whose heartbeat it must wait for: start the election
		// now.
		var resp raft.TimeoutNowResponse
		_ = trans.TimeoutNow(
			o.ID, trans.LocalAddr(), &raft.TimeoutNowRequest{
				RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax},
			}, &resp,
		)
	}
	return nil
}

func (g *Group) bootstrap(
	conf *raft.Config, store raft.LogStore, snaps raft.SnapshotStore, trans raft.Transport,
) error {
	has, err := raft.HasExistingState(store, g.log, snaps)
	if err != nil {
		return diskError(err)
	}
	if has || g.opts.Join {
		return nil
	}
	servers := g.opts.Peers
	if servers == nil {
		servers = []raft.Server{{ID: conf.LocalID, Address: trans.LocalAddr()}}
	}
	return diskError(raft.BootstrapCluster(conf, store, g.log, snaps, trans, raft.Configuration{Servers: servers}))
}

func (g *Group) recover(store raft.LogStore, snaps raft.SnapshotStore) error {
	if g.opts.Recover == nil {
		return nil
	}
	metas, err := snaps.List()
	if err != nil {
		return diskError(err)
	}
	index := uint64(0)
	if len(metas) > 0 {
		index = metas[0].Index
	}
	return g.opts.Recover(store, index)
}

// openings calls a function for each snapshot that is opened.
type openings struct {
	raft.SnapshotStore
	opened func(index uint64)
}

// Open implements raft.SnapshotStore.
func (o openings) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, r, err := o.SnapshotStore.Open(id)
	if err == nil {
		o.opened(meta.Index)
	}
	return meta, r, err
}

// refreshVoters updates whether this server is the only voter.
func (g *Group) refreshVoters() {
	voters, self := 0, false
	f := g.raft.GetConfiguration()
	for _, s := range f.Configuration().Servers {
		if s.Suffrage == raft.Voter {
			voters++
			self = self || s.ID == g.opts.ID
		}
	}
	g.sole.Store(voters == 1 && self)
}

// watch turns Raft's leadership notices into ready terms: a term is ready when an entry of it has
// been applied here (T4).
func (g *Group) watch(notify <-chan bool) {
	defer close(g.watched)
	for {
		select {
		case <-g.stop:
			return
		case leader := <-notify:
			switch {
			case g.Term() != 0 && g.leads(g.Term()):
				// A notice about an earlier term: the leadership that it reports is over.
			case leader:
				g.won()
			default:
				g.lost()
			}
		}
	}
}

// leads reports whether this server leads in a term. A server leads in a term once, and without a
// break.
func (g *Group) leads(term uint64) bool {
	return g.raft.CurrentTerm() == term && g.raft.State() == raft.Leader && g.raft.CurrentTerm() == term
}

func (g *Group) won() {
	term := g.raft.CurrentTerm()
	if err := g.Barrier(context.Background()); err != nil || !g.leads(term) {
		return // leadership was lost, which another notice reports, or the group is closing
	}
	g.applied.Store(term)
	if g.opts.OnLeader != nil {
		g.opts.OnLeader(term)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.term == 0 {
		close(g.ready)
		g.over = make(chan struct{})
	}
	g.term = term
}

func (g *Group) lost() {
	var over chan struct{}
	g.mu.Lock()
	if g.term != 0 {
		g.term, g.ready, over = 0, make(chan struct{}), g.over
	}
	g.mu.Unlock()
	if g.opts.OnFollower != nil {
		g.opts.OnFollower()
	}
	if over != nil {
		close(over)
	}
}

// WaitLeader waits until this server leads and its state machine holds all that earlier leaders
// acknowledged.
func (g *Group) WaitLeader(ctx context.Context) error {
	g.mu.Lock()
	ready := g.ready
	g.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-g.stop:
		return g.errClosed()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Term returns the term in which this server leads and is ready, or 0.
func (g *Group) Term() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.term
}

// Raft returns the library's own handle, for membership changes and statistics.
func (g *Group) Raft() *raft.Raft { return g.raft }

// Log returns the log itself, for a state machine that reads entries again by index.
func (g *Group) Log() raft.LogStore { return g.log }

// Snapshot takes a snapshot now, and truncates the log up to it.
func (g *Group) Snapshot() error {
	err := g.raft.Snapshot().Error()
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	return diskError(err)
}

// Barrier waits until everything that was proposed before is applied here.
func (g *Group) Barrier(ctx context.Context) error {
	if !g.enter() {
		return g.errClosed()
	}
	return g.wait(ctx, g.raft.Barrier(0))
}

// Close waits for the proposals under way, refuses later ones and ends the group. The log is closed
// last.
func (g *Group) Close() error {
	g.gate.Lock()
	if g.closing {
		g.gate.Unlock()
		return nil
	}
	g.closing = true
	g.gate.Unlock()
	g.pending.Wait()
	err := g.raft.Shutdown().Error()
	close(g.stop)
	<-g.watched
	if cerr := g.log.Close(); err == nil {
		err = cerr
	}
	if c, ok := g.opts.Transport.(interface{ Close() error }); ok && err == nil {
		err = c.Close()
	}
	return err
}

func (g *Group) errClosed() error {
	return pgerr.New(pgerr.CannotConnectNow, "%s is shutting down", g.name)
}
