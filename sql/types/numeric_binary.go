package types

import (
	"encoding/binary"
	"math/big"
	"strings"
)

// Sign words of the binary form.
const (
	wirePos    = 0x0000
	wireNeg    = 0x4000
	wireNaN    = 0xC000
	wirePosInf = 0xD000
	wireNegInf = 0xF000

	wireInfScale = 0x20 // what PostgreSQL sends as the scale of an infinity
)

// numeric parses digits(2) weight(2) sign(2) scale(2) and base-10000 digits.
func (r *binReader) numeric() (Datum, error) {
	n, weight, sign, scale := int(r.uint16()), int(int16(r.uint16())), r.uint16(), int32(r.uint16())
	switch sign {
	case wireNaN:
		return numericNaN, nil
	case wirePosInf:
		return numericPosInf, nil
	case wireNegInf:
		return numericNegInf, nil
	case wirePos, wireNeg:
	default:
		return Null, badBinary("invalid sign in external \"numeric\" value")
	}
	if scale > maxNumericScale {
		return Null, badBinary("invalid scale in external \"numeric\" value")
	}
	if 2*n > len(r.b) {
		r.short = true
		return Null, nil
	}
	digits := make([]byte, 0, 4*n)
	for range n {
		g := r.uint16()
		if g >= 10000 {
			return Null, badBinary("invalid digit in external \"numeric\" value")
		}
		digits = append(digits, '0'+byte(g/1000), '0'+byte(g/100%10), '0'+byte(g/10%10), '0'+byte(g%10))
	}
	have := int64(4 * (n - weight - 1)) // digits after the point
	d, err := buildWide(strings.TrimLeft(string(digits), "0"), have, sign == wireNeg)
	if err != nil {
		return Null, err
	}
	return rescale(d, scale, false)
}

// buildWide is buildNumeric for digits that may extend beyond the greatest scale.
func buildWide(digits string, scale int64, neg bool) (Datum, error) {
	if over := scale - maxNumericScale; over > 0 {
		digits = digits[:max(len(digits)-int(over), 0)]
		scale = maxNumericScale
	}
	return buildNumeric(digits, scale, neg)
}

func appendSendNumeric(dst []byte, d Datum) []byte {
	if d.special() {
		sign := uint64(wireNaN) << 16
		switch NumericInfSign(d) {
		case 1:
			sign = wirePosInf<<16 | wireInfScale
		case -1:
			sign = wireNegInf<<16 | wireInfScale
		}
		return binary.BigEndian.AppendUint64(dst, sign)
	}
	digits := NumericAbs(d)
	text := digits.coefficient(new(big.Int)).String()
	if text == "0" {
		text = ""
	}
	// Pad to whole groups of four around the point.
	if pad := (4 - int(d.A)%4) % 4; pad > 0 {
		text += strings.Repeat("0", pad)
	}
	fracGroups := (int(d.A) + 3) / 4
	if pad := (4 - len(text)%4) % 4; pad > 0 {
		text = strings.Repeat("0", pad) + text
	}
	weight := len(text)/4 - fracGroups - 1
	for strings.HasPrefix(text, "0000") {
		text, weight = text[4:], weight-1
	}
	for strings.HasSuffix(text, "0000") {
		text = text[:len(text)-4]
	}
	sign := uint16(wirePos)
	if text == "" {
		weight = 0
	} else if NumericSign(d) < 0 {
		sign = wireNeg
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(text)/4))
	dst = binary.BigEndian.AppendUint16(dst, uint16(weight))
	dst = binary.BigEndian.AppendUint16(dst, sign)
	dst = binary.BigEndian.AppendUint16(dst, uint16(d.A))
	for i := 0; i < len(text); i += 4 {
		g := uint16(text[i]-'0')*1000 + uint16(text[i+1]-'0')*100 + uint16(text[i+2]-'0')*10 + uint16(text[i+3]-'0')
		dst = binary.BigEndian.AppendUint16(dst, g)
	}
	return dst
}
