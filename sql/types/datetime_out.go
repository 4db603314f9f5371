package types

var monthAbbrevs = [13]string{"", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
var dayAbbrevs = [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

func append2(dst []byte, n int) []byte {
	if uint(n) > 99 { // a damaged value
		return AppendInt(dst, int64(n))
	}
	return append(dst, digitPairs[2*n], digitPairs[2*n+1])
}

// appendYear appends the year of the era with at least four digits.
func appendYear(dst []byte, year int) []byte {
	if year <= 0 {
		year = 1 - year
	}
	if year < 10000 {
		return append2(append2(dst, year/100), year%100)
	}
	return AppendInt(dst, int64(year))
}

func appendEra(dst []byte, year int) []byte {
	if year <= 0 {
		dst = append(dst, " BC"...)
	}
	return dst
}

func appendClock(dst []byte, c *civil) []byte {
	dst = append2(dst, c.hour)
	dst = append2(append(dst, ':'), c.min)
	dst = append2(append(dst, ':'), c.sec)
	return appendFraction(dst, c.usec)
}

// appendFraction appends microseconds without trailing zeros.
func appendFraction(dst []byte, usec int) []byte {
	if usec == 0 {
		return dst
	}
	dst = append(dst, '.')
	dst = append2(append2(append2(dst, usec/10000), usec/100%100), usec%100)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// appendOffset appends an offset given in seconds west: +hh[:mm[:ss]].
func appendOffset(dst []byte, west int32) []byte {
	sign, n := byte('-'), int(west)
	if west <= 0 {
		sign, n = '+', -n
	}
	dst = append2(append(dst, sign), n/3600)
	if n%3600 != 0 {
		dst = append2(append(dst, ':'), n/60%60)
		if n%60 != 0 {
			dst = append2(append(dst, ':'), n%60)
		}
	}
	return dst
}

func appendDate(dst []byte, days int64, env *Env) []byte {
	switch days {
	case dateInfinity:
		return append(dst, "infinity"...)
	case dateNegInfinity:
		return append(dst, "-infinity"...)
	}
	var c civil
	c.setDay(days)
	return appendEra(appendDay(dst, &c, env, '-'), c.year)
}

// appendDay appends a date in the session's style; postgresDelim separates the parts in the
// Postgres style.
func appendDay(dst []byte, c *civil, env *Env, postgresDelim byte) []byte {
	first, second := c.mon, c.day
	if env.DateOrder == OrderDMY {
		first, second = c.day, c.mon
	}
	switch env.DateFormat {
	case DateSQL:
		return appendThree(dst, first, second, c.year, '/')
	case DateGerman:
		return appendThree(dst, c.day, c.mon, c.year, '.')
	case DatePostgres:
		return appendThree(dst, first, second, c.year, postgresDelim)
	}
	dst = appendYear(dst, c.year)
	dst = append2(append(dst, '-'), c.mon)
	return append2(append(dst, '-'), c.day)
}

func appendThree(dst []byte, a, b, year int, delim byte) []byte {
	dst = append(append2(dst, a), delim)
	dst = append(append2(dst, b), delim)
	return appendYear(dst, year)
}

func appendTime(dst []byte, us int64) []byte {
	var c civil
	c.setMicros(us)
	return appendClock(dst, &c)
}

func appendTimeTZ(dst []byte, d Datum) []byte { return appendOffset(appendTime(dst, d.N), d.A) }

func appendInfinity(dst []byte, n int64) []byte {
	if n == tsNegInfinity {
		dst = append(dst, '-')
	}
	return append(dst, "infinity"...)
}

func appendTimestamp(dst []byte, us int64, env *Env) []byte {
	if !finiteTS(us) {
		return appendInfinity(dst, us)
	}
	c := civilOf(us)
	return appendDateTime(dst, &c, false, env)
}

func appendTimestampTZ(dst []byte, us int64, env *Env) []byte {
	if !finiteTS(us) {
		return appendInfinity(dst, us)
	}
	c := civilIn(us, env.location())
	return appendDateTime(dst, &c, true, env)
}

func appendDateTime(dst []byte, c *civil, zoned bool, env *Env) []byte {
	if env.DateFormat == DatePostgres {
		return appendPostgresDateTime(dst, c, zoned, env)
	}
	dst = appendDay(dst, c, env, '-')
	dst = appendClock(append(dst, ' '), c)
	if zoned {
		if env.DateFormat == DateISO {
			dst = appendOffset(dst, c.west)
		} else {
			dst = appendZoneName(dst, c)
		}
	}
	return appendEra(dst, c.year)
}

// appendZoneName appends the zone's abbreviation, which is an offset for many zones.
func appendZoneName(dst []byte, c *civil) []byte { return append(append(dst, ' '), c.zone...) }

// appendPostgresDateTime appends "Day Mon DD HH:MM:SS YYYY ZONE".
func appendPostgresDateTime(dst []byte, c *civil, zoned bool, env *Env) []byte {
	dst = append(dst, dayAbbrevs[weekday(julianDay(c.year, c.mon, c.day))]...)
	dst = append(dst, ' ')
	if env.DateOrder == OrderDMY {
		dst = append(append2(dst, c.day), ' ')
		dst = append(dst, monthAbbrevs[c.mon]...)
	} else {
		dst = append(append(dst, monthAbbrevs[c.mon]...), ' ')
		dst = append2(dst, c.day)
	}
	dst = appendClock(append(dst, ' '), c)
	dst = appendYear(append(dst, ' '), c.year)
	if zoned {
		dst = appendZoneName(dst, c)
	}
	return appendEra(dst, c.year)
}
