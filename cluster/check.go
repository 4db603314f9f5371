package cluster

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

const (
	// undecidedLimit is how long a check waits for the transactions that were prepared when it began. Whoever asks for the outcome of one
	// that was left behind does so after seconds.
	undecidedLimit = 30 * time.Second
	// checkTries is how often a check begins anew where definitions change while it takes its timestamp.
	checkTries = 20
)

// Check proves that what a database's fragments store agrees with its definitions, all at one timestamp, while others read and write.
func (h *Host) Check(ctx context.Context, database catalog.OID, emit verify.Emit) error {
	return h.check(ctx, database, undecidedLimit, emit)
}

func (h *Host) check(ctx context.Context, database catalog.OID, limit time.Duration, emit verify.Emit) error {
	k := &checker{host: h, database: database, limit: limit}
	defer k.release()
	if err := k.begin(ctx); err != nil {
		return err
	}
	d := k.view.Database(database)
	c, err := verify.New(k.view, d)
	if err != nil {
		return err
	}
	for _, f := range d.Fragments {
		if err := k.fragment(ctx, c, f.ID); err != nil {
			return err
		}
	}
	return c.Report(emit)
}

// checker is a check under way.
type checker struct {
	host     *Host
	database catalog.OID
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

// begin takes the timestamp, and definitions that are those of its moment.
func (k *checker) begin(ctx context.Context) error {
	for try := 1; ; try++ {
		k.release()
		before := k.host.cfg.Catalog.View()
		d := before.Database(k.database)
		if d == nil {
			return pgerr.New(pgerr.InvalidCatalogName, "database with OID %d does not exist", k.database)
		}
		if err := k.snapshot(ctx, d); err != nil {
			return err
		}
		k.view = k.host.cfg.Catalog.View()
		switch {
		case k.view.Database(k.database) == nil:
		case k.view.DefinitionVersion() == before.DefinitionVersion():
			return nil
		case try == checkTries:
			return pgerr.New(pgerr.ObjectInUse, "the definitions change all the time").WithHint("Try again when no statements define tables.")
		}
	}
}

// snapshot takes the timestamp of all fragments and holds it.
func (k *checker) snapshot(ctx context.Context, d *catalog.Database) error {
	k.T = 0
	for _, f := range d.Fragments {
		r, err := k.host.Replica(f.ID)
		if err != nil {
			return err
		}
		T, err := r.Snapshot(ctx)
		if err != nil {
			return err
		}
		k.T = max(k.T, T)
	}
	for _, f := range d.Fragments {
		if err := k.hold(f.ID, k.T); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) hold(id txn.FragmentID, T txn.Timestamp) error {
	r, err := k.host.Replica(id)
	if err != nil {
		return err
	}
	release, err := r.Hold(T)
	if err == nil {
		k.leases = append(k.leases, release)
	}
	return err
}

// fragment has c take in one fragment. The statistics are those of a moment of their own, as near as can be.
func (k *checker) fragment(ctx context.Context, c *verify.Check, id txn.FragmentID) error {
	r, err := k.host.Replica(id)
	if err != nil {
		return err
	}
	view, err := r.Tx(txn.NewID()).View(ctx, k.T)
	if err != nil {
		return err
	}
	defer view.Close()
	census := r.Census()
	if err := k.hold(id, census.At); err != nil {
		return err
	}
	if undecided, err := k.waitDecided(ctx, r, max(k.T, census.At)); err != nil || len(undecided) > 0 {
		for _, u := range undecided {
			c.Undecided(id, u.ID, u.C, u.Anchor)
		}
		return err
	}
	dropping, err := r.Dropping()
	if err != nil {
		return err
	}
	return c.Fragment(ctx, &verify.Fragment{
		ID: id, View: view, Dropping: dropping, Group: storage.StatBuckets,
		Stats:   func(ctx context.Context) ([]verify.Stat, error) { return statsOf(ctx, census) },
		Recount: func(ctx context.Context, s verify.Stat) (int64, int64, error) { return recount(ctx, r, census.At, s) },
	})
}

// waitDecided gives the transactions that stay undecided.
func (k *checker) waitDecided(ctx context.Context, r *storage.Replica, T txn.Timestamp) ([]storage.Undecided, error) {
	limited, cancel := context.WithTimeout(ctx, k.limit)
	defer cancel()
	err := r.WaitDecided(limited, T)
	if err == nil || ctx.Err() != nil || limited.Err() == nil {
		return nil, err
	}
	return r.Undecided(T), nil
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
func recount(ctx context.Context, r *storage.Replica, T txn.Timestamp, s verify.Stat) (documents, bytes int64, err error) {
	view, err := r.Tx(txn.NewID()).View(ctx, T)
	if err != nil {
		return 0, 0, err
	}
	defer view.Close()
	err = view.Scan(ctx, storage.BucketSpan(s.Table, s.From, s.To), false, func(key, value []byte) error {
		documents++
		bytes += int64(len(key) + len(value))
		return nil
	})
	return documents, bytes, err
}
