package jsonpath

import (
	"strings"

	"github.com/cockroachdb/apd/v3"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
)

// binary evaluates an arithmetic operator with two operands; each must yield a single number.
func (e *evaluation) binary(n *node, it item, out *list) result {
	lefts, res := e.sequence(n.left, it, true)
	if res == failed {
		return failed
	}
	rights, res := e.sequence(n.right, it, true)
	if res == failed {
		return failed
	}
	if len(lefts) != 1 || !lefts[0].isNumber() {
		return e.fail(
			codeSingleton, "left operand of jsonpath operator %s is not a single numeric value", symbols[n.op],
		)
	}
	if len(rights) != 1 || !rights[0].isNumber() {
		return e.fail(
			codeSingleton, "right operand of jsonpath operator %s is not a single numeric value", symbols[n.op],
		)
	}
	v, err := calculate(n.op, lefts[0].doc, rights[0].doc)
	if err != nil {
		if e.throw {
			e.abort(err)
		}
		return failed
	}
	return e.follow(n, docItem(v), out)
}

// sign evaluates the unary + and - on each item of the operand.
func (e *evaluation) sign(n *node, it item, out *list) result {
	operands, res := e.sequence(n.left, it, true)
	if res == failed {
		return failed
	}
	res = nothing
	for _, v := range operands {
		if !v.isNumber() {
			if out == nil && n.next == nil {
				continue
			}
			return e.fail(codeNoNumber, "operand of unary jsonpath operator %s is not a numeric value", symbols[n.op])
		}
		if n.op == opMinus {
			v = docItem(negate(v.doc))
		}
		switch e.follow(n, v, out) {
		case failed:
			return failed
		case matched:
			if out == nil {
				return matched
			}
			res = matched
		}
	}
	return res
}

func negate(d jsonb.Doc) jsonb.Doc {
	s, _ := d.NumberText()
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		s = rest
	} else {
		s = "-" + s
	}
	return number(s)
}

// number makes a number of text known to be within numeric's bounds.
func number(s string) jsonb.Doc {
	d, err := jsonb.OfNumber(s)
	if err != nil {
		return jsonb.NullDoc
	}
	return d
}

func decimal(d jsonb.Doc) (*apd.Decimal, error) {
	s, _ := d.NumberText()
	v, _, err := apd.NewFromString(s)
	if err != nil {
		return nil, pgerr.New(pgerr.DataCorrupted, "damaged jsonb value: number")
	}
	return v, nil
}

// calculate computes as PostgreSQL's numeric does, with its rules for the scale of the result.
func calculate(o op, left, right jsonb.Doc) (jsonb.Doc, error) {
	a, err := decimal(left)
	if err != nil {
		return "", err
	}
	b, err := decimal(right)
	if err != nil {
		return "", err
	}
	r := new(apd.Decimal)
	switch o {
	case opAdd:
		_, err = apd.BaseContext.Add(r, a, b)
	case opSub:
		_, err = apd.BaseContext.Sub(r, a, b)
	case opMul:
		_, err = apd.BaseContext.Mul(r, a, b)
		if err == nil && r.Exponent < -maxScale {
			r = quotient(r, apd.New(1, 0), maxScale)
		}
	case opDiv, opMod:
		if b.IsZero() {
			return "", pgerr.New(pgerr.DivisionByZero, "division by zero")
		}
		if o == opDiv {
			r = quotient(a, b, quotientScale(a, b))
		} else {
			r = remainder(a, b)
		}
	}
	if err != nil {
		return "", pgerr.New(pgerr.NumericValueOutOfRange, "value overflows numeric format")
	}
	return jsonb.OfNumber(r.Text('f'))
}

// maxScale is numeric's largest number of digits after the decimal point.
const maxScale = 16383

// quotientScale chooses the digits after the decimal point of a quotient: at least 16 significant
// ones, counted in numeric's digits of base 10000, and no fewer than either operand has.
func quotientScale(a, b *apd.Decimal) int32 {
	aw, af := leading(a)
	bw, bf := leading(b)
	weight := aw - bw
	if af <= bf {
		weight--
	}
	scale := max(16-weight*4, -a.Exponent, -b.Exponent, 0)
	return min(scale, 1000)
}

// leading returns the weight and value of the first non-zero digit in base 10000.
func leading(d *apd.Decimal) (weight, digit int32) {
	if d.IsZero() {
		return 0, 0
	}
	s := d.Coeff.String()
	point := int32(len(s)) + d.Exponent // decimal digits before the point
	weight = (point+3)>>2 - 1           // rounds down, also below zero
	n := point - weight*4               // of them in the first base-10000 digit
	for i := int32(0); i < n; i++ {
		digit *= 10
		if i < int32(len(s)) {
			digit += int32(s[i] - '0')
		}
	}
	return weight, digit
}

// quotient divides to scale digits after the point, half away from zero.
func quotient(a, b *apd.Decimal, scale int32) *apd.Decimal {
	var num, den, rem apd.BigInt
	num.Set(&a.Coeff)
	den.Set(&b.Coeff)
	if shift := scale + a.Exponent - b.Exponent; shift >= 0 {
		num.Mul(&num, power(shift))
	} else {
		den.Mul(&den, power(-shift))
	}
	r := &apd.Decimal{Exponent: -scale, Negative: a.Negative != b.Negative}
	r.Coeff.QuoRem(&num, &den, &rem)
	rem.Mul(&rem, apd.NewBigInt(2))
	if rem.Cmp(&den) >= 0 {
		r.Coeff.Add(&r.Coeff, apd.NewBigInt(1))
	}
	return r
}

// remainder has the sign of the dividend.
func remainder(a, b *apd.Decimal) *apd.Decimal {
	var x, y apd.BigInt
	exponent := min(a.Exponent, b.Exponent)
	x.Mul(&a.Coeff, power(a.Exponent-exponent))
	y.Mul(&b.Coeff, power(b.Exponent-exponent))
	r := &apd.Decimal{Exponent: exponent, Negative: a.Negative}
	r.Coeff.Rem(&x, &y)
	return r
}

func power(n int32) *apd.BigInt {
	return new(apd.BigInt).Exp(apd.NewBigInt(10), apd.NewBigInt(int64(n)), nil)
}

// round returns the whole number below (floor) or above.
func round(d jsonb.Doc, floor bool) jsonb.Doc {
	s, _ := d.NumberText()
	whole, frac, _ := strings.Cut(s, ".")
	negative := strings.HasPrefix(s, "-")
	if strings.Trim(frac, "0") == "" || negative != floor {
		return number(whole)
	}
	v, err := calculate(opAdd, number(strings.TrimPrefix(whole, "-")), jsonb.OfInt64(1))
	if err != nil {
		return d
	}
	if negative {
		return negate(v)
	}
	return v
}
