package types

import (
	"math"
	"strconv"

	"github.com/sherddb/sherd/internal/pgerr"
)

func fieldRange(format string, args ...any) error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, format, args...)
}

// MakeDate is make_date; negative years are BC.
func MakeDate(year, month, day int64) (int64, error) {
	y := year
	if y < 0 {
		y++
	}
	bad := year == 0 || month < 1 || month > 12 || day < 1 || y > math.MaxInt32-1
	if bad || day > int64(daysInMonth(int(y), int(month))) {
		return 0, fieldRange("date field value out of range: %d-%02d-%02d", year, month, day)
	}
	c := civil{year: int(y), mon: int(month), day: int(day)}
	if !validJulian(c.year, c.mon) || !validDate(c.days()) {
		return 0, fieldRange("date out of range: %d-%02d-%02d", y, month, day)
	}
	return c.days(), nil
}

// MakeTime is make_time.
func MakeTime(hour, minute int64, sec float64) (int64, error) {
	bad := sec != sec || hour < 0 || hour > 24 || minute < 0 || minute > 59
	us := math.RoundToEven(sec * 1e6)
	if bad || us < 0 || us > 60e6 || hour*usPerHour+minute*usPerMinute+int64(us) > usPerDay {
		return 0, fieldRange("time field value out of range: %d:%02d:%s", hour, minute, padG(sec))
	}
	return hour*usPerHour + minute*usPerMinute + int64(us), nil
}

// padG is C's %02g.
func padG(f float64) string {
	if f != f || math.IsInf(f, 0) {
		return string(appendFloat(nil, f, 64, nil))
	}
	s := string(appendFloatG(nil, f, 32, 0))
	if len(s) < 2 {
		s = "0" + s
	}
	return s
}

// MakeTimestamp is make_timestamp, in local time.
func MakeTimestamp(year, month, day, hour, minute int64, sec float64) (int64, error) {
	date, err := MakeDate(year, month, day)
	if err != nil {
		return 0, err
	}
	t, err := MakeTime(hour, minute, sec)
	if err != nil {
		return 0, err
	}
	if us := date*usPerDay + t; date <= 106751990 && validTimestamp(us) {
		return us, nil
	}
	return 0, fieldRange("timestamp out of range: %d-%02d-%02d %d:%02d:%s", year, month, day, hour, minute, padG(sec))
}

// MakeInterval is make_interval.
func MakeInterval(years, months, weeks, days, hours, mins int64, secs float64) (Datum, error) {
	m, d := years*12+months, weeks*7+days
	us := math.RoundToEven(secs * 1e6)
	base := hours*usPerHour + mins*usPerMinute
	if !fits32(m) || !fits32(d) || !(math.Abs(us) < 1<<63) {
		return Null, intervalRange()
	}
	total, ok := AddInt(base, int64(us))
	if !ok && us != 0 {
		return Null, intervalRange()
	}
	return NewInterval(int32(m), int32(d), total), nil
}

// TimestampFromEpoch is to_timestamp(double precision): seconds since 1970.
func TimestampFromEpoch(sec float64) (int64, error) {
	switch {
	case sec != sec:
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp cannot be NaN")
	case math.IsInf(sec, 1):
		return tsInfinity, nil
	case math.IsInf(sec, -1):
		return tsNegInfinity, nil
	}
	const least = -210866803200.0 // seconds of the first timestamp
	if sec < least || sec >= 9224318016000.0 {
		return 0, fieldRange("timestamp out of range: \"%s\"", strconv.FormatFloat(sec, 'g', 6, 64))
	}
	us := math.RoundToEven((sec - float64(unixToPostgres)) * 1e6)
	if n := int64(us); validTimestamp(n) {
		return n, nil
	}
	return 0, fieldRange("timestamp out of range: \"%s\"", strconv.FormatFloat(sec, 'g', 6, 64))
}
