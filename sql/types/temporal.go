package types

import (
	"encoding/binary"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Units of microseconds and of dates.
const (
	usPerSecond = int64(1_000_000)
	usPerMinute = 60 * usPerSecond
	usPerHour   = 60 * usPerMinute
	usPerDay    = 24 * usPerHour

	postgresEpochJDate = 2451545 // 2000-01-01
	unixEpochJDate     = 2440588
	unixToPostgres     = int64(postgresEpochJDate-unixEpochJDate) * 86400 // seconds
)

// NewInterval returns an interval of months, days and microseconds.
func NewInterval(months, days int32, micros int64) Datum {
	d := Datum{K: KindInterval, A: months, N: micros}
	if days != 0 {
		d.S = dayString(days)
	}
	return d
}

func dayString(days int32) string {
	if 0 < days && days <= 31 {
		return smallDays[4*(days-1) : 4*days]
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(days))
	return string(b[:])
}

const smallDays = "\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x04\x00\x00\x00\x05\x00\x00\x00\x06" +
	"\x00\x00\x00\x07\x00\x00\x00\x08\x00\x00\x00\x09\x00\x00\x00\x0a\x00\x00\x00\x0b\x00\x00\x00\x0c" +
	"\x00\x00\x00\x0d\x00\x00\x00\x0e\x00\x00\x00\x0f\x00\x00\x00\x10\x00\x00\x00\x11\x00\x00\x00\x12" +
	"\x00\x00\x00\x13\x00\x00\x00\x14\x00\x00\x00\x15\x00\x00\x00\x16\x00\x00\x00\x17\x00\x00\x00\x18" +
	"\x00\x00\x00\x19\x00\x00\x00\x1a\x00\x00\x00\x1b\x00\x00\x00\x1c\x00\x00\x00\x1d\x00\x00\x00\x1e" +
	"\x00\x00\x00\x1f"

// days returns the days of an interval.
func (d *Datum) days() int32 {
	if len(d.S) < 4 {
		return 0
	}
	return int32(uint32(d.S[0])<<24 | uint32(d.S[1])<<16 | uint32(d.S[2])<<8 | uint32(d.S[3]))
}

// IntervalParts returns the parts of an interval.
func IntervalParts(d Datum) (months, days int32, micros int64) { return d.A, d.days(), d.N }

// Limits of dates (days since 2000-01-01) and timestamps (microseconds since then).
const (
	dateInfinity    = int64(1<<31 - 1)
	dateNegInfinity = -int64(1 << 31)
	minDate         = int64(-postgresEpochJDate)             // 4714-11-24 BC
	endDate         = int64(2147483494 - postgresEpochJDate) // 5874898-06-03
	tsInfinity      = int64(1<<63 - 1)
	tsNegInfinity   = int64(-1 << 63)
	minTimestamp    = int64(-211813488000000000)
	endTimestamp    = int64(9223371331200000000)
)

// NewDate returns a date from days since 2000-01-01.
func NewDate(days int64) Datum { return Datum{K: KindDate, N: days} }

// NewTime returns a time from microseconds since midnight.
func NewTime(micros int64) Datum { return Datum{K: KindTime, N: micros} }

// NewTimeTZ returns a time with time zone; the zone is in seconds west of UTC.
func NewTimeTZ(micros int64, west int32) Datum { return Datum{K: KindTimeTZ, A: west, N: micros} }

// NewTimestamp returns a timestamp, or a timestamptz in UTC, from microseconds since 2000-01-01.
func NewTimestamp(micros int64) Datum { return Datum{K: KindTimestamp, N: micros} }

func finiteDate(n int64) bool { return n != dateInfinity && n != dateNegInfinity }

func finiteTS(n int64) bool { return n != tsInfinity && n != tsNegInfinity }

func validDate(n int64) bool { return !finiteDate(n) || (minDate <= n && n < endDate) }

func validTimestamp(n int64) bool { return !finiteTS(n) || (minTimestamp <= n && n < endTimestamp) }

func timestampRange() error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range")
}

func dateRange() error { return pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range") }

// TimestampOf returns the timestamp of a Go time, in microseconds.
func TimestampOf(t time.Time) int64 { return t.UnixMicro() - unixToPostgres*usPerSecond }
