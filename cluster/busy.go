package cluster

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
)

// busy tells whether what clients commit in fragments that are led here has become slow, so that moves stop for it. The rule: of the commits and
// prepares of the last second, 20 at least, the slowest of a hundred took longer than sherd.move_max_delay, and twice as long as it usually does
// (smoothed over the seconds in which that was not so). Then for a second no step of a move begins here, and it is looked at again.
type busy struct {
	mu    sync.Mutex
	took  []time.Duration // of this second, a ring of busySamples; guarded by mu
	n     int             // how many there were; guarded by mu
	until time.Time       // the end of this second; guarded by mu
	usual time.Duration   // guarded by mu
	now   time.Duration   // the slowest of a hundred in the last second; guarded by mu
}

const (
	busySamples = 512
	busyLeast   = 20
	busyEvery   = time.Second
	usuallySlow = 100 * time.Millisecond
)

// since notes that something took since a time.
func (b *busy) since(began time.Time) {
	if b == nil {
		return
	}
	at := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(at)
	if len(b.took) < busySamples {
		b.took = append(b.took, at.Sub(began))
	} else {
		b.took[b.n%busySamples] = at.Sub(began)
	}
	b.n++
}

// turn ends a second that is over. It is called with mu held.
func (b *busy) turn(at time.Time) {
	if at.Before(b.until) {
		return
	}
	stale := at.Sub(b.until) > busyEvery
	b.until = at.Add(busyEvery)
	b.now = 0
	if b.n >= busyLeast && !stale {
		slices.Sort(b.took)
		b.now = b.took[len(b.took)*99/100]
		if b.usual == 0 {
			b.usual = b.now
		} else if b.now < 2*b.usual {
			b.usual = (7*b.usual + b.now) / 8
		}
	}
	b.took, b.n = b.took[:0], 0
}

// suffers applies the rule; limit 0 is never.
func (b *busy) suffers(limit time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(time.Now())
	return limit > 0 && b.now > limit && b.now > 2*b.usual
}

// maxDelay is sherd.move_max_delay.
func maxDelay(view *catalog.View) time.Duration {
	if k := view.Cluster(); k != nil {
		if n, err := strconv.Atoi(k.Settings["sherd.move_max_delay"]); err == nil && n >= 0 {
			return time.Duration(n) * time.Millisecond
		}
	}
	return usuallySlow
}

// Suffers tells whether moves have to stop for what clients commit here.
func (h *Host) Suffers() bool { return h.busy.suffers(maxDelay(h.cfg.Catalog.View())) }
