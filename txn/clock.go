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

// Clock is a node's hybrid logical clock. Correctness does not depend on its accuracy; the closer
// the clocks of the nodes, the fewer commits have to try a larger C.
type Clock struct {
	wall  func() time.Time
	ahead time.Duration
	last  atomic.Uint64
	picks atomic.Uint64 // the largest C picked by this clock
	bound atomic.Pointer[bound]
}

// bound limits the wall-clock times that are accepted. The limits advance with the monotonic clock
// since they were set, whatever the wall clock shows.
type bound struct {
	from, upTo time.Time
	since      time.Time // with Go's monotonic reading
}

// NewClock makes a clock over wall (nil: time.Now) that refuses timestamps more than ahead above it
// (0: the default).
func NewClock(wall func() time.Time, ahead time.Duration) *Clock {
	if wall == nil {
		wall = time.Now
	}
	if ahead == 0 {
		ahead = DefaultMaxClockAhead
	}
	return &Clock{wall: wall, ahead: ahead}
}

// Wall returns the wall clock's time as a timestamp, without moving the clock.
func (c *Clock) Wall() Timestamp { return FromTime(c.wall()) }

// Last returns the largest timestamp seen or issued.
func (c *Clock) Last() Timestamp { return Timestamp(c.last.Load()) }

// Now ticks: the result is above every timestamp issued or merged before and not below the wall
// clock. A full counter carries into the milliseconds. If the wall clock is out of its bounds, the
// result is not usable, and the clock does not move: it is right again when the wall clock is.
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

// Observe raises the clock to t without a bound. It is for timestamps from this node's own log,
// which were checked before they were logged.
func (c *Clock) Observe(t Timestamp) { raise(&c.last, t) }

// nearClock is how far above its clock a coordinator may pick a C that Pick records: its longest
// lead.
const nearClock = 200 * time.Millisecond

// Pick records a C that this node's coordinator has picked by this clock, so that Check accepts it:
// after the wall clock was set back, the clock is ahead of it, and so is a C picked above the
// clock. The clock is not raised, because C is to stay ahead of it.
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

// Ahead returns how far a timestamp may be ahead of the receiver's wall clock.
func (c *Clock) Ahead() time.Duration { return c.ahead }

// Believe sets the bounds of this node's wall clock at this moment: a majority of the nodes does
// not refuse upTo (Check), and is not before from. A zero upTo removes the bounds.
func (c *Clock) Believe(from, upTo time.Time) {
	if upTo.IsZero() {
		c.bound.Store(nil)
		return
	}
	c.bound.Store(&bound{from, upTo, time.Now()})
}

// Sane returns an error if this node's wall clock has run ahead of those of the others: other nodes
// would refuse its timestamps, and could not reach what is written with them.
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
		WithDetail(
			"It is %s ahead of those of most nodes; sherd.max_clock_ahead is %s.",
			(over + c.ahead).Round(time.Millisecond), c.ahead,
		).
		WithHint("Set the clock right. Other nodes serve meanwhile.")
}

// Usable returns an error for a timestamp of this clock, or one that is to go into a log, if the
// clock has run ahead or had when it issued it. The caller calls it after the timestamp was made:
// then a timestamp made during a jump is refused, even if the clock is right again.
func (c *Clock) Usable(t Timestamp) error {
	if err := c.Sane(); err != nil {
		return err
	}
	return c.Check(t)
}

// Merge raises the clock to a timestamp from a message. It refuses one too far ahead of the wall
// clock, so that a clock that has jumped affects its own node only.
func (c *Clock) Merge(t Timestamp) error {
	if err := c.Check(t); err != nil {
		return err
	}
	c.Observe(t)
	return nil
}

const aheadOfClock = " is ahead of this node's clock"

// IsAhead reports whether an error is the refusal of a timestamp (Check), here or on another node,
// or the client's error made from one.
func IsAhead(err error) bool {
	var e *pgerr.Error
	return errors.As(err, &e) && (e.Code == pgerr.InvalidParameterValue || e.Code == pgerr.CannotConnectNow) &&
		strings.HasSuffix(e.Message, aheadOfClock)
}

// Check refuses a timestamp too far ahead of the wall clock, or of most nodes' clocks if the wall
// clock is behind them.
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
