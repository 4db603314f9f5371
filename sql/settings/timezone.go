package settings

import (
	"strconv"
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// checkTimeZone returns the usual spelling of a time zone: hours east of UTC, INTERVAL '…', a name
// in any case, or a POSIX specification.
func checkTimeZone(parameter, value string) (string, error) {
	invalid := pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "%s": "%s"`, parameter, value)
	east, numeric := 0, false
	if len(value) >= 8 && strings.EqualFold(value[:8], "interval") {
		text, ok := intervalConstant(value[8:])
		if !ok {
			return "", invalid
		}
		d, err := types.Input(types.Interval, -1, text, nil)
		if err != nil {
			return "", err
		}
		months, days, micros := types.IntervalParts(d)
		switch {
		case months != 0:
			return "", invalid.WithDetail("Cannot specify months in time zone interval.")
		case days != 0:
			return "", invalid.WithDetail("Cannot specify days in time zone interval.")
		}
		east, numeric = int(micros/1_000_000), true
	} else if hours, ok := zoneHours(value); ok {
		east, numeric = int(hours*3600), true
	}
	if numeric {
		if limit := 168 * 3600; east <= -limit || east >= limit {
			return "", invalid.WithDetail("UTC timezone offset is out of range.")
		}
		_, name := types.FixedZone(east)
		value = name
	}
	loc, name, ok := types.LoadZone(value)
	if !ok {
		return "", invalid
	}
	if _, off := time.Unix(946684800, 0).In(loc).Zone(); off%60 != 0 { // of the year 2000
		return "", pgerr.New(pgerr.InvalidParameterValue, `time zone "%s" appears to use leap seconds`, value).
			WithDetail("PostgreSQL does not support leap seconds.")
	}
	return name, nil
}

// intervalConstant returns the text of the constant that follows INTERVAL.
func intervalConstant(s string) (string, bool) {
	s, ok := strings.CutPrefix(strings.TrimSpace(s), "'")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, "'")
}

// zoneHours reads a number as C's strtod does.
func zoneHours(s string) (float64, bool) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	if strings.ContainsAny(s, "_nN") { // no infinities, no underscores
		return 0, false
	}
	if low := strings.ToLower(s); strings.Contains(low, "0x") && !strings.Contains(low, "p") {
		s += "p0"
	}
	h, err := strconv.ParseFloat(s, 64)
	return h, err == nil || h != 0 && strings.Contains(err.Error(), "range")
}
