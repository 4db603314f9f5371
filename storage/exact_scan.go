package storage

import (
	"context"
	"slices"
	"sync"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// exactScanner counts groups by bucket, in the background, a few at a time (exact.go).
type exactScanner struct {
	r    *Replica
	mu   sync.Mutex
	want map[uint32]struct{} // guarded by mu
	busy bool                // guarded by mu
}

const (
	mostScanned  = 64       // groups that are counted by one scan
	scannedBytes = 64 << 20 // in them, if there are several
)

func newExactScanner(r *Replica) *exactScanner {
	x := &exactScanner{r: r, want: map[uint32]struct{}{}}
	s := r.stats
	s.exact.wanted = x.add
	s.exact.pending(x.add)
	return x
}

// add notes that a group has to be counted; housekeeping begins the count.
func (x *exactScanner) add(group uint32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.want[group] = struct{}{}
}

// begin starts to count if a group waits for it. Called by housekeeping.
func (x *exactScanner) begin() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.busy || len(x.want) == 0 {
		return
	}
	x.busy = true
	x.r.stopper.Go(x.run)
}

func (x *exactScanner) run() {
	for {
		groups := x.next()
		if groups == nil || x.r.stopper.IsStopped() {
			break
		}
		if err := x.r.countExact(context.Background(), groups); err != nil {
			x.r.cfg.Logger.Debug("buckets are not counted yet", "fragment", x.r.cfg.Fragment, "err", err)
			break // housekeeping begins again
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.busy = false
}

// next takes some groups off the list, or returns nil if there are none.
func (x *exactScanner) next() (out []uint32) {
	s := x.r.stats
	s.mu.RLock()
	defer s.mu.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	size := int64(0)
	for g := range x.want {
		n := s.exact.bytes[g]
		if n <= ExactBytes || s.exact.counts[g] != nil {
			delete(x.want, g)
			continue
		}
		if len(out) > 0 && (len(out) == mostScanned || size+n > scannedBytes) {
			break
		}
		out, size = append(out, g), size+n
		delete(x.want, g)
	}
	return out
}

// exactScan is a running count of the rows visible at T in buckets that the fragment owned then.
type exactScan struct {
	r      *Replica
	T      txn.Timestamp
	own    *owned.Buckets
	groups map[uint32]*exactCount
	tables []statKey
	// prepared at or below T and undecided: their changes come after T, and their rows may be
	// visible at T
	pending []pendingStats
	base    map[bucketKey]statValue
}

// countExact counts groups by bucket.
func (r *Replica) countExact(ctx context.Context, groups []uint32) (err error) {
	x := r.beginExact(groups)
	defer func() {
		if err != nil {
			x.giveUp()
		}
	}()
	r.fault("exact.begun")
	if err := r.Outcomes.WaitDecided(ctx, x.T); err != nil {
		return err
	}
	if err := x.scan(ctx); err != nil {
		return err
	}
	if err := x.takeBack(); err != nil {
		return err
	}
	r.fault("exact.counted")
	x.finish()
	return nil
}

// beginExact fixes the stamp, between two batches of the log. From then on the groups' changes are
// collected.
func (r *Replica) beginExact(groups []uint32) *exactScan {
	m := r.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	s := r.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &exactScan{r: r, T: m.s.stamp, own: r.Owned.Load(), groups: map[uint32]*exactCount{},
		base: map[bucketKey]statValue{}, pending: m.pendingStats(m.s.stamp)}
	for _, g := range groups {
		if s.exact.counts[g] != nil {
			continue
		}
		c := &exactCount{sums: map[bucketKey]statValue{}, dirty: map[bucketKey]struct{}{}}
		s.exact.counts[g], x.groups[g] = c, c
	}
	for k := range s.sums {
		if x.groups[k.group] != nil {
			x.tables = append(x.tables, k)
		}
	}
	slices.SortFunc(x.tables, compareStat)
	return x
}

func (x *exactScan) scan(ctx context.Context) error {
	r := x.r
	v := &View{r: r, t: newTx(r, txn.ID{}), T: x.T, own: x.own, b: r.db.At(x.T), restores: r.db.Replacements()}
	v.OwnedOnly()
	defer v.Close()
	n := 0
	for _, k := range x.tables {
		from, to := groupBounds(k.group)
		err := v.Scan(ctx, keyspace.BucketSpan(k.table, from, to), false, func(key, value []byte) error {
			if n++; n%ctxEvery == 0 && r.stopper.IsStopped() {
				return proposer.ErrNotLeader
			}
			b := bucketKey{k.table, keyspace.BucketOf(key)}
			have := x.base[b]
			x.base[b] = statValue{have.docs + 1, have.bytes + int64(len(key)+len(value))}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// takeBack subtracts transactions that were pending and have been committed: the scan has seen
// them, and the changes contain them too.
func (x *exactScan) takeBack() error {
	for _, p := range x.pending {
		if !x.r.rows.hasVersion(p.key, p.C) {
			continue
		}
		err := eachDelta(p.stats, func(d delta) {
			if d.exact && x.groups[d.group] != nil { // a delta of a group has made the count void
				have := x.base[d.bucketKey()]
				x.base[d.bucketKey()] = statValue{have.docs - d.docs, have.bytes - d.bytes}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// finish adds the base to the changes, of groups whose count has not become void.
func (x *exactScan) finish() {
	x.r.machine.mu.Lock() // a checkpoint has all of a base or nothing
	defer x.r.machine.mu.Unlock()
	s := x.r.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	stands := func(g uint32) bool { return x.groups[g] != nil && s.exact.counts[g] == x.groups[g] }
	for k, v := range x.base {
		if g := groupOf(k.bucket); stands(g) {
			x.groups[g].set(k, v.docs, v.bytes)
		}
	}
	for g, c := range x.groups {
		if stands(g) {
			c.base, c.newer = true, true
		}
	}
	x.r.machine.entries++ // something to write down
}

// giveUp has the groups counted another time.
func (x *exactScan) giveUp() {
	s := x.r.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	for g, c := range x.groups {
		if s.exact.counts[g] == c {
			s.exact.recount(g)
		}
	}
}
