package fragment

import (
	"slices"
	"sync"
	"time"
)

// busy detects that clients' commits in fragments led here have become slow, so that moves pause
// for them. The rule: among the commits and prepares of the last second, at least 20, the 99th
// percentile is above sherd.move_max_delay and above twice its usual value (smoothed over the
// seconds in which this was not so). Then no step of a move starts here for a second, and the rule
// is applied again.
type busy struct {
	mu    sync.Mutex
	took  []time.Duration // of this second, a ring of busySamples; guarded by mu
	n     int             // how many there were in this second; guarded by mu
	until time.Time       // the end of this second; guarded by mu
	usual time.Duration   // guarded by mu
	now   time.Duration   // 99th percentile of the last second; guarded by mu
}

const (
	busySamples = 512
	busyLeast   = 20
	busyEvery   = time.Second
)

// since records the duration of an operation that started at began.
func (b *busy) since(began time.Time) {
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

// turn closes a second that has ended. The caller holds mu.
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

// suffers applies the rule; a limit of 0 means never.
func (b *busy) suffers(limit time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(time.Now())
	return limit > 0 && b.now > limit && b.now > 2*b.usual
}
