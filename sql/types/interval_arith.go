package types

import "math"

// IntervalNeg returns -iv.
func IntervalNeg(iv Datum) (Datum, error) {
	m, d, us := IntervalParts(iv)
	if m == math.MinInt32 || d == math.MinInt32 || us == math.MinInt64 {
		return Null, intervalRange()
	}
	return NewInterval(-m, -d, -us), nil
}

// IntervalAdd returns a + b, field by field.
func IntervalAdd(a, b Datum) (Datum, error) {
	m1, d1, u1 := IntervalParts(a)
	m2, d2, u2 := IntervalParts(b)
	m, d := int64(m1)+int64(m2), int64(d1)+int64(d2)
	us := u1 + u2
	if !fits32(m) || !fits32(d) || (u2 != 0 && (us > u1) != (u2 > 0)) {
		return Null, intervalRange()
	}
	return NewInterval(int32(m), int32(d), us), nil
}

// IntervalSub returns a - b.
func IntervalSub(a, b Datum) (Datum, error) {
	n, err := IntervalNeg(b)
	if err != nil {
		return Null, err
	}
	return IntervalAdd(a, n)
}

// IntervalMul returns iv · f. Fractions of months become days (30 per month), fractions of days
// become time.
func IntervalMul(iv Datum, f float64) (Datum, error) {
	return intervalScale(iv, func(x float64) float64 { return x * f })
}

// IntervalDiv returns iv / f.
func IntervalDiv(iv Datum, f float64) (Datum, error) {
	if f == 0 {
		return Null, DivisionByZero()
	}
	return intervalScale(iv, func(x float64) float64 { return x / f })
}

func roundMicro(x float64) float64 { return math.RoundToEven(x*1e6) / 1e6 }

func intervalScale(iv Datum, by func(float64) float64) (Datum, error) {
	months, days, us := IntervalParts(iv)
	fm, fd := by(float64(months)), by(float64(days))
	if !(math.Abs(fm) <= math.MaxInt32) || !(math.Abs(fd) <= math.MaxInt32) {
		return Null, intervalRange()
	}
	m, d := int64(fm), int64(fd)
	monthDays := roundMicro((fm - float64(m)) * 30)
	const secsPerDay = 86400
	secs := roundMicro((fd - float64(d) + monthDays - math.Trunc(monthDays)) * secsPerDay)
	if math.Abs(secs) >= secsPerDay {
		d += int64(secs / secsPerDay)
		secs -= math.Trunc(secs/secsPerDay) * secsPerDay
	}
	d += int64(monthDays)
	t := math.RoundToEven(by(float64(us)) + secs*float64(usPerSecond))
	if !fits32(d) || !(t >= -1<<63 && t < 1<<63) {
		return Null, intervalRange()
	}
	return NewInterval(int32(m), int32(d), int64(t)), nil
}

// JustifyHours converts each 24 hours to a day.
func JustifyHours(iv Datum) (Datum, error) {
	m, d32, us := IntervalParts(iv)
	d := int64(d32) + us/usPerDay
	us %= usPerDay
	d, us = sameSign(d, us, usPerDay)
	if !fits32(d) {
		return Null, intervalRange()
	}
	return NewInterval(m, int32(d), us), nil
}

// sameSign borrows so that both parts have the same sign.
func sameSign(hi, lo, unit int64) (int64, int64) {
	if hi > 0 && lo < 0 {
		return hi - 1, lo + unit
	}
	if hi < 0 && lo > 0 {
		return hi + 1, lo - unit
	}
	return hi, lo
}

// JustifyDays converts each 30 days to a month.
func JustifyDays(iv Datum) (Datum, error) {
	m, d, us := IntervalParts(iv)
	months, days := sameSign(int64(m)+int64(d/30), int64(d%30), 30)
	if !fits32(months) {
		return Null, intervalRange()
	}
	return NewInterval(int32(months), int32(days), us), nil
}

// JustifyInterval is JustifyHours and JustifyDays, and makes all parts have the same sign.
func JustifyInterval(iv Datum) (Datum, error) {
	m32, d32, us := IntervalParts(iv)
	m, d := int64(m32), int64(d32)+us/usPerDay
	us %= usPerDay
	m, d = m+d/30, d%30
	if m > 0 && (d < 0 || (d == 0 && us < 0)) {
		d += 30
		m--
	} else if m < 0 && (d > 0 || (d == 0 && us > 0)) {
		d -= 30
		m++
	}
	d, us = sameSign(d, us, usPerDay)
	if !fits32(m) {
		return Null, intervalRange()
	}
	return NewInterval(int32(m), int32(d), us), nil
}
