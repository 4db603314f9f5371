package builtin

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/sql/types"
)

// numberToChar has to_char of numbers.
var numberToChar = map[string]Func{
	"int4_to_char": int4NumberToChar, "int8_to_char": int8ToChar, "numeric_to_char": numericToChar,
	"float4_to_char": floatToChar(32, 6), "float8_to_char": floatToChar(64, 15),
}

func int8ToChar(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return formatNumber(types.NumericFromInt(a[0].N), a[1].S)
}

// int4NumberToChar formats exponents as for a float8, like PostgreSQL.
func int4NumberToChar(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if t, err := parseNumberTemplate(a[1].S); a[1].S != "" && err == nil && t.exponent {
		return floatExponent(float64(a[0].N), t.post), nil
	}
	return formatNumber(types.NumericFromInt(a[0].N), a[1].S)
}

// floatExponent formats a finite float as 1.23e+04.
func floatExponent(x float64, post int) types.Datum {
	s := strconv.FormatFloat(x, 'e', post, 64)
	if x >= 0 {
		s = " " + s
	}
	return types.NewText(s)
}

func numericToChar(_ *Ctx, a []types.Datum) (types.Datum, error) { return formatNumber(a[0], a[1].S) }

func formatNumber(d types.Datum, template string) (types.Datum, error) {
	if template == "" {
		return types.NewText(""), nil
	}
	t, err := parseNumberTemplate(template)
	if err != nil {
		return types.Null, err
	}
	switch {
	case t.roman:
		return t.romanNumber(d)
	case t.exponent:
		return scientific(d, t.post)
	}
	if t.v {
		power, err := numericOf(pow10(int32(t.multi)), 0)
		if err != nil {
			return types.Null, err
		}
		if d, err = types.NumericMul(d, power); err != nil {
			return types.Null, err
		}
		t.pre += t.multi
	}
	if d, err = types.NumericRound(d, int32(t.post)); err != nil {
		return types.Null, err
	}
	return types.NewText(t.format(types.Output(types.Numeric, d, nil))), nil
}

// floatToChar returns to_char for a float type, with at most the type's digits.
func floatToChar(bits, digits int) Func {
	return func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		if a[1].S == "" {
			return types.NewText(""), nil
		}
		t, err := parseNumberTemplate(a[1].S)
		if err != nil {
			return types.Null, err
		}
		x := a[0].Float()
		if t.roman || t.exponent && (math.IsNaN(x) || math.IsInf(x, 0)) {
			d, err := types.NumericFromFloat(x, bits)
			if err != nil {
				return types.Null, err
			}
			return formatNumber(d, a[1].S)
		}
		if t.exponent {
			return floatExponent(x, t.post), nil
		}
		if t.v {
			x *= math.Pow(10, float64(t.multi))
			t.pre += t.multi
		}
		whole := len(strconv.FormatFloat(math.Abs(x), 'f', 0, 64))
		if whole >= digits {
			t.post = 0
		} else {
			t.post = min(t.post, digits-whole)
		}
		text := strconv.FormatFloat(x, 'f', t.post, 64)
		if math.IsInf(x, 0) {
			text = strings.Replace(strings.TrimPrefix(text, "+"), "Inf", "Infinity", 1)
		}
		return types.NewText(t.format(text)), nil
	}
}

// numberWriter writes one number into a template: PostgreSQL's NUM_processor.
type numberWriter struct {
	t         *numberTemplate
	out       strings.Builder
	number    string // digits with a point, without sign
	negative  bool
	at        int // of the next digit
	current   int // fields so far
	count     int
	spaces    int // fields before the first digit
	relevant  int // last digit to show; -1 means all
	wroteSign bool
	inNumber  bool
}

// format formats a number, which is decimal text rounded to the template's digits.
func (t *numberTemplate) format(text string) string {
	w := &numberWriter{t: t, relevant: -1}
	w.number, w.negative = strings.CutPrefix(text, "-")
	whole, _, _ := strings.Cut(w.number, ".")
	switch {
	case len(whole) < t.pre:
		w.spaces = t.pre - len(whole)
	case len(whole) > t.pre:
		w.number = strings.Repeat("#", t.pre) + "." + strings.Repeat("#", t.post)
	}
	w.prepare()
	for _, n := range t.nodes {
		w.node(n)
	}
	return w.out.String()
}

func (w *numberWriter) prepare() {
	t := w.t
	if t.zeroStart > 0 {
		t.zeroStart--
	}
	if t.plus || t.minus {
		w.wroteSign = !t.plus || t.minus
	} else {
		if !w.negative && t.fill {
			t.bracket = false
		}
		w.wroteSign = !w.negative && t.fill && !t.lsign
		if t.signBefore && t.pre == t.preSign {
			t.signBefore, t.signAfter = false, true
		}
	}
	w.count = t.post + t.pre - 1
	if t.fill && t.decimal {
		w.relevant = lastRelevant(w.number)
		if w.relevant >= 0 && t.zeroEnd > w.spaces {
			w.relevant = max(w.relevant, min(len(w.number)-1, t.zeroEnd-w.spaces))
		}
	}
	if !w.wroteSign && w.spaces == 0 {
		w.count++
	}
}

// lastRelevant returns the position of the last digit after the point that is not zero, or of the
// point; -1 without a point.
func lastRelevant(number string) int {
	point := strings.IndexByte(number, '.')
	last := point
	for i := point + 1; point >= 0 && i < len(number); i++ {
		if number[i] != '0' {
			last = i
		}
	}
	return last
}

func (w *numberWriter) node(n numberNode) {
	blank := func() {
		if !w.t.fill {
			w.out.WriteByte(' ')
		}
	}
	switch n.key {
	case "":
		w.out.WriteString(n.literal)
	case "9", "0", ".", "D":
		w.digit(n.key)
	case ",", "G":
		if w.inNumber {
			w.out.WriteByte(',')
		} else {
			blank()
		}
	case "L":
		w.out.WriteByte(' ') // the C locale has no currency symbol
	case "TH":
		if w.negative || w.t.decimal || w.number[0] == '#' {
			return
		}
		suffix := "TH"
		if n.lower {
			suffix = "th"
		}
		w.out.WriteString(ordinalOf(w.number, suffix))
	case "MI":
		if w.negative {
			w.out.WriteByte('-')
		} else {
			blank()
		}
	case "PL":
		if !w.negative {
			w.out.WriteByte('+')
		} else {
			blank()
		}
	case "SG":
		w.out.WriteByte(w.signOr('+'))
	}
}

func (w *numberWriter) signOr(plus byte) byte {
	if w.negative {
		return '-'
	}
	return plus
}

// zeroHidden reports whether a single zero before the point is left blank: 9.9 shows 0.1 as .1.
func (w *numberWriter) zeroHidden() bool {
	return !w.t.zero && w.at == 0 && w.number[0] == '0' && w.t.post != 0
}

func (w *numberWriter) endsAtPoint() bool { return w.relevant >= 0 && w.number[w.relevant] == '.' }

func (w *numberWriter) digit(key string) {
	t := w.t
	w.inNumber = false
	if !w.wroteSign && (w.current >= w.spaces || t.zero && t.zeroStart == w.current) &&
		(!w.zeroHidden() || w.endsAtPoint()) {
		w.sign()
	}
	switch {
	case w.current < w.spaces && (t.zeroStart > w.current || !t.zero):
		if !t.fill {
			w.out.WriteByte(' ')
		}
	case t.zero && w.current < w.spaces:
		w.out.WriteByte('0')
		w.inNumber = true
	default:
		w.numeral(key)
		if w.at < len(w.number) {
			w.at++
		}
	}
	w.closing()
	w.current++
}

func (w *numberWriter) sign() {
	t := w.t
	switch {
	case t.lsign:
		if t.signBefore {
			w.out.WriteByte(w.signOr('+'))
			w.wroteSign = true
		}
	case t.bracket:
		w.out.WriteByte(map[bool]byte{true: '<', false: ' '}[w.negative])
		w.wroteSign = true
	default:
		if w.negative {
			w.out.WriteByte('-')
		} else if !t.fill {
			w.out.WriteByte(' ')
		}
		w.wroteSign = true
	}
}

// numeral writes the next digit or the point.
func (w *numberWriter) numeral(key string) {
	switch {
	case w.at >= len(w.number):
	case w.number[w.at] == '.':
		w.out.WriteByte('.')
	case w.relevant >= 0 && w.at > w.relevant && key != "0":
	case w.zeroHidden():
		if !w.t.fill {
			w.out.WriteByte(' ')
		} else if w.endsAtPoint() {
			w.out.WriteByte('0')
		}
	default:
		w.out.WriteByte(w.number[w.at])
		w.inNumber = true
	}
}

// closing writes the text after the last digit.
func (w *numberWriter) closing() {
	t := w.t
	end := w.count
	if w.spaces > 0 {
		end++
	}
	if t.decimal {
		end++
	}
	if w.relevant >= 0 && w.relevant == w.at {
		end = w.current
	}
	if w.current+1 != end {
		return
	}
	switch {
	case w.wroteSign && t.bracket:
		w.out.WriteByte(map[bool]byte{true: '>', false: ' '}[w.negative])
	case t.lsign && t.signAfter:
		w.out.WriteByte(w.signOr('+'))
	}
}

// romanNumber formats 1 … 3999, right-aligned in 15 columns.
func (t *numberTemplate) romanNumber(d types.Datum) (types.Datum, error) {
	n, err := types.NumericToInt(d, types.Int4)
	if err != nil {
		return types.Null, err
	}
	s := strings.Repeat("#", 15)
	if n > 0 && n < 4000 {
		s = ""
		for _, r := range []struct {
			value int64
			text  string
		}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"},
			{9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
			for ; n >= r.value; n -= r.value {
				s += r.text
			}
		}
	}
	var b strings.Builder
	for _, node := range t.nodes {
		switch {
		case node.key == "":
			b.WriteString(node.literal)
		case node.key == "RN":
			text := s
			if node.lower {
				text = strings.ToLower(s)
			}
			if !t.fill {
				text = fmt.Sprintf("%15s", text)
			}
			b.WriteString(text)
		}
	}
	return types.NewText(b.String()), nil
}

// scientific formats d as d.ddde+XX with post digits after the point.
func scientific(d types.Datum, post int) (types.Datum, error) {
	if isSpecial(d) {
		return types.NewText(" " + "#.####"[:1] + "." + strings.Repeat("#", post) + "####"), nil
	}
	c, scale := bigOf(d)
	sign := " "
	if c.Sign() < 0 {
		sign = "-"
	}
	digits := c.Abs(c).String()
	exponent := len(digits) - 1 - int(scale)
	if c.Sign() == 0 {
		digits, exponent = "0", 0
	}
	whole := 1 // digits before the point: PostgreSQL does not renormalize 9.99 that rounds to 10.0
	if drop := len(digits) - 1 - post; drop > 0 {
		divisor := pow10(int32(drop))
		half := new(big.Int).Quo(divisor, big.NewInt(2))
		c.Quo(c.Add(c, half), divisor)
		digits = c.String()
		whole = len(digits) - post
	}
	digits += strings.Repeat("0", post+whole-len(digits))
	s := sign + digits[:whole]
	if post > 0 {
		s += "." + digits[whole:]
	}
	return types.NewText(s + fmt.Sprintf("e%+03d", exponent)), nil
}
