package types

import (
	"math"

	"github.com/cockroachdb/apd/v3"

	"github.com/sherddb/sherd/internal/pgerr"
)

// NumericPower gives base ^ exp.
func NumericPower(base, exp Datum) (Datum, error) {
	if base.special() || exp.special() {
		return powerSpecial(base, exp)
	}
	if NumericSign(base) == 0 && NumericSign(exp) < 0 {
		return Null, zeroPower()
	}
	whole := NumericMinScale(exp) == 0
	if NumericSign(base) < 0 && !whole {
		return Null, complexPower()
	}
	if whole {
		if n, err := NumericToInt(exp, Int4); err == nil {
			return powerInt(base, int(n), exp.A)
		}
	}
	if NumericSign(base) == 0 {
		return NewNumeric(0, minSigDigits), nil
	}
	odd := false
	if NumericSign(base) < 0 {
		m, err := NumericMod(exp, NewNumeric(2, 0))
		odd = err == nil && NumericSign(m) != 0
		base = NumericNeg(base)
	}
	d, err := powerReal(base, exp)
	if err == nil && odd {
		d = NumericNeg(d)
	}
	return d, err
}

func zeroPower() error {
	return pgerr.New(pgerr.InvalidArgumentForPower, "zero raised to a negative power is undefined")
}

func complexPower() error {
	return pgerr.New(pgerr.InvalidArgumentForPower, "a negative number raised to a non-integer power yields a complex result")
}

// powerSpecial follows POSIX pow() for NaN and infinities, as PostgreSQL does.
func powerSpecial(base, exp Datum) (Datum, error) {
	one := NewNumeric(1, 0)
	switch {
	case base.IsNaN():
		if !exp.special() && NumericSign(exp) == 0 {
			return one, nil
		}
		return numericNaN, nil
	case exp.IsNaN():
		if !base.special() && CompareNumeric(base, one) == 0 {
			return one, nil
		}
		return numericNaN, nil
	}
	sb, se := NumericSign(base), NumericSign(exp)
	if sb == 0 && se < 0 {
		return Null, zeroPower()
	}
	if NumericInfSign(exp) != 0 {
		c := CompareNumeric(NumericAbs(base), one)
		switch {
		case c == 0:
			return one, nil
		case (c > 0) == (se > 0):
			return numericPosInf, nil
		}
		return NewNumeric(0, 0), nil
	}
	// base is infinite
	switch {
	case se == 0:
		return one, nil
	case sb > 0 && se > 0:
		return numericPosInf, nil
	case sb > 0:
		return NewNumeric(0, 0), nil
	}
	if NumericMinScale(exp) != 0 {
		return Null, complexPower()
	}
	if se < 0 {
		return NewNumeric(0, 0), nil
	}
	if m, err := NumericMod(exp, NewNumeric(2, 0)); err == nil && NumericSign(m) != 0 {
		return numericNegInf, nil
	}
	return numericPosInf, nil
}

// powerInt raises to an integer power, with 16 digits after the point or more where the arguments have them.
func powerInt(base Datum, exp int, expScale int32) (Datum, error) {
	weight := 0.0
	if NumericSign(base) != 0 {
		weight = float64(exp) * log10Of(base)
	}
	if weight > 3*math.MaxInt16*4 {
		return Null, numericOverflow()
	}
	scale := clampScale(minSigDigits, base.A, expScale)
	if weight+1 < float64(-scale) {
		return NewNumeric(0, scale), nil
	}
	switch exp {
	case 0:
		return rescale(NewNumeric(1, 0), scale, true)
	case 1:
		return rescale(base, scale, true)
	case -1:
		return numericDivScale(NewNumeric(1, 0), base, scale)
	}
	if NumericSign(base) == 0 {
		return NewNumeric(0, scale), nil
	}
	if weight > 100_000 {
		return Null, numericOverflow()
	}
	z := new(apd.Decimal)
	digits := max(int(weight), 0) + int(scale) + guardDigits + digits64(absU(int64(exp)))
	n := apd.New(int64(exp), 0)
	if _, err := apdContext(digits).Pow(z, toAPD(&base), n); err != nil {
		return Null, apdError(err)
	}
	return fromAPD(z, scale)
}

// log10Of estimates log10 |d| from its first digits.
func log10Of(d Datum) float64 {
	d = NumericAbs(d)
	w, _ := firstGroup(&d)
	lead, err := rescale(d, int32(12-4*w), false)
	if err != nil {
		return 0
	}
	if f, err := NumericToFloat(lead, 64); err == nil && f != 0 && !math.IsInf(f, 0) {
		return math.Log10(f)
	}
	_, first := firstGroup(&d)
	return math.Log10(float64(first)) + float64(4*w)
}

func powerReal(base, exp Datum) (Datum, error) {
	ln, err := lnDigits(base, 24)
	if err != nil {
		return Null, err
	}
	val := new(apd.Decimal)
	if _, err := apdContext(24).Mul(val, ln, toAPD(&exp)); err != nil {
		return Null, apdError(err)
	}
	f, err := val.Float64()
	if err != nil || math.Abs(f) > maxResultScale*3.01 {
		if !val.Negative {
			return Null, numericOverflow()
		}
		return NewNumeric(0, maxDisplayScale), nil
	}
	scale := clampScale(minSigDigits-int(f*log10e), base.A, exp.A)
	digits := int(f*log10e) + int(scale) + guardDigits
	if digits <= 0 {
		return NewNumeric(0, scale), nil
	}
	// ln must be exact to the digits of the result and those of the exponent before its point
	expWeight := len(AppendNumeric(nil, exp))
	if ln, err = lnDigits(base, digits+expWeight); err != nil {
		return Null, err
	}
	c := apdContext(digits + expWeight + 8)
	if _, err := c.Mul(val, ln, toAPD(&exp)); err != nil {
		return Null, apdError(err)
	}
	z := new(apd.Decimal)
	if _, err := c.Exp(z, val); err != nil {
		return Null, apdError(err)
	}
	return fromAPD(z, scale)
}
