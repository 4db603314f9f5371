package builtin

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// numberTemplate is a parsed template of to_char for numbers (PostgreSQL's NUMDesc).
type numberTemplate struct {
	nodes []numberNode

	pre, post          int // digits before and after the point
	multi              int // digits after V
	zeroStart, zeroEnd int
	preSign            int // digits before S
	signBefore         bool
	signAfter          bool

	decimal, zero, fill, lsign, bracket, minus, plus, roman, v, exponent bool
}

// numberNode is a field, or literal text.
type numberNode struct {
	key     string // upper case; "" is literal
	literal string
	lower   bool
}

var numberKeys = []string{"EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "SP", "TH", ",", ".", "0", "9", "B", "C", "D",
	"G", "L", "S", "V"}

func templateError(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.SyntaxError, format, args...)
}

func parseNumberTemplate(s string) (*numberTemplate, error) {
	t := &numberTemplate{}
	for s != "" {
		node, rest := numberNodeOf(s)
		s = rest
		if node.key != "" {
			if err := t.add(node.key); err != nil {
				return nil, err
			}
		}
		t.nodes = append(t.nodes, node)
	}
	if t.exponent && (t.fill || t.lsign || t.bracket || t.minus || t.plus || t.roman || t.v) {
		return nil, templateError("\"EEEE\" is incompatible with other formats").
			WithDetail("\"EEEE\" may only be used together with digit and decimal point patterns.")
	}
	return t, nil
}

func numberNodeOf(s string) (numberNode, string) {
	for _, key := range numberKeys {
		if rest, ok := strings.CutPrefix(s, key); ok {
			return numberNode{key: key}, rest
		}
		if rest, ok := strings.CutPrefix(s, strings.ToLower(key)); ok {
			return numberNode{key: key, lower: true}, rest
		}
	}
	text, rest := literalText(s)
	return numberNode{literal: text}, rest
}

// add records the effect of a field on the whole template.
func (t *numberTemplate) add(key string) error {
	if t.exponent {
		return templateError("\"EEEE\" must be the last pattern used")
	}
	switch key {
	case "9", "0":
		return t.digit(key == "0")
	case ".", "D":
		if t.decimal {
			return templateError("multiple decimal points")
		}
		if t.v {
			return templateError("cannot use \"V\" and decimal point together")
		}
		t.decimal = true
	case "FM":
		t.fill = true
	case "S":
		return t.sign()
	case "MI", "PL", "SG":
		if t.lsign {
			return templateError("cannot use \"S\" and \"%s\" together", key)
		}
		t.minus = t.minus || key != "PL"
		t.plus = t.plus || key != "MI"
	case "PR":
		if t.lsign || t.plus || t.minus {
			return templateError("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together")
		}
		t.bracket = true
	case "RN":
		t.roman = true
	case "V":
		if t.decimal {
			return templateError("cannot use \"V\" and decimal point together")
		}
		t.v = true
	case "EEEE":
		t.exponent = true
	}
	return nil
}

func (t *numberTemplate) digit(zero bool) error {
	if t.bracket {
		if zero {
			return templateError("\"0\" must be ahead of \"PR\"")
		}
		return templateError("\"9\" must be ahead of \"PR\"")
	}
	if t.v && !zero {
		t.multi++
		return nil
	}
	if zero && !t.zero && !t.decimal {
		t.zero, t.zeroStart = true, t.pre+1
	}
	if t.decimal {
		t.post++
	} else {
		t.pre++
	}
	if zero {
		t.zeroEnd = t.pre + t.post
	}
	return nil
}

func (t *numberTemplate) sign() error {
	if t.lsign {
		return templateError("cannot use \"S\" twice")
	}
	if t.plus || t.minus || t.bracket {
		return templateError("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together")
	}
	t.lsign = true
	if t.decimal {
		t.signAfter = true
	} else {
		t.signBefore, t.preSign = true, t.pre
	}
	return nil
}
