package types

// ivParts is an interval in the units in which it is printed.
type ivParts struct {
	year, mon, day int64
	hour           int64
	min, sec, fsec int64
}

func partsOf(d Datum) ivParts {
	us := d.N
	p := ivParts{year: int64(d.A / 12), mon: int64(d.A % 12), day: int64(d.days())}
	p.hour, us = us/usPerHour, us%usPerHour
	p.min, us = us/usPerMinute, us%usPerMinute
	p.sec, p.fsec = us/usPerSecond, us%usPerSecond
	return p
}

func (p *ivParts) timeNegative() bool { return p.hour < 0 || p.min < 0 || p.sec < 0 || p.fsec < 0 }

func (p *ivParts) timeZero() bool { return p.hour == 0 && p.min == 0 && p.sec == 0 && p.fsec == 0 }

func appendInterval(dst []byte, d Datum, env *Env) []byte {
	p := partsOf(d)
	switch env.IntervalFormat {
	case IntervalSQL:
		return p.appendSQL(dst)
	case IntervalISO:
		return p.appendISO(dst)
	case IntervalPostgresVerbose:
		return p.appendVerbose(dst)
	}
	return p.appendPostgres(dst)
}

func appendPadded(dst []byte, n int64) []byte {
	n = absInt(n)
	if n < 10 {
		dst = append(dst, '0')
	}
	return AppendInt(dst, n)
}

func (p *ivParts) appendSeconds(dst []byte, fill bool) []byte {
	if fill {
		dst = appendPadded(dst, p.sec)
	} else {
		dst = AppendInt(dst, absInt(p.sec))
	}
	return appendFraction(dst, int(absInt(p.fsec)))
}

func (p *ivParts) appendPostgres(dst []byte) []byte {
	zero, before := true, false
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if !zero {
			dst = append(dst, ' ')
		}
		if before && n > 0 {
			dst = append(dst, '+')
		}
		dst = append(append(AppendInt(dst, n), ' '), unit...)
		if n != 1 {
			dst = append(dst, 's')
		}
		zero, before = false, n < 0
	}
	part(p.year, "year")
	part(p.mon, "mon")
	part(p.day, "day")
	if !zero && p.timeZero() {
		return dst
	}
	if !zero {
		dst = append(dst, ' ')
	}
	if p.timeNegative() {
		dst = append(dst, '-')
	} else if before {
		dst = append(dst, '+')
	}
	dst = append(appendPadded(dst, p.hour), ':')
	dst = append(appendPadded(dst, p.min), ':')
	return p.appendSeconds(dst, true)
}

func (p *ivParts) appendISO(dst []byte) []byte {
	if p.year == 0 && p.mon == 0 && p.day == 0 && p.timeZero() {
		return append(dst, "PT0S"...)
	}
	part := func(n int64, unit byte) {
		if n != 0 {
			dst = append(AppendInt(dst, n), unit)
		}
	}
	dst = append(dst, 'P')
	part(p.year, 'Y')
	part(p.mon, 'M')
	part(p.day, 'D')
	if !p.timeZero() {
		dst = append(dst, 'T')
	}
	part(p.hour, 'H')
	part(p.min, 'M')
	if p.sec != 0 || p.fsec != 0 {
		if p.sec < 0 || p.fsec < 0 {
			dst = append(dst, '-')
		}
		dst = append(p.appendSeconds(dst, false), 'S')
	}
	return dst
}

func (p *ivParts) appendVerbose(dst []byte) []byte {
	zero, before := true, false
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if zero {
			before = n < 0
			n = absInt(n)
		} else if before {
			n = -n
		}
		dst = append(append(AppendInt(append(dst, ' '), n), ' '), unit...)
		if n != 1 {
			dst = append(dst, 's')
		}
		zero = false
	}
	dst = append(dst, '@')
	part(p.year, "year")
	part(p.mon, "mon")
	part(p.day, "day")
	part(p.hour, "hour")
	part(p.min, "min")
	if p.sec != 0 || p.fsec != 0 {
		dst = append(dst, ' ')
		if p.sec < 0 || (p.sec == 0 && p.fsec < 0) {
			if zero {
				before = true
			} else if !before {
				dst = append(dst, '-')
			}
		} else if before {
			dst = append(dst, '-')
		}
		dst = append(p.appendSeconds(dst, false), " sec"...)
		if absInt(p.sec) != 1 || p.fsec != 0 {
			dst = append(dst, 's')
		}
		zero = false
	}
	if zero {
		dst = append(dst, " 0"...)
	}
	if before {
		dst = append(dst, " ago"...)
	}
	return dst
}

func (p *ivParts) appendSQL(dst []byte) []byte {
	neg := p.year < 0 || p.mon < 0 || p.day < 0 || p.timeNegative()
	pos := p.year > 0 || p.mon > 0 || p.day > 0 || p.hour > 0 || p.min > 0 || p.sec > 0 || p.fsec > 0
	yearMonth := p.year != 0 || p.mon != 0
	dayTime := p.day != 0 || !p.timeZero()
	if !neg && !pos {
		return append(dst, '0')
	}
	if (neg && pos) || (yearMonth && dayTime) {
		sign := func(minus bool) {
			if minus {
				dst = append(dst, '-')
			} else {
				dst = append(dst, '+')
			}
		}
		sign(p.year < 0 || p.mon < 0)
		dst = append(AppendInt(dst, absInt(p.year)), '-')
		dst = append(AppendInt(dst, absInt(p.mon)), ' ')
		sign(p.day < 0)
		dst = append(AppendInt(dst, absInt(p.day)), ' ')
		sign(p.timeNegative())
		return p.appendSQLTime(dst)
	}
	if neg {
		dst = append(dst, '-')
	}
	if yearMonth {
		dst = append(AppendInt(dst, absInt(p.year)), '-')
		return AppendInt(dst, absInt(p.mon))
	}
	if p.day != 0 {
		dst = append(AppendInt(dst, absInt(p.day)), ' ')
	}
	return p.appendSQLTime(dst)
}

func (p *ivParts) appendSQLTime(dst []byte) []byte {
	dst = append(AppendInt(dst, absInt(p.hour)), ':')
	dst = append(appendPadded(dst, p.min), ':')
	return p.appendSeconds(dst, true)
}
