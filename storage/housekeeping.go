package storage

import (
	"context"
	"sync"
	"time"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

const (
	tick       = 100 * time.Millisecond
	askTimeout = 10 * time.Second
	maxForget  = 4096
)

// housekeeping does what no client waits for: it asks for outcomes, forgets decisions and moves the
// watermark.
func (r *Replica) housekeeping() {
	gc, exact := newCollector(r), exactScanner{r: r}
	t := time.NewTicker(tick)
	defer t.Stop()
	asking := map[txn.ID]bool{}
	var mu sync.Mutex
	for {
		select {
		case <-r.stopper.Stopped():
			return
		case <-t.C:
		case <-r.Group.began:
		}
		r.kept.SetSeveral(r.cfg.Group.Transport != nil && len(r.Group.raft.Members()) > 1)
		r.cutLog()
		// Entries of earlier versions do not name buckets, which makes counts void at once.
		if r.cfg.knows(clusterversion.ExactSizes) {
			exact.begin()
		}
		if r.proposer.Term() == 0 {
			gc.run() // a follower's Badger drops what the leader's watermark lets it
			continue
		}
		r.Outcomes.forgets.flush(r.log)
		for _, f := range r.Outcomes.stale() {
			mu.Lock()
			busy := asking[f.id]
			asking[f.id] = true
			mu.Unlock()
			if busy {
				continue
			}
			r.stopper.Go(func() {
				f.work()
				mu.Lock()
				delete(asking, f.id)
				mu.Unlock()
			})
		}
		gc.run()
	}
}

const trailingEntries = 64 // kept behind a snapshot

// cutLog has Raft take a snapshot (a marker, S3), after which the log is cut, if the log has grown
// by truncation.GrowthBytes.
func (r *Replica) cutLog() {
	if !r.kept.Grown(r.Group.raft.LastIndex) {
		return
	}
	r.stopper.Go(func() {
		if err := r.Group.raft.Snapshot(); err != nil {
			r.cfg.Logger.Warn("the log could not be cut", "fragment", r.cfg.Fragment, "error", err)
		}
	})
}

// errand is one thing to find out about transaction id.
type errand struct {
	id   txn.ID
	work func()
}

// stale returns the transactions that have been undecided, decided but not forgotten, or in parts
// for too long. Those that an earlier term has left are due at once: their write buffers are gone,
// and there is nothing to wait for.
func (r *Outcomes) stale() (out []errand) {
	now := time.Now()
	before, live := now.Add(-r.cfg.Timing.RecoverAfter), now.Add(-r.cfg.Timing.RecoverLive)
	r.txns.mu.Lock()
	defer r.txns.mu.Unlock()
	for _, p := range r.txns.prepared {
		if p.since.Before(live) || p.since.Before(before) && !r.isLive(p.id) || r.isAdopted(p.id) {
			out = append(out, errand{p.id, func() { r.ask(p) }})
		}
	}
	for _, h := range r.txns.preparations {
		if r.mayAsk(h, now) {
			out = append(out, errand{h.id, func() { r.askHome(h) }})
		}
	}
	for _, d := range r.txns.decided {
		if d.since.Before(before) {
			out = append(out, errand{d.id, func() { r.push(d) }})
		}
	}
	for id := range r.txns.parts {
		if !r.isLive(id) { // its leader has died, so it cannot be committed any more
			out = append(out, errand{id, func() { _ = r.Resolve(txn.Decision{ID: id, Outcome: txn.Aborted}) }})
		}
	}
	return out
}

// isLive reports whether transaction id was buffered in this term: then its coordinator may still
// be at work, perhaps on a large share of another fragment. A transaction rebuilt from the log has
// lost its write buffer in some fragment.
func (r *Outcomes) isLive(id txn.ID) bool {
	t := r.live.find(id)
	return t != nil && !t.adopted.Load()
}

// isAdopted reports whether transaction id was rebuilt from the log at the start of this term.
func (r *Outcomes) isAdopted(id txn.ID) bool {
	t := r.live.find(id)
	return t != nil && t.adopted.Load()
}

// ask resolves a transaction prepared here by the outcome that its coordinator fragment reports
// (T7).
func (r *Outcomes) ask(p *preparedTxn) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	if p.coordinator == r.cfg.Fragment {
		_, _ = r.Outcome(ctx, p.id, p.C)
		return
	}
	if !rule.T7Ask {
		_ = r.Resolve(txn.Decision{ID: p.id, C: p.C, Outcome: txn.Aborted})
		return
	}
	if r.cfg.Others.Outcome == nil {
		return
	}
	out, err := r.cfg.Others.Outcome(ctx, p.coordinator, p.id, p.C)
	if err != nil || out == txn.Unknown {
		r.cfg.Logger.Debug("coordinator fragment does not answer", "fragment", r.cfg.Fragment,
			"coordinator", p.coordinator, "txn", p.id, "err", err)
		return
	}
	if err := r.Resolve(txn.Decision{ID: p.id, C: p.C, Outcome: out}); err != nil {
		r.cfg.Logger.Debug("cannot resolve", "fragment", r.cfg.Fragment, "txn", p.id, "err", err)
	}
}

// push sends the decision to the writers of a transaction, and forgets it once all have applied it.
func (r *Outcomes) push(d *decision) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	for _, f := range d.writers {
		if f == r.cfg.Fragment || !rule.T7Forget {
			continue
		}
		if r.cfg.Others.Resolve == nil {
			return
		}
		if err := r.cfg.Others.Resolve(ctx, f, txn.Decision{ID: d.id, C: d.C, Outcome: txn.Committed}); err != nil {
			return
		}
	}
	r.forgets.add(d.id)
}

// forgets gathers decisions to be forgotten, many to an entry.
type forgets struct {
	mu  sync.Mutex
	ids []txn.ID // guarded by mu
}

func (f *forgets) add(id txn.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids = append(f.ids, id)
}

func (f *forgets) flush(log logWriter) {
	f.mu.Lock()
	n := min(len(f.ids), maxForget)
	ids := f.ids[:n:n]
	f.ids = f.ids[n:]
	f.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	if _, _, err := log.run((&logentry.Forget{IDs: ids}).Encode(), 0); err != nil {
		f.mu.Lock()
		f.ids = append(f.ids, ids...)
		f.mu.Unlock()
	}
}

// Pin keeps the versions visible at T until release is called: for transactions, cursors and
// backups that last. It fails with 72000 if they are gone already, or about to go.
func (r *Replica) Pin(T txn.Timestamp) (release func(), err error) { return r.pins.Pin(T) }

// PinnedSnapshots returns the snapshots that are pinned, the oldest first.
func (r *Replica) PinnedSnapshots() []txn.Timestamp { return r.pins.List() }
