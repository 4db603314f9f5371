package txn

import (
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// DefaultMaxClockAhead is how far a timestamp may be ahead of the receiver's wall clock.
const DefaultMaxClockAhead = 10 * time.Second

// Clock is a node's hybrid logical clock. Nothing depends on its being right; the nearer the clocks, the fewer commits have
// to try a larger C.
type Clock struct {
	wall  func() time.Time
	ahead time.Duration
	last  atomic.Uint64
	picks atomic.Uint64 // the largest C that was picked by this clock
	bound atomic.Pointer[bound]
}

// bound is between which times the clock is believed. It moves on by what has passed since, whatever the wall clock says.
type bound struct {
	from, upTo time.Time
	since      time.Time // with Go's monotonic reading
}

// NewClock makes a clock over wall (nil: time.Now) that refuses timestamps more than ahead beyond it (0: the default).
func NewClock(wall func() time.Time, ahead time.Duration) *Clock {
	if wall == nil {
		wall = time.Now
	}
	if ahead == 0 {
		ahead = DefaultMaxClockAhead
	}
	return &Clock{wall: wall, ahead: ahead}
}

// Wall gives the wall clock's time as a timestamp, without moving the clock.
func (c *Clock) Wall() Timestamp { return FromTime(c.wall()) }

// Last gives the largest timestamp seen or given.
func (c *Clock) Last() Timestamp { return Timestamp(c.last.Load()) }

// Now ticks: the result is above every timestamp given or merged before and not below the wall clock. A full counter carries
// into the milliseconds. Where the wall clock is not believed, the result is of no use to anybody, and the clock stays where it is: it is right again
// when the wall clock is.
func (c *Clock) Now() Timestamp {
	wall := uint64(c.Wall())
	if c.bound.Load() != nil && c.Sane() != nil {
		return Timestamp(wall)
	}
	for {
		last := c.last.Load()
		next := max(last+1, wall)
		if c.last.CompareAndSwap(last, next) {
			return Timestamp(next)
		}
	}
}

// Observe raises the clock to t without a bound. For timestamps from this node's own log, which were accepted once.
func (c *Clock) Observe(t Timestamp) { raise(&c.last, t) }

// nearClock is how far above its clock a coordinator picks a C at most: its longest lead.
const nearClock = 200 * time.Millisecond

// Pick notes a C that this node's coordinator has picked by this clock, and has the clock not refuse it: where the wall clock was set back, the clock is ahead of it, and what
// is picked above the clock as well. The clock is not raised: C is to stay ahead of it.
func (c *Clock) Pick(C Timestamp) {
	if C.Time().Sub(max(c.Wall(), c.Last()).Time()) <= nearClock {
		raise(&c.picks, C)
	}
}

func raise(v *atomic.Uint64, t Timestamp) {
	for {
		was := v.Load()
		if uint64(t) <= was || v.CompareAndSwap(was, uint64(t)) {
			return
		}
	}
}

// Ahead gives how far a timestamp may be ahead of the receiver's wall clock.
func (c *Clock) Ahead() time.Duration { return c.ahead }

// Believe says between which times this node's wall clock is believed at this moment: a majority of the nodes does not refuse upTo (Check), and is not
// before from. Zero times take the bounds away.
func (c *Clock) Believe(from, upTo time.Time) {
	if upTo.IsZero() {
		c.bound.Store(nil)
		return
	}
	c.bound.Store(&bound{from, upTo, time.Now()})
}

// Sane refuses to go on where this node's wall clock has run away from those of the others: a timestamp of it would be refused by them, and what it
// was written with would be out of their reach.
func (c *Clock) Sane() error {
	b := c.bound.Load()
	if b == nil {
		return nil
	}
	over := c.wall().Sub(b.upTo.Add(time.Since(b.since)))
	if over <= 0 {
		return nil
	}
	return pgerr.New(pgerr.CannotConnectNow, "the clock of this node is ahead of the other nodes' clocks").
		WithDetail("It is %s ahead of those of most nodes; sherd.max_clock_ahead is %s.", (over + c.ahead).Round(time.Millisecond), c.ahead).
		WithHint("Set the clock right. Other nodes serve meanwhile.")
}

// Usable refuses a timestamp that this clock gave, or that is to go into a log, where the clock has run away, or had when it gave it. It is asked after the timestamp was
// made: then one that was made in a jump is refused, whether the clock is right again by now or not.
func (c *Clock) Usable(t Timestamp) error {
	if err := c.Sane(); err != nil {
		return err
	}
	return c.Check(t)
}

// Merge raises the clock to a timestamp carried on a message. One too far ahead of the wall clock is refused, so that a
// jumped clock takes out its own node and not the others.
func (c *Clock) Merge(t Timestamp) error {
	if err := c.Check(t); err != nil {
		return err
	}
	c.Observe(t)
	return nil
}

const aheadOfClock = " is ahead of this node's clock"

// IsAhead tells whether an error is the refusal of a timestamp (Check), here or on another node, or what clients are told of one.
func IsAhead(err error) bool {
	var e *pgerr.Error
	return errors.As(err, &e) && (e.Code == pgerr.InvalidParameterValue || e.Code == pgerr.CannotConnectNow) && strings.HasSuffix(e.Message, aheadOfClock)
}

// Check refuses a timestamp too far ahead of the wall clock, or of where most nodes are if that is behind them.
func (c *Clock) Check(t Timestamp) error {
	wall := c.Wall()
	if b := c.bound.Load(); b != nil {
		wall = max(wall, FromTime(b.from.Add(time.Since(b.since))))
	}
	if t <= wall || uint64(t) <= max(c.last.Load(), c.picks.Load()) || t.Time().Sub(wall.Time()) <= c.ahead {
		return nil
	}
	return pgerr.New(pgerr.InvalidParameterValue, "timestamp %s"+aheadOfClock, t).
		WithDetail("This node's clock is at %s; sherd.max_clock_ahead is %s.", wall, c.ahead).
		WithHint("Set the clocks of the nodes right.")
}
