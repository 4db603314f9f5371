package tx

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

// mapTimeout is how long a statement waits for the map by which buckets have moved away from the
// fragment in which it has looked for them.
const mapTimeout = 10 * time.Second

// routes is the bucket map by which a transaction finds its rows, and what it has pinned in the
// fragments of that map. Buckets move while it runs, so it changes to newer maps; its timestamp
// stays, because rows that have moved are read at it as before.
type routes struct {
	mu     sync.Mutex
	newest *shardmap.Map           // guarded by mu, as all below
	held   []txn.Timestamp         // snapshots that are kept readable
	in     map[txn.FragmentID]bool // where
}

// WaitMap waits for a map of a database that is newer than that of an epoch, and returns it.
func (x *Services) WaitMap(ctx context.Context, database catalog.OID, epoch uint64) (*shardmap.Map, error) {
	timer := time.NewTimer(mapTimeout)
	defer timer.Stop()
	for {
		view := x.Catalog.View()
		d := view.Database(database)
		if d != nil && d.Map.Epoch() > epoch {
			return d.Map, nil
		}
		select {
		case <-view.Superseded():
		case <-ctx.Done():
			return nil, pgerr.Cancelled(ctx)
		case <-timer.C:
			return nil, pgerr.New(pgerr.CannotConnectNow,
				"rows have moved to another fragment, and this node has not learned where they are").
				WithDetail("The newest bucket map here has epoch %d.", epoch).WithHint("Try again in a moment.")
		}
	}
}

// newerMap implements exec.Gateway.Renew.
func (t *Tx) newerMap(ctx context.Context, epoch uint64) (*shardmap.Map, error) {
	m, err := t.env.WaitMap(ctx, t.env.Database, epoch)
	if err != nil {
		return nil, err
	}
	return m, t.goBy(ctx, m)
}

// goBy makes a newer map that of the transaction: its buffered writes must be where they were, and
// its snapshots are pinned in the fragments that are new to it.
func (t *Tx) goBy(ctx context.Context, m *shardmap.Map) error {
	r := &t.routes
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.Epoch() <= r.newest.Epoch() {
		return nil
	}
	var left []txn.FragmentID
	for _, f := range r.newest.Fragments() {
		if before := r.newest.Owned(f); !m.Owned(f).Intersect(before).Equal(before) {
			left = append(left, f)
		}
	}
	if err := t.Parts.Owned(ctx, left); err != nil {
		return err
	}
	if err := t.pinIn(m.Fragments()); err != nil {
		return err
	}
	r.newest = m
	return nil
}

// pinIn pins the snapshots in fragments in which they are not pinned yet. It is called with
// routes.mu held.
func (t *Tx) pinIn(fragments []txn.FragmentID) error {
	r := &t.routes
	var more []txn.FragmentID
	for _, f := range fragments {
		if !r.in[f] {
			more = append(more, f)
		}
	}
	if len(r.held) == 0 || len(more) == 0 {
		return nil
	}
	for _, T := range r.held {
		if err := t.Parts.PinSnapshot(more, T); err != nil {
			return err
		}
	}
	for _, f := range more {
		r.in[f] = true
	}
	return nil
}

// Pin keeps what is visible at T readable in the whole database until the transaction ends,
// wherever it moves; pin does so in fragments.
func (t *Tx) Pin(T txn.Timestamp, pin func([]txn.FragmentID, txn.Timestamp) error) error {
	r := &t.routes
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.newest.Fragments()
	if err := pin(all, T); err != nil {
		return err
	}
	if r.in == nil {
		r.in = map[txn.FragmentID]bool{}
	}
	for _, f := range all {
		r.in[f] = true
	}
	r.held = append(r.held, T)
	return nil
}

// FollowMap makes the newest map that of the statement that begins.
func (t *Tx) FollowMap(ctx context.Context) error {
	d := t.env.Catalog.View().Database(t.env.Database)
	if d == nil || d.Map == nil || t.Gateway.Map == nil || d.Map.Epoch() <= t.Gateway.Map.Epoch() {
		return nil
	}
	if err := t.goBy(ctx, d.Map); err != nil {
		return err
	}
	t.Gateway.Map = d.Map
	return nil
}

// CurrentEverywhere asks all fragments of the database for a timestamp, and changes to the map by
// which they have answered.
func (t *Tx) CurrentEverywhere(ctx context.Context) (txn.Timestamp, error) {
	return t.current(ctx, t.Gateway.Map.Split(t.Gateway.Map.All()))
}

// current asks fragments for a timestamp at which what is acknowledged is visible, and what this
// session has seen before. Where buckets have moved, their new fragments are asked.
func (t *Tx) current(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error) {
	return t.currentBy(ctx, shares, t.Parts.Snapshot)
}

// ask asks fragments for a timestamp, by the map of an epoch.
type ask = func(ctx context.Context, shares []shardmap.Share, epoch uint64) (txn.Timestamp, error)

func (t *Tx) currentBy(ctx context.Context, shares []shardmap.Share, ask ask) (txn.Timestamp, error) {
	for {
		epoch := t.Gateway.Map.Epoch()
		T, err := ask(ctx, shares, epoch)
		if moved := (*txn.MovedError)(nil); errors.As(err, &moved) {
			m, err := t.newerMap(ctx, epoch)
			if err != nil {
				return 0, err
			}
			var set shardmap.BucketSet
			for _, s := range shares {
				set = set.Union(s.Buckets)
			}
			t.Gateway.Map, shares = m, m.Split(set)
			continue
		}
		if err != nil {
			return 0, err
		}
		T = max(T, t.env.Floor, 1) // 0, of fragments that hold nothing yet, would look as if no snapshot had been taken
		t.Read = max(t.Read, T)
		return T, nil
	}
}
