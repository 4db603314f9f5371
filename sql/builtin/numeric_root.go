package builtin

import (
	"math/big"
	"strings"

	"github.com/sherddb/sherd/sql/types"
)

// bigOf returns a finite numeric as coefficient and scale.
func bigOf(d types.Datum) (coefficient *big.Int, scale int32) {
	scale, _ = types.NumericScale(d)
	if d.S == "" {
		return big.NewInt(d.N), scale
	}
	coefficient, _ = new(big.Int).SetString(strings.Replace(string(types.AppendNumeric(nil, d)), ".", "", 1), 10)
	return coefficient, scale
}

// numericOf returns the numeric of a coefficient and a scale.
func numericOf(c *big.Int, scale int32) (types.Datum, error) {
	if c.IsInt64() {
		return types.NewNumeric(c.Int64(), scale), nil
	}
	digits := new(big.Int).Abs(c).String()
	if missing := int(scale) + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - int(scale)
	s := digits[:point]
	if scale > 0 {
		s += "." + digits[point:]
	}
	if c.Sign() < 0 {
		s = "-" + s
	}
	return types.ParseNumeric(s)
}

func pow10(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// numericSqrtScale returns the square root of a finite number that is not negative, rounded to a
// scale.
func numericSqrtScale(d types.Datum, scale int32) (types.Datum, error) {
	c, s := bigOf(d)
	// One digit more than needed, and an even number of digits after the point. Whether the root is
	// exact does not affect rounding: a tie at that digit is only possible if the root is exact.
	shift := 2*(scale+1) - s
	if shift < 0 {
		c.Quo(c, pow10(-shift))
	} else {
		c.Mul(c, pow10(shift))
	}
	root := c.Sqrt(c)
	root.Add(root, big.NewInt(5))
	return numericOf(root.Quo(root, big.NewInt(10)), scale)
}
