package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/storage"
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

// Check verifies that the stored data of a database's fragments agrees with its definitions, all at
// one timestamp, while clients read and write, and that the replicas of each fragment agree.
func (h *Host) Check(ctx context.Context, database catalog.OID, emit verify.Emit) error {
	return h.check(ctx, database, undecidedLimit, emit)
}

// check starts again if the leader of a fragment has changed meanwhile: nothing has been emitted
// yet.
func (h *Host) check(ctx context.Context, database catalog.OID, limit time.Duration, emit verify.Emit) error {
	for p := (patience{}); ; {
		c, err := h.examine(ctx, database, limit)
		if err == nil {
			return c.Report(emit)
		}
		if h.links == nil || !moved(err) && !cutOff(err) || p.wait(ctx) != nil {
			return err
		}
	}
}

// examine runs a check over all fragments.
func (h *Host) examine(ctx context.Context, database catalog.OID, limit time.Duration) (*verify.Check, error) {
	k := &checker{host: h, database: database, id: txn.NewID(), limit: limit}
	h.atWork.Store(k.id, true)
	defer h.atWork.Delete(k.id)
	defer k.release()
	if err := k.begin(ctx); err != nil {
		return nil, err
	}
	d := k.view.Database(database)
	c, err := verify.New(k.view, d)
	if err != nil {
		return nil, err
	}
	for _, f := range d.Fragments {
		if err := k.fragment(ctx, c, f.ID); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// checker is a check under way.
type checker struct {
	host     *Host
	database catalog.OID
	id       txn.ID        // names the pinned snapshots
	limit    time.Duration // how long to wait for undecided transactions
	view     *catalog.View
	T        txn.Timestamp
	leases   []func()
}

func (k *checker) release() {
	for _, release := range k.leases {
		release()
	}
	k.leases = nil
}

// begin takes the timestamp, and the definitions that are valid at it.
func (k *checker) begin(ctx context.Context) error {
	for try := 1; ; try++ {
		k.release()
		before := k.host.cfg.Catalog.View()
		d := before.Database(k.database)
		if d == nil {
			return pgerr.New(pgerr.InvalidCatalogName, "database with OID %d does not exist", k.database)
		}
		err := k.snapshot(ctx, d)
		if moved := (*txn.MovedError)(nil); errors.As(err, &moved) && try < checkTries { // and the newer map is not here yet
			select {
			case <-before.Superseded():
				continue
			case <-time.After(remapPatience):
			}
		}
		if err != nil {
			return err
		}
		k.view = k.host.cfg.Catalog.View()
		switch {
		case k.view.Database(k.database) == nil:
		case k.view.DefinitionVersion() == before.DefinitionVersion() && k.view.Database(k.database) == d:
			return nil
		case try == checkTries:
			return pgerr.New(pgerr.ObjectInUse, "the definitions change all the time").WithHint("Try again when no statements define tables.")
		}
	}
}

// snapshot takes the timestamp of all fragments and pins it.
func (k *checker) snapshot(ctx context.Context, d *catalog.Database) error {
	ids := make([]txn.FragmentID, len(d.Fragments))
	for i, f := range d.Fragments {
		ids[i] = f.ID
	}
	var err error
	if k.T, err = k.host.snapshot(ctx, d.Map.Split(d.Map.All()), d.Map.Epoch()); err != nil {
		return err
	}
	for _, id := range ids {
		if err := k.hold(ctx, id, k.T); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) hold(ctx context.Context, id txn.FragmentID, T txn.Timestamp) error {
	release, err := k.host.keep(ctx, id, k.id, T, exec.TransactionOptions{Isolation: txn.RepeatableRead})
	if err == nil {
		k.leases = append(k.leases, release)
	}
	return err
}

// fragment adds one fragment to c. The statistics are read at a moment of their own, as close as
// possible.
func (k *checker) fragment(ctx context.Context, c *verify.Check, id txn.FragmentID) error {
	at, err := k.host.find(ctx, id)
	if err != nil {
		return err
	}
	if at.replica == nil {
		return k.elsewhere(ctx, c, id, at.node.Leader(id))
	}
	r := at.replica
	view, err := r.Tx(txn.NewID()).View(ctx, k.T)
	if err != nil {
		return err
	}
	defer view.Close()
	view.OwnedOnly()
	census := r.Census()
	if err := k.hold(ctx, id, census.At); err != nil {
		return err
	}
	if undecided, err := waitDecided(ctx, r, max(k.T, census.At), k.limit); err != nil || len(undecided) > 0 {
		for _, u := range undecided {
			c.Undecided(id, u.ID, u.C, u.Anchor)
		}
		return err
	}
	moved := r.Ownership()
	dropping, err := r.Dropping()
	if err != nil {
		return err
	}
	err = c.Fragment(ctx, &verify.Fragment{
		ID: id, View: view, Dropping: dropping, Group: storage.StatBuckets, Exact: storage.ExactBytes, Moved: ownedOf(moved), Added: k.added(id), Remapped: k.remapped,
		Stats:   func(ctx context.Context) ([]verify.Stat, error) { return statsOf(ctx, census) },
		Recount: func(ctx context.Context, s verify.Stat) (int64, int64, error) { return recount(ctx, r, census.At, s) },
	})
	if err != nil {
		return err
	}
	return k.compare(ctx, c, id, census.At)
}

// waitDecided returns the transactions that are still undecided after limit.
func waitDecided(ctx context.Context, r *storage.Replica, T txn.Timestamp, limit time.Duration) ([]storage.Undecided, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := r.WaitDecided(limited, T)
	if err == nil || ctx.Err() != nil || limited.Err() == nil {
		return nil, err
	}
	return r.Undecided(T), nil
}

// elsewhere is fragment for a fragment that another node leads.
func (k *checker) elsewhere(ctx context.Context, c *verify.Check, id txn.FragmentID, l remote.Leader) error {
	census, err := l.Census(ctx, k.T, k.limit)
	if err != nil {
		return err
	}
	if len(census.Undecided) > 0 {
		for _, u := range census.Undecided {
			c.Undecided(id, u.ID, u.C, u.Anchor)
		}
		return nil
	}
	if err := k.hold(ctx, id, census.At); err != nil {
		return err
	}
	err = c.Fragment(ctx, &verify.Fragment{
		ID: id, View: l.View(k.T), Dropping: census.Dropping, Group: storage.StatBuckets, Exact: storage.ExactBytes,
		Moved: ownedOf(census.Moved), Added: k.added(id), Remapped: k.remapped,
		Stats: func(context.Context) ([]verify.Stat, error) { return statList(census.Stats), nil },
		Recount: func(ctx context.Context, s verify.Stat) (int64, int64, error) {
			return countIn(ctx, l.View(census.At), s)
		},
	})
	if err != nil {
		return err
	}
	return k.compare(ctx, c, id, census.At)
}

func ownedOf(list []storage.OwnedRange) []verify.Owned {
	out := make([]verify.Owned, len(list))
	for i, m := range list {
		out[i] = verify.Owned{
			Interval: m.BucketRange, Owned: m.State == storage.Owned, Has: m.State == storage.Owned || m.State == storage.Fenced, Leaving: m.State == storage.Fenced || m.State == storage.Gone, Arrival: m.Arrival,
		}
	}
	return out
}

// added reports whether a fragment owned nothing when it was created.
func (k *checker) added(id txn.FragmentID) bool {
	f := k.view.Database(k.database).FragmentByID(uint32(id))
	return f != nil && f.Added
}

// remapPatience is how long a check waits to learn of a newer bucket map.
const remapPatience = time.Second

// remapped reports whether the bucket map has changed since the check began. A fragment's log may
// say so before the map has arrived here.
func (k *checker) remapped() bool {
	timer := time.NewTimer(remapPatience)
	defer timer.Stop()
	for {
		v := k.host.cfg.Catalog.View()
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
	return statList(stats), err
}

func statList(stats []storage.BucketStat) []verify.Stat {
	out := make([]verify.Stat, len(stats))
	for i, s := range stats {
		out[i] = verify.Stat{Table: s.Table, From: s.From, To: s.To, Documents: s.Documents, Bytes: s.Bytes}
	}
	return out
}

// recount counts the rows of some buckets at T.
func recount(ctx context.Context, r *storage.Replica, T txn.Timestamp, s verify.Stat) (documents, bytes int64, err error) {
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
