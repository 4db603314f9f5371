package move

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/rebalance/rows"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
)

// Config has the parts of the node that a Driver uses. All but At are required.
type Config struct {
	Catalog *catalog.Catalog
	Logger  *slog.Logger
	Schema  rows.Schema // what follows from rows
	// Leads returns the replica of a fragment if this node leads it, and nil otherwise.
	Leads func(fragment uint32) *storage.Replica
	// Led lists the replicas that lead on this node.
	Led func() []*storage.Replica
	// Ask calls do with the leader of a source, and again with another node if that one does not
	// lead or does not answer. Once calls do once.
	Ask, Once func(ctx context.Context, fragment uint32, do func(Source) error) error
	// Empty decides which fragments take the buckets of one that is being removed.
	Empty func(ctx context.Context, d *catalog.Database, fragment uint32) ([]shardmap.Range, error)
	// Suffers reports whether foreground statements are slower than they should be.
	Suffers func() bool
	// At is called at the arrows of a step, for tests. An error ends the driver there, as a crash
	// would.
	At func(arrow string) error
}

// The arrows of a step, at which Config.At is called.
const (
	Begun       = "begun"        // catalog: running
	IngestBegun = "ingest begun" // target: begin to ingest
	Copying     = "copying"      // a batch of the read at T1, or of a later one, was copied
	Copied      = "copied"       // read at T1 and copied
	CaughtUp    = "caught up"
	Fenced      = "fenced"
	CopiedRest  = "copied the rest" // what was left up to F
	Flipped     = "flipped"
	OwnedNow    = "owned"
	GoneNow     = "gone"
	Cleaned     = "cleaned" // catalog: not done yet
	Aborted     = "aborted" // catalog: aborted, fence not lifted yet
	Lifted      = "lifted"
	Renewed     = "renewed" // catalog: the step goes on by another number
)

// Arrows lists the arrows that every step passes.
func Arrows() []string {
	return []string{
		Begun, IngestBegun, Copying, Copied, CaughtUp, Fenced, CopiedRest, Flipped, OwnedNow, GoneNow, Cleaned,
	}
}

// Driver drives the moves whose targets are led here.
type Driver struct {
	cfg  Config
	pace *pace

	lastWait atomic.Int64 // how long the last fence here waited for what is prepared, in ns

	mu      sync.Mutex
	running map[uint64]bool // jobs; guarded by mu
	done    sync.WaitGroup
}

// lookEvery is how often a driver looks whether it leads something else.
const lookEvery = 200 * time.Millisecond

// New makes a driver.
func New(cfg Config) *Driver {
	if cfg.At == nil {
		cfg.At = func(string) error { return nil }
	}
	return &Driver{cfg: cfg, pace: newPace(), running: map[uint64]bool{}}
}

// Run drives moves, and watches fences and removals, until ctx ends.
func (d *Driver) Run(ctx context.Context) {
	defer d.done.Wait()
	d.done.Go(func() { d.watchFences(ctx) })
	d.done.Go(func() { d.removeFragments(ctx) })
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for ctx.Err() == nil {
		view := d.cfg.Catalog.View()
		for _, m := range view.Moves(0) {
			if d.cfg.Leads(m.Target) != nil && d.hasWork(m) && d.claim(m.Job.ID) {
				d.done.Go(func() {
					if !d.drive(ctx, m.Job.ID) {
						d.release(m.Job.ID)
					}
				})
			}
		}
		select {
		case <-view.Superseded():
		case <-t.C:
		case <-ctx.Done():
		}
	}
}

// hasWork reports whether there is something to do for a move.
func (d *Driver) hasWork(m catalog.RunningMove) bool {
	return m.Step.Open() || m.Job.State == catalog.JobRunning || m.Job.State == catalog.JobCancelled
}

func (d *Driver) claim(job uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running[job] {
		return false
	}
	d.running[job] = true
	return true
}

func (d *Driver) release(job uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, job)
}

func now() int64 { return time.Now().UnixMicro() }
