package types

import (
	"github.com/sherddb/sherd/internal/pgerr"
)

// datetimeError returns PostgreSQL's error for a failure; typeName is the short name of the type.
func datetimeError(e dtError, typeName, s, zone string) error {
	switch e {
	case dtOverflow:
		return pgerr.New(pgerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", s)
	case dtMonthDayOverflow:
		return pgerr.New(pgerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", s).
			WithHint("Perhaps you need a different \"datestyle\" setting.")
	case dtIntervalOverflow:
		return pgerr.New(pgerr.IntervalFieldOverflow, "interval field value out of range: \"%s\"", s)
	case dtZoneOverflow:
		return pgerr.New("22009", "time zone displacement out of range: \"%s\"", s)
	case dtZoneName:
		return zoneError(zone)
	}
	return pgerr.New(pgerr.InvalidDatetimeFormat, "invalid input syntax for type %s: \"%s\"", typeName, s)
}

func decodeDateTime(s, typeName string, timeOnly bool, env *Env) (*dateDecoder, error) {
	p := &dateDecoder{env: env, timeOnly: timeOnly}
	var e dtError
	if p.fields, e = scanDateTime(s); e == dtOK {
		e = p.run()
	}
	if e != dtOK {
		return nil, datetimeError(e, typeName, s, p.badZone)
	}
	return p, nil
}

// isoDate is a fast path that parses yyyy-mm-dd.
func isoDate(s string, c *civil) bool {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' || !allDigits(s[:4]) || !allDigits(s[5:7]) || !allDigits(s[8:10]) {
		return false
	}
	c.year = int(s[0]-'0')*1000 + int(s[1]-'0')*100 + int(s[2]-'0')*10 + int(s[3]-'0')
	c.mon = int(s[5]-'0')*10 + int(s[6]-'0')
	c.day = int(s[8]-'0')*10 + int(s[9]-'0')
	return c.year > 0 && 1 <= c.mon && c.mon <= 12 && 1 <= c.day && c.day <= daysInMonth(c.year, c.mon)
}

// isoClock parses hh:mm:ss after a date, and returns the rest.
func isoClock(s string, c *civil) bool {
	if len(s) != 9 || (s[0] != ' ' && s[0] != 'T') || s[3] != ':' || s[6] != ':' || !allDigits(s[1:3]) ||
		!allDigits(s[4:6]) || !allDigits(s[7:9]) {
		return false
	}
	c.hour = int(s[1]-'0')*10 + int(s[2]-'0')
	c.min = int(s[4]-'0')*10 + int(s[5]-'0')
	c.sec = int(s[7]-'0')*10 + int(s[8]-'0')
	return c.hour < 24 && c.min < 60 && c.sec < 60
}

func parseDate(s string, env *Env) (Datum, error) {
	var c civil
	if len(s) == 10 && isoDate(s, &c) {
		return NewDate(c.days()), nil
	}
	p, err := decodeDateTime(s, "date", false, env)
	if err != nil {
		return Null, err
	}
	switch p.special {
	case resInfinity:
		return NewDate(dateInfinity), nil
	case resNegInfinity:
		return NewDate(dateNegInfinity), nil
	case resEpoch:
		return NewDate(-unixToPostgres / 86400), nil
	}
	if !validJulian(p.tm.year, p.tm.mon) || !validDate(p.tm.days()) {
		return Null, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range: \"%s\"", s)
	}
	return NewDate(p.tm.days()), nil
}

func parseTimestamp(s string, env *Env) (Datum, error) {
	var c civil
	if len(s) == 19 && isoDate(s, &c) && isoClock(s[10:], &c) {
		us, _ := c.timestamp()
		return NewTimestamp(us), nil
	}
	return parseTimestampText(s, "timestamp", false, env)
}

func parseTimestampTZ(s string, env *Env) (Datum, error) {
	return parseTimestampText(s, "timestamp with time zone", true, env)
}

func parseTimestampText(s, typeName string, zoned bool, env *Env) (Datum, error) {
	p, err := decodeDateTime(s, typeName, false, env)
	if err != nil {
		return Null, err
	}
	switch p.special {
	case resInfinity:
		return NewTimestamp(tsInfinity), nil
	case resNegInfinity:
		return NewTimestamp(tsNegInfinity), nil
	case resEpoch:
		return NewTimestamp(-unixToPostgres * usPerSecond), nil
	}
	west := int32(0)
	if zoned {
		west = p.tm.west
	}
	us, ok := p.tm.instant(west)
	if !ok {
		return Null, pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range: \"%s\"", s)
	}
	return NewTimestamp(us), nil
}

func parseTime(s string, env *Env) (Datum, error) {
	p, err := decodeDateTime(s, "time", true, env)
	if err != nil {
		return Null, err
	}
	return NewTime(p.tm.micros()), nil
}

func parseTimeTZ(s string, env *Env) (Datum, error) {
	p, err := decodeDateTime(s, "time with time zone", true, env)
	if err != nil {
		return Null, err
	}
	return NewTimeTZ(p.tm.micros(), p.tm.west), nil
}

var microUnit = [7]int64{1000000, 100000, 10000, 1000, 100, 10, 1}

// roundMicros rounds to precision digits of a second, half away from zero.
func roundMicros(us int64, precision int32) int64 {
	if precision < 0 || precision > 5 {
		return us
	}
	unit := microUnit[precision]
	if us >= 0 {
		return (us + unit/2) / unit * unit
	}
	return -((-us + unit/2) / unit * unit)
}

func applyTimestampTypmod(typmod int32, d Datum) (Datum, error) {
	if finiteTS(d.N) {
		d.N = roundMicros(d.N, typmod)
	}
	return d, nil
}
