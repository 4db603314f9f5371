package txn

import (
	"fmt"
	"time"
)

// Timestamp is a hybrid logical time: 48 bits of milliseconds since 1970, 16 bits of counter. Zero
// is before everything.
type Timestamp uint64

const counterBits = 16

// MaxTimestamp is above every timestamp.
const MaxTimestamp = Timestamp(1<<64 - 1)

// FromTime returns the smallest timestamp of t's millisecond.
func FromTime(t time.Time) Timestamp {
	ms := t.UnixMilli()
	if ms < 0 {
		return 0
	}
	return Timestamp(ms) << counterBits
}

// Time returns the wall-clock part, to the millisecond.
func (t Timestamp) Time() time.Time { return time.UnixMilli(int64(t >> counterBits)).UTC() }

// Counter returns the logical part.
func (t Timestamp) Counter() int { return int(t & (1<<counterBits - 1)) }

// Add moves t by d, to the millisecond; the counter stays.
func (t Timestamp) Add(d time.Duration) Timestamp {
	return t + Timestamp(d.Milliseconds())<<counterBits
}

// String returns the time in UTC and the counter: 2026-11-21 06:00:00.000Z+7.
func (t Timestamp) String() string {
	return fmt.Sprintf("%s+%d", t.Time().Format("2006-01-02 15:04:05.000Z"), t.Counter())
}
