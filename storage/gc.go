package storage

import (
	"time"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// collector moves the replicated watermark (entry Watermark): the stamp that was the newest applied
// one gcTTL ago by this process's monotonic clock, but below every leased snapshot and every
// undecided C. Badger may drop versions that no reader can see any more.
type collector struct {
	r       *Replica
	last    time.Time
	samples []sample
	flat    time.Time
	term    uint64    // in which the replica leads, as run has seen it; 0: it does not
	led     time.Time // since then
}

type sample struct {
	stamp txn.Timestamp
	at    time.Time
}

const flattenEvery = time.Hour

// leadQuiet is how long a new leader leaves the watermark where it is, or gcTTL if that is shorter.
// Clients whose snapshot the previous leader kept come to the new one in this time.
const leadQuiet = time.Minute

func newCollector(r *Replica) *collector { return &collector{r: r, flat: time.Now()} }

// gcTTL returns how long old versions are kept now.
func (r *Replica) gcTTL() time.Duration {
	if r.cfg.Timing.VersionsKept != nil {
		if kept := r.cfg.Timing.VersionsKept(); kept > 0 {
			return kept
		}
	}
	return r.cfg.Timing.GCTTL
}

func (c *collector) run() {
	now := time.Now()
	if term := c.r.proposer.Term(); term != c.term {
		c.term, c.led = term, now
	}
	kept := c.r.gcTTL()
	if now.Sub(c.last) < min(max(kept/16, tick), time.Minute) {
		return
	}
	c.last = now
	stamp := c.r.Applied()
	if n := len(c.samples); n == 0 || c.samples[n-1].stamp != stamp {
		c.samples = append(c.samples, sample{stamp, now})
	}
	var due txn.Timestamp
	for len(c.samples) > 0 && now.Sub(c.samples[0].at) >= kept {
		due = c.samples[0].stamp
		c.samples = c.samples[1:]
	}
	if c.term != 0 && now.Sub(c.led) >= min(leadQuiet, kept) {
		if err := c.r.passBelow(due); err != nil {
			c.r.cfg.Logger.Debug("cannot move the watermark", "fragment", c.r.cfg.Fragment, "err", err)
		}
	}
	c.discard(now)
}

// passBelow moves the watermark to T, or to the oldest timestamp that is needed if that is older.
func (r *Replica) passBelow(T txn.Timestamp) error {
	if T = min(T, r.txns.oldestNeeded()); T <= r.pins.Watermark() {
		return nil
	}
	if T = r.pins.Pass(T); T <= r.pins.Watermark() {
		return nil
	}
	_, _, err := r.log.run((&logentry.Watermark{At: T, Tidy: r.untidy()}).Encode(), 0)
	return err
}

// discard lets Badger discard old versions: never above a checkpoint that is in tables, nor above
// the watermark of that checkpoint. A restart reads the state at that stamp (S1), and answers by
// that watermark until it has applied the log again, which may take a follower some time.
func (c *collector) discard(now time.Time) {
	m, ok := c.r.kept.InTables()
	if !ok {
		return
	}
	// Nor above rows that are still to be written: a newer deletion must not be dropped before it
	// covers them.
	if T := min(m.Watermark, c.r.txns.oldestInstalling()-1); T > 0 {
		c.r.db.Discard(T)
	}
	if now.Sub(c.flat) >= flattenEvery { // the last level is compacted by nothing else
		c.flat = now
		if err := c.r.db.Flatten(); err != nil {
			c.r.cfg.Logger.Debug("flatten", "fragment", c.r.cfg.Fragment, "err", err)
		}
	}
}

// keepVersions has the database discard nothing above the watermark of now until release is called,
// however far the watermark moves.
func (r *Replica) keepVersions() (release func()) {
	return r.db.HoldAt(r.pins.Watermark)
}

// untidy reports whether the list of owned ranges can be made shorter now. Replicas of older
// releases do not know the entry.
func (r *Replica) untidy() bool {
	return r.cfg.knows(clusterversion.ShortLists) && r.Owned.Untidy(r.pins.Watermark())
}
