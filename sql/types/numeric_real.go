package types

import (
	"math"
	"math/big"

	"github.com/cockroachdb/apd/v3"
)

// Exponentials and powers of a numeric can need a larger exponent than apd has (100,000), so they
// are computed as binary floats with enough bits.

const bitsOfDigit = 3.3219280948873626 // log2(10)

// bitsFor returns the precision that holds a number of decimal digits, with room for the errors of
// some thousand steps.
func bitsFor(digits int) uint { return uint(float64(max(digits, 20))*bitsOfDigit) + 64 }

// toFloat returns a finite numeric, rounded to bits.
func toFloat(d *Datum, bits uint) *big.Float {
	x := new(big.Float).SetPrec(bits).SetInt(d.coefficient(new(big.Int)))
	if d.A == 0 {
		return x
	}
	return x.Quo(x, new(big.Float).SetPrec(bits).SetInt(bigPow10(d.A)))
}

// fromFloat rounds half away from zero to the scale.
func fromFloat(x *big.Float, scale int32) (Datum, error) {
	y := new(big.Float).SetPrec(x.Prec()+8).Mul(x, new(big.Float).SetInt(bigPow10(scale)))
	half := big.NewFloat(0.5)
	if y.Signbit() {
		half.Neg(half)
	}
	if y.MantExp(nil) > 0 {
		y.SetPrec(max(y.Prec(), uint(y.MantExp(nil))+2))
	}
	c, _ := y.Add(y, half).Int(nil)
	return numericOf(c, scale)
}

// expFloat returns e^x: the Taylor series of x / 2^k, squared k times.
func expFloat(x *big.Float) *big.Float {
	const small = 16 // the series is of an argument below 2^-small
	k := max(x.MantExp(nil)+small, 0)
	bits := x.Prec() + uint(k) + 16
	r := new(big.Float).SetPrec(bits).SetMantExp(new(big.Float).SetPrec(bits).Set(x), -k)
	sum := new(big.Float).SetPrec(bits).SetInt64(1)
	term := new(big.Float).SetPrec(bits).SetInt64(1)
	for i := int64(1); term.Sign() != 0 && term.MantExp(nil) > -int(bits); i++ {
		term.Mul(term, r)
		term.Quo(term, new(big.Float).SetInt64(i))
		sum.Add(sum, term)
	}
	for range k {
		sum.Mul(sum, sum)
	}
	return sum
}

// powFloat returns base^n.
func powFloat(base *big.Float, n int64) *big.Float {
	z := new(big.Float).SetPrec(base.Prec()).SetInt64(1)
	b := new(big.Float).Copy(base)
	for u := absU(n); u > 0; u >>= 1 {
		if u&1 != 0 {
			z.Mul(z, b)
		}
		if u > 1 {
			b.Mul(b, b)
		}
	}
	if n < 0 {
		z.Quo(new(big.Float).SetInt64(1), z)
	}
	return z
}

// lnDigits returns ln(d) to a number of decimal digits.
func lnDigits(d Datum, digits int) (*apd.Decimal, error) {
	const far = 1000 // d is far from 1 above this, and its last digits do not matter
	ctx := apdContext(digits + 8)
	x, z := toAPD(&d), new(apd.Decimal)
	n := int(x.NumDigits())
	k := int64(n) - 1 - int64(d.A)
	if -far < k && k < far {
		_, err := ctx.Ln(z, x)
		return z, apdError(err)
	}
	// ln(m · 10^k) = ln(m) + k · ln(10)
	if drop := n - digits - 8; drop > 0 {
		c := d.coefficient(new(big.Int))
		x.Coeff.SetMathBigInt(c.Quo(c, bigPow10(int32(drop))))
		n -= drop
	}
	x.Exponent = int32(1 - n)
	if _, err := ctx.Ln(z, x); err != nil {
		return z, apdError(err)
	}
	ten := new(apd.Decimal)
	if _, err := ctx.Ln(ten, apd.New(10, 0)); err != nil {
		return z, apdError(err)
	}
	if _, err := ctx.Mul(ten, ten, apd.New(k, 0)); err != nil {
		return z, apdError(err)
	}
	_, err := ctx.Add(z, z, ten)
	return z, apdError(err)
}

// apdFloat returns an apd decimal as a binary float.
func apdFloat(x *apd.Decimal, bits uint) *big.Float {
	c := x.Coeff.MathBigInt()
	if x.Negative {
		c.Neg(c)
	}
	f := new(big.Float).SetPrec(bits).SetInt(c)
	switch {
	case x.Exponent < 0:
		f.Quo(f, new(big.Float).SetPrec(bits).SetInt(bigPow10(-x.Exponent)))
	case x.Exponent > 0:
		f.Mul(f, new(big.Float).SetPrec(bits).SetInt(bigPow10(x.Exponent)))
	}
	return f
}

// exactPower returns base^n for a small positive n, all digits kept; ok is false if they are too
// many.
func exactPower(base Datum, n int) (c *big.Int, scale int64, ok bool) {
	const most = 1 << 20 // bits
	c = base.coefficient(new(big.Int))
	if n < 0 || float64(c.BitLen())*float64(n) > most || int64(base.A)*int64(n) > math.MaxInt32/2 {
		return nil, 0, false
	}
	return c.Exp(c, big.NewInt(int64(n)), nil), int64(base.A) * int64(n), true
}
