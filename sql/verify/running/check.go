package running

import (
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/liveness"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

const (
	// undecidedLimit is how long a check waits for the transactions that were prepared when it
	// began. A transaction that was left behind is resolved within seconds, because its
	// participants ask for the outcome.
	undecidedLimit = 30 * time.Second
	// checkTries is how often a check starts again if definitions change while it takes its
	// timestamp.
	checkTries = 20
)

// Config says which cluster is checked. Peers and Other are nil if there are no other nodes.
type Config struct {
	Node    uint32 // this one
	Catalog *catalog.Catalog
	Client  *kv.Client
	Here    *fragment.Server // this node
	Peers   *liveness.Detector
	Other   func(node uint32) (kv.Sender, error)
}

// Checker checks databases. All methods may be called concurrently.
type Checker struct{ cfg Config }

// New makes a Checker.
func New(cfg Config) *Checker { return &Checker{cfg} }

// Check verifies that the stored data of a database's fragments agrees with its definitions, all at
// one timestamp, while clients read and write, and that the replicas of each fragment agree.
func (c *Checker) Check(ctx context.Context, database catalog.OID, emit verify.Emit) error {
	return c.check(ctx, database, undecidedLimit, emit)
}

// check starts again if the leader of a fragment has changed meanwhile: nothing has been emitted
// yet.
func (c *Checker) check(ctx context.Context, database catalog.OID, limit time.Duration, emit verify.Emit) error {
	for p := (kv.Backoff{}); ; {
		x, err := c.examine(ctx, database, limit)
		if err == nil {
			return x.Report(emit)
		}
		if c.cfg.Peers == nil || !kv.LeaderGone(err) && !kv.OutcomeOpen(err) || p.Wait(ctx) != nil {
			return err
		}
	}
}

// examine runs a check over all fragments.
func (c *Checker) examine(ctx context.Context, database catalog.OID, limit time.Duration) (*verify.Check, error) {
	k := &check{Config: c.cfg, database: database, id: txn.NewID(), limit: limit}
	k.Client.Started(k.id)
	defer k.Client.Over(k.id)
	defer k.release()
	if err := k.begin(ctx); err != nil {
		return nil, err
	}
	d := k.view.Database(database)
	x, err := verify.New(k.view, d)
	if err != nil {
		return nil, err
	}
	for _, f := range d.Fragments {
		if err := k.fragment(ctx, x, f.ID); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// check is a check under way.
type check struct {
	Config
	database catalog.OID
	id       txn.ID        // names the pinned snapshots
	limit    time.Duration // how long to wait for undecided transactions
	view     *catalog.View
	T        txn.Timestamp
	leases   []func()
}

func (k *check) release() {
	for _, release := range k.leases {
		release()
	}
	k.leases = nil
}

// begin takes the timestamp, and the definitions that are valid at it.
func (k *check) begin(ctx context.Context) error {
	for try := 1; ; try++ {
		k.release()
		before := k.Catalog.View()
		d := before.Database(k.database)
		if d == nil {
			return pgerr.New(pgerr.InvalidCatalogName, "database with OID %d does not exist", k.database)
		}
		err := k.snapshot(ctx, d)
		// and the newer map is not here yet
		if moved := (*txn.MovedError)(nil); errors.As(err, &moved) && try < checkTries {
			select {
			case <-before.Superseded():
				continue
			case <-time.After(remapTimeout):
			}
		}
		if err != nil {
			return err
		}
		k.view = k.Catalog.View()
		switch {
		case k.view.Database(k.database) == nil:
		case k.view.DefinitionVersion() == before.DefinitionVersion() && k.view.Database(k.database) == d:
			return nil
		case try == checkTries:
			return pgerr.New(pgerr.ObjectInUse, "the definitions change all the time").
				WithHint("Try again when no statements define tables.")
		}
	}
}

// snapshot takes the timestamp of all fragments and pins it.
func (k *check) snapshot(ctx context.Context, d *catalog.Database) error {
	ids := make([]txn.FragmentID, len(d.Fragments))
	for i, f := range d.Fragments {
		ids[i] = f.ID
	}
	var err error
	if k.T, err = k.Client.Snapshot(ctx, d.Map.Split(d.Map.All()), d.Map.Epoch()); err != nil {
		return err
	}
	for _, id := range ids {
		if err := k.hold(ctx, id, k.T); err != nil {
			return err
		}
	}
	return nil
}

func (k *check) hold(ctx context.Context, id txn.FragmentID, T txn.Timestamp) error {
	release, err := k.Client.Pin(ctx, id, k.id, kv.PinRequest(T, txn.Options{Isolation: txn.RepeatableRead}))
	if err == nil {
		k.leases = append(k.leases, release)
	}
	return err
}

// fragment adds one fragment to c. The statistics are read at a moment of their own, as close as
// possible.
func (k *check) fragment(ctx context.Context, c *verify.Check, id txn.FragmentID) error {
	at, err := k.Client.Find(ctx, id)
	if err != nil {
		return err
	}
	if at.Node != k.Node {
		return k.elsewhere(ctx, c, id, at)
	}
	r := k.Here.Replicas().Get(id)
	if r == nil {
		return fragment.NotAvailable(id)
	}
	view, err := r.Tx(txn.NewID()).View(ctx, k.T)
	if err != nil {
		return err
	}
	defer view.Close()
	view.OwnedOnly()
	census := r.Inspect.Census()
	if err := k.hold(ctx, id, census.At); err != nil {
		return err
	}
	if undecided, err := fragment.WaitDecided(ctx, r, max(k.T, census.At), k.limit); err != nil || len(undecided) > 0 {
		for _, u := range undecided {
			c.Undecided(id, u.ID, u.C, u.Coordinator)
		}
		return err
	}
	moved := r.Owned.Ranges()
	dropping, err := r.Inspect.Dropping()
	if err != nil {
		return err
	}
	err = c.Fragment(ctx, &verify.Fragment{
		ID: id, View: view, Dropping: dropping, Group: counts.GroupBuckets,
		Exact: counts.ExactBytes, Moved: ownedOf(moved), Added: k.added(id), Remapped: k.remapped,
		Stats: func(ctx context.Context) ([]verify.Stat, error) { return statsOf(ctx, census) },
		Recount: func(ctx context.Context, s verify.Stat) (int64, int64, error) {
			return recount(ctx, r, census.At, s)
		},
	})
	if err != nil {
		return err
	}
	return k.compare(ctx, c, id, census.At)
}

// elsewhere is fragment for a fragment that another node leads.
func (k *check) elsewhere(ctx context.Context, c *verify.Check, id txn.FragmentID, leader kv.Sender) error {
	a, err := leader.Send(ctx, &pb.Request{Fragment: uint32(id), Op: &pb.Request_Census{
		Census: &pb.CensusRequest{T: uint64(k.T), TimeLeftMicros: uint64(k.limit.Microseconds())},
	}})
	if err != nil {
		return err
	}
	census := a.GetCensus()
	at := txn.Timestamp(census.GetAt())
	for _, u := range census.GetUndecided() {
		if len(u.Transaction) == len(txn.ID{}) {
			c.Undecided(id, txn.ID(u.Transaction), txn.Timestamp(u.C), txn.FragmentID(u.Coordinator))
		}
	}
	if len(census.GetUndecided()) > 0 {
		return nil
	}
	if err := k.hold(ctx, id, at); err != nil {
		return err
	}
	var moved []storage.OwnedRange
	for _, m := range census.GetMoved() {
		moved = append(moved, storage.OwnedRange{
			BucketRange: storage.BucketRange{Lo: m.Lo, Hi: m.Hi},
			State:       storage.OwnState(m.State), Generation: m.Generation,
		})
	}
	var stats []verify.Stat
	for _, x := range census.GetCounts() {
		stats = append(stats, verify.Stat{Table: x.Table, From: x.From,
			To: x.To, Documents: x.Documents, Bytes: x.Bytes})
	}
	err = c.Fragment(ctx, &verify.Fragment{
		ID: id, View: &kv.Reader{Sender: leader, Fragment: id, T: k.T}, Dropping: spansOf(census.GetDropping()),
		Group: counts.GroupBuckets, Exact: counts.ExactBytes,
		Moved: ownedOf(moved), Added: k.added(id), Remapped: k.remapped,
		Stats: func(context.Context) ([]verify.Stat, error) { return stats, nil },
		Recount: func(ctx context.Context, s verify.Stat) (int64, int64, error) {
			return countIn(ctx, &kv.Reader{Sender: leader, Fragment: id, T: at}, s)
		},
	})
	if err != nil {
		return err
	}
	return k.compare(ctx, c, id, at)
}

func spansOf(list []*pb.KeySpan) (out []txn.Span) {
	for _, x := range list {
		out = append(out, txn.Span{Start: x.GetStart(), End: x.GetEnd()})
	}
	return out
}

func ownedOf(list []storage.OwnedRange) []verify.Owned {
	out := make([]verify.Owned, len(list))
	for i, m := range list {
		out[i] = verify.Owned{
			Interval: m.BucketRange, Owned: m.State == storage.Owned,
			Has:        m.State == storage.Owned || m.State == storage.Fenced,
			Leaving:    m.State == storage.Fenced || m.State == storage.Gone,
			Generation: m.Generation,
		}
	}
	return out
}

// added reports whether a fragment owned nothing when it was created.
func (k *check) added(id txn.FragmentID) bool {
	f := k.view.Database(k.database).FragmentByID(uint32(id))
	return f != nil && f.Added
}

// remapTimeout is how long a check waits to learn of a newer bucket map.
const remapTimeout = time.Second

// remapped reports whether the bucket map has changed since the check began. A fragment's log may
// say so before the map has arrived here.
func (k *check) remapped() bool {
	timer := time.NewTimer(remapTimeout)
	defer timer.Stop()
	for {
		v := k.Catalog.View()
		if d := v.Database(k.database); d == nil || d.Map.Epoch() != k.view.Database(k.database).Map.Epoch() {
			return true
		}
		select {
		case <-v.Superseded():
		case <-timer.C:
			return false
		}
	}
}

func statsOf(ctx context.Context, census *storage.Census) ([]verify.Stat, error) {
	stats, err := census.Stats(ctx)
	out := make([]verify.Stat, len(stats))
	for i, s := range stats {
		out[i] = verify.Stat{Table: s.Table, From: s.From, To: s.To, Documents: s.Documents, Bytes: s.Bytes}
	}
	return out, err
}

// recount counts the rows of some buckets at T.
func recount(
	ctx context.Context, r *storage.Replica, T txn.Timestamp, s verify.Stat,
) (documents, bytes int64, err error) {
	view, err := r.Tx(txn.NewID()).View(ctx, T)
	if err != nil {
		return 0, 0, err
	}
	defer view.Close()
	view.OwnedOnly()
	return countIn(ctx, view, s)
}

func countIn(ctx context.Context, view exec.Reader, s verify.Stat) (documents, bytes int64, err error) {
	err = view.Scan(ctx, keyspace.BucketSpan(s.Table, s.From, s.To), false, func(key, value []byte) error {
		documents++
		bytes += int64(len(key) + len(value))
		return nil
	})
	return documents, bytes, err
}
