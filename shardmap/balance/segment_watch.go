package balance

import (
	"math"
	"time"

	"github.com/sherddb/sherd/shardmap"
)

// WatchWindow is the time for which a segment must have writes above the limit before it is split
// for them. Before a merge, its writes must have been low for twice that time.
const WatchWindow = 5 * time.Minute

// Watch remembers the recent writes to segments. The fragments report rates that are smoothed over
// ten minutes, but a new leader of a fragment starts to measure again. The zero value has seen
// nothing. A Watch is not safe for concurrent use.
type Watch struct{ seen map[watched]*rates }

type watched struct {
	database uint32
	bucket   shardmap.Bucket
}

// rates are the lowest and the highest rates of three windows, the present window first.
type rates struct {
	since, from time.Time
	least, most [3]float64
}

// Note records the writes to the segments of a database's range tables at a time, and sets Least
// and Most of each. It forgets other segments of the database.
func (w *Watch) Note(now time.Time, database uint32, tables []Table) {
	next := map[watched]*rates{}
	for k, r := range w.seen {
		if k.database != database {
			next[k] = r
		}
	}
	for i := range tables {
		for j := range tables[i].Segments {
			s := &tables[i].Segments[j]
			k := watched{database, s.Bucket}
			r := w.seen[k]
			if r == nil {
				r = &rates{since: now, from: now}
				r.begin(s.Writes)
			}
			r.note(now, s.Writes)
			next[k] = r
			s.Least, s.Most = r.known(now)
		}
	}
	w.seen = next
}

func (r *rates) begin(rate float64) {
	copy(r.least[1:], r.least[:2])
	copy(r.most[1:], r.most[:2])
	r.least[0], r.most[0] = rate, rate
}

func (r *rates) note(now time.Time, rate float64) {
	if now.Sub(r.from) >= WatchWindow {
		r.from = now
		r.begin(rate)
	}
	r.least[0], r.most[0] = min(r.least[0], rate), max(r.most[0], rate)
}

// known returns the lowest rate of at least one window, and the highest of at least two.
func (r *rates) known(now time.Time) (least, most float64) {
	least, most = 0, math.Inf(1)
	if now.Sub(r.since) >= WatchWindow {
		least = min(r.least[0], r.least[1])
	}
	if now.Sub(r.since) >= 2*WatchWindow {
		most = max(r.most[0], r.most[1], r.most[2])
	}
	return least, most
}

// Present sets the rates of tables' segments to their current writes, for a plan that a user asks
// for.
func Present(tables []Table) {
	for i := range tables {
		for j := range tables[i].Segments {
			s := &tables[i].Segments[j]
			s.Least, s.Most = s.Writes, s.Writes
		}
	}
}
