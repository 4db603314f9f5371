package builtin

import (
	"math"
	"time"

	"github.com/sherddb/sherd/sql/types"
)

const (
	usSecond  = int64(1_000_000)
	epochUnix = int64(946684800) // 2000-01-01 in Unix seconds
)

func isInfinite(us int64) bool { return us == math.MaxInt64 || us == math.MinInt64 }

// zone returns the session's time zone.
func (c *Ctx) zone() *time.Location {
	if c.Env == nil || c.Env.Zone == nil {
		return time.UTC
	}
	return c.Env.Zone
}

// now returns the start of the transaction.
func (c *Ctx) now() int64 {
	if c.Env == nil {
		return types.TimestampOf(time.Now())
	}
	return c.Env.Now
}

// zoneOf returns the time zone for argument i: the session's for timestamptz, nil for timestamp.
func (c *Ctx) zoneOf(i int) *time.Location {
	if c.argType(i) == types.TimestampTZ {
		return c.zone()
	}
	return nil
}

// compareDate compares a date with a timestamp, or with an instant if loc is given. A date beyond
// the range of timestamps lies between the finite ones and an infinity.
func compareDate(date, timestamp types.Datum, loc *time.Location) int {
	us, err := types.DateToTimestamp(date.N, loc)
	switch {
	case err != nil && date.N < 0 && timestamp.N == math.MinInt64:
		return 1
	case err != nil && date.N < 0:
		return -1
	case err != nil && timestamp.N == math.MaxInt64:
		return -1
	case err != nil:
		return 1
	}
	return int(order(us, timestamp.N))
}

func compareDateTimestamp(_ *Ctx, date, timestamp types.Datum) (int, error) {
	return compareDate(date, timestamp, nil), nil
}

func compareDateTimestampTZ(c *Ctx, date, instant types.Datum) (int, error) {
	return compareDate(date, instant, c.zone()), nil
}

func compareTimestampTZ(c *Ctx, local, instant types.Datum) (int, error) {
	return int(order(types.LocalToUTC(local.N, c.zone()), instant.N)), nil
}
