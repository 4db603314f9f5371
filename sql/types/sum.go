package types

import (
	"math/big"
	"math/bits"
)

// IntSum adds integers exactly in 128 bits: sum and avg of int8. The zero IntSum is 0.
type IntSum struct {
	hi int64
	lo uint64
	N  int64 // values added
}

// Add adds n.
func (s *IntSum) Add(n int64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, uint64(n), 0)
	s.hi += n>>63 + int64(carry)
	s.N++
}

// Numeric returns the sum.
func (s *IntSum) Numeric() Datum {
	if s.hi == int64(s.lo)>>63 {
		return NewNumeric(int64(s.lo), 0)
	}
	v := new(big.Int).Lsh(big.NewInt(s.hi), 64)
	return bigNumeric(v.Add(v, new(big.Int).SetUint64(s.lo)), 0)
}

// NumericSum adds numerics exactly. Its scale is the greatest scale added. The zero NumericSum is
// 0.
type NumericSum struct {
	small         int64 // at scale, while big is nil
	scale         int32
	big           *big.Int
	N             int64
	nan, pos, neg int64 // special values seen
}

// Add adds d, which must not be null.
func (s *NumericSum) Add(d Datum) {
	s.N++
	if d.S == "" && s.big == nil {
		if d.A == s.scale {
			if n, ok := AddInt(s.small, d.N); ok {
				s.small = n
				return
			}
		} else if s.addScaled(d) {
			return
		}
	}
	s.addSlow(d)
}

func (s *NumericSum) addScaled(d Datum) bool {
	acc := NewNumeric(s.small, s.scale)
	x, y, ok := alignSmall(&acc, &d)
	if !ok {
		return false
	}
	n, ok := AddInt(x, y)
	if ok {
		s.small, s.scale = n, max(s.scale, d.A)
	}
	return ok
}

func (s *NumericSum) addSlow(d Datum) {
	if d.special() {
		switch NumericInfSign(d) {
		case 1:
			s.pos++
		case -1:
			s.neg++
		default:
			s.nan++
		}
		return
	}
	if s.big == nil {
		s.big = big.NewInt(s.small)
	}
	c := d.coefficient(new(big.Int))
	switch {
	case d.A < s.scale:
		c.Mul(c, bigPow10(s.scale-d.A))
	case d.A > s.scale:
		s.big.Mul(s.big, bigPow10(d.A-s.scale))
		s.scale = d.A
	}
	s.big.Add(s.big, c)
}

// Merge adds another sum.
func (s *NumericSum) Merge(o *NumericSum) {
	n := s.N + o.N
	part := NewNumeric(o.small, o.scale)
	if o.big != nil {
		part = bigNumeric(o.big, o.scale)
	}
	s.Add(part)
	s.N, s.nan, s.pos, s.neg = n, s.nan+o.nan, s.pos+o.pos, s.neg+o.neg
}

// Sum returns the sum.
func (s *NumericSum) Sum() (Datum, error) {
	switch {
	case s.nan > 0 || (s.pos > 0 && s.neg > 0):
		return numericNaN, nil
	case s.pos > 0:
		return numericPosInf, nil
	case s.neg > 0:
		return numericNegInf, nil
	case s.big != nil:
		return numericOf(s.big, s.scale)
	}
	return NewNumeric(s.small, s.scale), nil
}
