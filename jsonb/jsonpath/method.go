package jsonpath

import (
	"math"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/jsonb"
)

// method evaluates an item method.
func (e *evaluation) method(n *node, it item, out *list, unwrap bool) result {
	switch n.op {
	case opType:
		return e.follow(n, docItem(jsonb.OfString(it.typeName())), out)
	case opSize:
		return e.countElements(n, it, out)
	}
	if unwrap && it.isArray() {
		return e.unwrapped(n, it, out)
	}
	switch n.op {
	case opDouble:
		return e.double(n, it, out)
	case opDatetime:
		return e.datetime(n, it, out)
	case opKeyvalue:
		return e.keyvalue(n, it, out)
	}
	if !it.isNumber() {
		return e.fail(
			codeNonNumeric, "jsonpath item method .%s() can only be applied to a numeric value", symbols[n.op],
		)
	}
	v := it.doc
	switch n.op {
	case opAbs:
		if s, _ := v.NumberText(); strings.HasPrefix(s, "-") {
			v = negate(v)
		}
	default:
		v = round(v, n.op == opFloor)
	}
	return e.follow(n, docItem(v), out)
}

func (it item) typeName() string {
	if it.dt != nil {
		return it.dt.kind.String()
	}
	return it.doc.Kind().String()
}

func (e *evaluation) countElements(n *node, it item, out *list) result {
	size := 1
	switch {
	case it.isArray():
		size = it.doc.Len()
	case !e.lax && e.lenient: // strict, but below .**
		return nothing
	case !e.lax:
		return e.fail(codeNoArray, "jsonpath item method .%s() can only be applied to an array", symbols[n.op])
	}
	return e.follow(n, docItem(jsonb.OfInt64(int64(size))), out)
}

func (e *evaluation) double(n *node, it item, out *list) result {
	text, isText := it.doc.Str()
	switch {
	case it.isNumber():
		s, _ := it.doc.NumberText()
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || v == 0 && strings.Trim(s, "-0.") != "" {
			return e.fail(codeNonNumeric,
				"numeric argument of jsonpath item method .%s() is out of range for type double precision",
				symbols[n.op])
		}
		return e.follow(n, it, out)
	case !isText || it.dt != nil:
		return e.fail(codeNonNumeric,
			"jsonpath item method .%s() can only be applied to a string or numeric value", symbols[n.op])
	}
	text = strings.Trim(text, " \t\n\v\f\r")
	v, err := strconv.ParseFloat(text, 64)
	underflow := v == 0 && strings.Trim(strings.ToLower(text), "+-0.e") != "" &&
		strings.ContainsAny(mantissa(text), "123456789")
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || underflow || strings.ContainsRune(text, '_') {
		return e.fail(codeNonNumeric,
			"string argument of jsonpath item method .%s() is not a valid representation of a double precision number",
			symbols[n.op])
	}
	return e.follow(n, docItem(number(strconv.FormatFloat(v, 'g', 15, 64))), out)
}

func mantissa(s string) string {
	m, _, _ := strings.Cut(strings.ToLower(s), "e")
	return m
}

// keyvalue returns an object of key, value and id for each pair of an object.
func (e *evaluation) keyvalue(n *node, it item, out *list) result {
	if !it.isObject() {
		return e.fail(codeNoObject, "jsonpath item method .%s() can only be applied to an object", symbols[n.op])
	}
	id := jsonb.OfInt64(e.base.id*10_000_000_000 + e.layout.position(e.base.doc, it.doc))
	res := nothing
	for k, v := range it.doc.Pairs() {
		if out == nil && n.next == nil {
			return matched
		}
		var b jsonb.Builder
		b.BeginObject()
		b.Key("key")
		b.Str(k)
		b.Key("value")
		b.Doc(v)
		b.Key("id")
		b.Doc(id)
		b.End()
		d, err := b.Finish()
		if err != nil {
			return e.abort(err)
		}
		saved := e.base
		e.base = base{doc: d, id: e.generated}
		e.generated++
		res = e.follow(n, docItem(d), out)
		e.base = saved
		if res == failed || res == matched && out == nil {
			return res
		}
	}
	return res
}
