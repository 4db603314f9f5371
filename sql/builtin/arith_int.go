package builtin

import (
	"math"
	"math/bits"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// arithmeticInt has + - * / % and related functions for integers. A name ends in the widths of its
// operands: int24pl adds int2 and int4. The result of two widths is checked against the wider one,
// as in PostgreSQL.
var arithmeticInt = map[string]Func{
	"int2pl": int2pl, "int4pl": int4pl, "int24pl": int4pl, "int42pl": int4pl,
	"int8pl": int8pl, "int28pl": int8pl, "int82pl": int8pl, "int48pl": int8pl, "int84pl": int8pl,
	"int2mi": int2mi, "int4mi": int4mi, "int24mi": int4mi, "int42mi": int4mi,
	"int8mi": int8mi, "int28mi": int8mi, "int82mi": int8mi, "int48mi": int8mi, "int84mi": int8mi,
	"int2mul": int2mul, "int4mul": int4mul, "int24mul": int4mul, "int42mul": int4mul,
	"int8mul": int8mul, "int28mul": int8mul, "int82mul": int8mul, "int48mul": int8mul, "int84mul": int8mul,
	"int2div": int2div, "int4div": int4div, "int24div": int4div, "int42div": int4div,
	"int8div": int8div, "int28div": int8div, "int82div": int8div, "int48div": int8div, "int84div": int8div,
	"int2mod": intMod, "int4mod": intMod, "int8mod": intMod,
	"int2um": int2um, "int4um": int4um, "int8um": int8um,
	"int2up": identity, "int4up": identity, "int8up": identity,
	"int2abs": int2abs, "int4abs": int4abs, "int8abs": int8abs,
	"int4inc": int4inc, "int8inc": int8inc, "int8dec": int8dec,
	"int4gcd": int4gcd, "int8gcd": int8gcd, "int4lcm": int4lcm, "int8lcm": int8lcm,
}

func identity(_ *Ctx, a []types.Datum) (types.Datum, error) { return a[0], nil }

func divisionByZero() error { return pgerr.New(pgerr.DivisionByZero, "division by zero") }
func int2Range() error      { return pgerr.New(pgerr.NumericValueOutOfRange, "smallint out of range") }
func int4Range() error      { return pgerr.New(pgerr.NumericValueOutOfRange, "integer out of range") }
func int8Range() error      { return pgerr.New(pgerr.NumericValueOutOfRange, "bigint out of range") }

func asInt2(n int64) (types.Datum, error) {
	if n != int64(int16(n)) {
		return types.Null, int2Range()
	}
	return types.NewInt(n), nil
}

func asInt4(n int64) (types.Datum, error) {
	if n != int64(int32(n)) {
		return types.Null, int4Range()
	}
	return types.NewInt(n), nil
}

func int2pl(_ *Ctx, a []types.Datum) (types.Datum, error)  { return asInt2(a[0].N + a[1].N) }
func int4pl(_ *Ctx, a []types.Datum) (types.Datum, error)  { return asInt4(a[0].N + a[1].N) }
func int2mi(_ *Ctx, a []types.Datum) (types.Datum, error)  { return asInt2(a[0].N - a[1].N) }
func int4mi(_ *Ctx, a []types.Datum) (types.Datum, error)  { return asInt4(a[0].N - a[1].N) }
func int2mul(_ *Ctx, a []types.Datum) (types.Datum, error) { return asInt2(a[0].N * a[1].N) }
func int4mul(_ *Ctx, a []types.Datum) (types.Datum, error) { return asInt4(a[0].N * a[1].N) }
func int2um(_ *Ctx, a []types.Datum) (types.Datum, error)  { return asInt2(-a[0].N) }
func int4um(_ *Ctx, a []types.Datum) (types.Datum, error)  { return asInt4(-a[0].N) }
func int4inc(_ *Ctx, a []types.Datum) (types.Datum, error) { return asInt4(a[0].N + 1) }
func int8inc(_ *Ctx, a []types.Datum) (types.Datum, error) { return addInt8(a[0].N, 1) }
func int8dec(_ *Ctx, a []types.Datum) (types.Datum, error) { return subInt8(a[0].N, 1) }
func int8pl(_ *Ctx, a []types.Datum) (types.Datum, error)  { return addInt8(a[0].N, a[1].N) }
func int8mi(_ *Ctx, a []types.Datum) (types.Datum, error)  { return subInt8(a[0].N, a[1].N) }
func int8um(_ *Ctx, a []types.Datum) (types.Datum, error)  { return subInt8(0, a[0].N) }

func addInt8(x, y int64) (types.Datum, error) {
	s := x + y
	if (s > x) != (y > 0) && y != 0 {
		return types.Null, int8Range()
	}
	return types.NewInt(s), nil
}

func subInt8(x, y int64) (types.Datum, error) {
	s := x - y
	if (s < x) != (y > 0) && y != 0 {
		return types.Null, int8Range()
	}
	return types.NewInt(s), nil
}

func int8mul(_ *Ctx, a []types.Datum) (types.Datum, error) {
	n, ok := mulInt8(a[0].N, a[1].N)
	if !ok {
		return types.Null, int8Range()
	}
	return types.NewInt(n), nil
}

// mulInt8 multiplies; ok is false on overflow.
func mulInt8(x, y int64) (n int64, ok bool) {
	if int64(int32(x)) == x && int64(int32(y)) == y {
		return x * y, true
	}
	hi, lo := bits.Mul64(magnitude(x), magnitude(y))
	if hi != 0 {
		return 0, false
	}
	if (x < 0) != (y < 0) {
		return -int64(lo), lo <= 1<<63
	}
	return int64(lo), lo < 1<<63
}

// magnitude returns |x|, also for MinInt64.
func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func int2div(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[1].N == 0 {
		return types.Null, divisionByZero()
	}
	return asInt2(a[0].N / a[1].N)
}

func int4div(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[1].N == 0 {
		return types.Null, divisionByZero()
	}
	return asInt4(a[0].N / a[1].N)
}

func int8div(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[1].N == 0 {
		return types.Null, divisionByZero()
	}
	if a[1].N == -1 {
		return subInt8(0, a[0].N)
	}
	return types.NewInt(a[0].N / a[1].N), nil
}

func intMod(_ *Ctx, a []types.Datum) (types.Datum, error) {
	switch a[1].N {
	case 0:
		return types.Null, divisionByZero()
	case -1:
		return types.NewInt(0), nil
	}
	return types.NewInt(a[0].N % a[1].N), nil
}

func int2abs(_ *Ctx, a []types.Datum) (types.Datum, error) { return asInt2(abs(a[0].N)) }
func int4abs(_ *Ctx, a []types.Datum) (types.Datum, error) { return asInt4(abs(a[0].N)) }

func int8abs(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].N == math.MinInt64 {
		return types.Null, int8Range()
	}
	return types.NewInt(abs(a[0].N)), nil
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

func gcd(x, y uint64) uint64 {
	for y != 0 {
		x, y = y, x%y
	}
	return x
}

func int4gcd(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return asInt4(int64(gcd(magnitude(a[0].N), magnitude(a[1].N))))
}

func int8gcd(_ *Ctx, a []types.Datum) (types.Datum, error) {
	g := gcd(magnitude(a[0].N), magnitude(a[1].N))
	if g > math.MaxInt64 {
		return types.Null, int8Range()
	}
	return types.NewInt(int64(g)), nil
}

func int4lcm(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := magnitude(a[0].N), magnitude(a[1].N)
	if x == 0 || y == 0 {
		return types.NewInt(0), nil
	}
	return asInt4(int64(x / gcd(x, y) * y))
}

func int8lcm(_ *Ctx, a []types.Datum) (types.Datum, error) {
	x, y := magnitude(a[0].N), magnitude(a[1].N)
	if x == 0 || y == 0 {
		return types.NewInt(0), nil
	}
	hi, lo := bits.Mul64(x/gcd(x, y), y)
	if hi != 0 || lo > math.MaxInt64 {
		return types.Null, int8Range()
	}
	return types.NewInt(int64(lo)), nil
}
