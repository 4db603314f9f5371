package types

import (
	"math"
	"math/big"

	"github.com/sherddb/sherd/internal/pgerr"
)

// NumericPower returns base ^ exp.
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
			return powerInt(base, int(n))
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
	return pgerr.New(pgerr.InvalidArgumentForPower,
		"a negative number raised to a non-integer power yields a complex result")
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

// powerInt raises to an integer power, with 16 digits after the point or the scale of the base.
func powerInt(base Datum, exp int) (Datum, error) {
	weight := 0.0
	if NumericSign(base) != 0 {
		weight = float64(exp) * log10Of(base)
	}
	if weight > maxNumericIntDigits {
		return Null, numericOverflow()
	}
	scale := clampScale(minSigDigits, base.A)
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
	if c, have, ok := exactPower(base, exp); ok {
		if have > int64(scale) {
			return numericOf(divRound(c, bigPow10(int32(have)-scale)), scale)
		}
		return numericOf(c.Mul(c, bigPow10(scale-int32(have))), scale)
	}
	digits := max(int(weight), 0) + int(scale) + guardDigits + digits64(absU(int64(exp)))
	return fromFloat(powFloat(toFloat(&base, bitsFor(digits)), int64(exp)), scale)
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
	val := apdFloat(ln, bitsFor(24))
	f, _ := val.Mul(val, toFloat(&exp, bitsFor(24))).Float64()
	if math.Abs(f) > maxResultScale*3.01 {
		if f > 0 {
			return Null, numericOverflow()
		}
		return NewNumeric(0, maxDisplayScale), nil
	}
	scale := clampScale(minSigDigits-int(f*log10e), base.A, exp.A)
	digits := int(f*log10e) + int(scale) + guardDigits
	if digits <= 0 {
		return NewNumeric(0, scale), nil
	}
	// The product is below 10^4: it needs the digits of the result and four more.
	if ln, err = lnDigits(base, digits+guardDigits); err != nil {
		return Null, err
	}
	bits := bitsFor(digits + guardDigits)
	return fromFloat(expFloat(new(big.Float).SetPrec(bits).Mul(apdFloat(ln, bits), toFloat(&exp, bits))), scale)
}
