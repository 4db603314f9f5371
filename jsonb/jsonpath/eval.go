package jsonpath

import (
	"context"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
)

// item is the input of a path step: a document, or a date or time, which JSON does not have.
type item struct {
	doc jsonb.Doc
	dt  *datetime
}

func docItem(d jsonb.Doc) item { return item{doc: d} }

func (it item) kind() jsonb.Kind {
	if it.dt != nil {
		return jsonb.String
	}
	return it.doc.Kind()
}

func (it item) isArray() bool  { return it.dt == nil && it.doc.Kind() == jsonb.Array }
func (it item) isObject() bool { return it.dt == nil && it.doc.Kind() == jsonb.Object }
func (it item) isNumber() bool { return it.dt == nil && it.doc.Kind() == jsonb.Number }

// value is the item as a document: dates and times become their ISO text.
func (it item) value() jsonb.Doc {
	if it.dt != nil {
		return jsonb.OfString(it.dt.String())
	}
	return it.doc
}

type list []item

// result is how a step ended.
type result uint8

const (
	matched result = iota
	nothing
	failed // an error: thrown (evaluation.err) or suppressed
)

func some(yes bool) result {
	if yes {
		return matched
	}
	return nothing
}

// base is the document within which .keyvalue() numbers objects.
type base struct {
	doc jsonb.Doc
	id  int64
}

// evaluation is one run of a path. With a nil list it only finds out whether there is an item, and
// ends at the first.
type evaluation struct {
	ctx       context.Context
	work      int // steps and comparisons so far
	vars      jsonb.Doc
	zone      func(int64) int
	today     int64
	root      item
	current   item // @
	base      base
	layout    layout
	generated int64 // objects .keyvalue() has made
	size      int   // of the array whose subscripts are being computed, for last; -1 outside
	lax       bool
	lenient   bool // structural errors yield no items
	throw     bool
	err       error
}

// fail ends a step by an error that Silent and predicates suppress.
func (e *evaluation) fail(code, format string, args ...any) result {
	if e.throw {
		e.abort(pgerr.New(code, format, args...))
	}
	return failed
}

// abort ends the evaluation by an error that nothing suppresses.
func (e *evaluation) abort(err error) result {
	if e.err == nil {
		e.err = err
	}
	return failed
}

// canceled counts a step, and aborts the evaluation if its context is canceled.
func (e *evaluation) canceled() bool {
	const often = 1 << 12 // steps between two looks at the context
	if e.work++; e.work%often == 0 && e.ctx != nil && e.ctx.Err() != nil {
		e.abort(context.Cause(e.ctx))
	}
	return e.err != nil
}

// run evaluates the chain n on it, unwrapping arrays in lax mode.
func (e *evaluation) run(n *node, it item, out *list) result { return e.step(n, it, out, e.lax) }

// follow passes it on to the accessor after n.
func (e *evaluation) follow(n *node, it item, out *list) result {
	if n.next != nil {
		return e.run(n.next, it, out)
	}
	if out != nil {
		*out = append(*out, it)
	}
	return matched
}

// step evaluates n on it. If unwrap is set, an array is replaced by its elements.
func (e *evaluation) step(n *node, it item, out *list, unwrap bool) result {
	if e.canceled() {
		return failed
	}
	switch n.op {
	case opNull, opTrue, opFalse, opNumber, opString:
		return e.follow(n, docItem(n.value), out)
	case opVariable:
		return e.variable(n, out)
	case opRoot:
		saved := e.base
		e.base = base{doc: e.root.doc}
		defer func() { e.base = saved }()
		return e.follow(n, e.root, out)
	case opCurrent:
		return e.follow(n, e.current, out)
	case opLast:
		return e.follow(n, docItem(jsonb.OfInt64(int64(e.size-1))), out)
	case opKey:
		return e.key(n, it, out, unwrap)
	case opAnyKey:
		return e.anyKey(n, it, out, unwrap)
	case opAnyArray:
		return e.anyArray(n, it, out)
	case opAny:
		return e.descend(n, it, out)
	case opIndex:
		return e.index(n, it, out)
	case opFilter:
		return e.filter(n, it, out, unwrap)
	case opAdd, opSub, opMul, opDiv, opMod:
		return e.binary(n, it, out)
	case opPlus, opMinus:
		return e.sign(n, it, out)
	}
	if n.op < opEq {
		return e.method(n, it, out, unwrap)
	}
	switch e.decide(n, it) {
	case yes:
		return e.follow(n, docItem(jsonb.TrueDoc), out)
	case no:
		return e.follow(n, docItem(jsonb.FalseDoc), out)
	}
	return e.follow(n, docItem(jsonb.NullDoc), out)
}

func (e *evaluation) variable(n *node, out *list) result {
	v := jsonb.NullDoc
	if len(e.vars) > 0 {
		var ok bool
		if v, ok = e.vars.Get(n.text); !ok {
			return e.abort(pgerr.New(pgerr.UndefinedObject, "could not find jsonpath variable \"%s\"", n.text))
		}
	}
	saved := e.base
	e.base = base{doc: e.vars, id: 1}
	defer func() { e.base = saved }()
	return e.follow(n, docItem(v), out)
}

func (e *evaluation) key(n *node, it item, out *list, unwrap bool) result {
	switch {
	case it.isObject():
		if v, ok := it.doc.Get(n.text); ok {
			return e.follow(n, docItem(v), out)
		}
		if !e.lenient {
			return e.fail(codeNoMember, "JSON object does not contain key \"%s\"", n.text)
		}
	case unwrap && it.isArray():
		return e.unwrapped(n, it, out)
	case !e.lenient:
		return e.fail(codeNoMember, "jsonpath member accessor can only be applied to an object")
	}
	return nothing
}

func (e *evaluation) anyKey(n *node, it item, out *list, unwrap bool) result {
	switch {
	case it.isObject():
		return e.each(n.next, it.doc, out, levels{1, 1, 1, false, e.lax})
	case unwrap && it.isArray():
		return e.unwrapped(n, it, out)
	case !e.lenient:
		return e.fail(codeNoObject, "jsonpath wildcard member accessor can only be applied to an object")
	}
	return nothing
}

func (e *evaluation) anyArray(n *node, it item, out *list) result {
	switch {
	case it.isArray():
		return e.each(n.next, it.doc, out, levels{1, 1, 1, false, e.lax})
	case e.lax:
		return e.follow(n, it, out)
	case !e.lenient:
		return e.fail(codeNoArray, "jsonpath wildcard array accessor can only be applied to an array")
	}
	return nothing
}

func (e *evaluation) descend(n *node, it item, out *list) result {
	res := nothing
	if n.first == 0 {
		saved := e.lenient
		e.lenient = true
		res = e.follow(n, it, out)
		e.lenient = saved
		if res == matched && out == nil {
			return res
		}
		// As in PostgreSQL a suppressed error here does not end the descent.
	}
	if it.isArray() || it.isObject() {
		return e.each(n.next, it.doc, out, levels{1, n.first, n.last, true, e.lax})
	}
	return res
}

// unwrapped evaluates n on each element of an array, without unwrapping those.
func (e *evaluation) unwrapped(n *node, it item, out *list) result {
	return e.each(n, it.doc, out, levels{1, 1, 1, false, false})
}

// levels says which descendants each visits and how.
type levels struct {
	at, first, last uint32
	lenient         bool
	unwrap          bool
}

// each evaluates n on the values of a container and, as far as levels go, on those below. A nil n
// takes the values themselves.
func (e *evaluation) each(n *node, d jsonb.Doc, out *list, l levels) result {
	res := nothing
	if l.at > l.last || l.at > jsonb.MaxDepth {
		return res
	}
	visit := func(v jsonb.Doc) bool {
		leaf := l.first == anyLevel && l.last == anyLevel && !v.IsContainer()
		if l.at >= l.first || leaf {
			switch {
			case n != nil:
				saved := e.lenient
				e.lenient = e.lenient || l.lenient
				res = e.step(n, docItem(v), out, l.unwrap)
				e.lenient = saved
			case out != nil:
				*out = append(*out, docItem(v))
			default:
				res = matched
			}
			if res == failed || res == matched && out == nil {
				return false
			}
		}
		if l.at < l.last && v.IsContainer() {
			below := l
			below.at++
			res = e.each(n, v, out, below)
			return res != failed && (res != matched || out != nil)
		}
		return true
	}
	for _, v := range d.Elements() {
		if !visit(v) {
			return res
		}
	}
	for _, v := range d.Pairs() {
		if !visit(v) {
			return res
		}
	}
	return res
}

// sequence evaluates n to a list in which, with unwrap in lax mode, arrays have been replaced by
// their elements.
func (e *evaluation) sequence(n *node, it item, unwrap bool) (list, result) {
	var found list
	if res := e.run(n, it, &found); res == failed || !unwrap || !e.lax {
		return found, res
	}
	for i, v := range found {
		if v.isArray() {
			flat := append(list(nil), found[:i]...)
			for _, v := range found[i:] {
				if !v.isArray() {
					flat = append(flat, v)
					continue
				}
				for _, el := range v.doc.Elements() {
					flat = append(flat, docItem(el))
				}
			}
			return flat, matched
		}
	}
	return found, matched
}

func (e *evaluation) filter(n *node, it item, out *list, unwrap bool) result {
	if unwrap && it.isArray() {
		return e.unwrapped(n, it, out)
	}
	saved := e.current
	e.current = it
	verdict := e.decide(n.left, it)
	e.current = saved
	if verdict != yes {
		return nothing
	}
	return e.follow(n, it, out)
}

// index evaluates [ ].
func (e *evaluation) index(n *node, it item, out *list) result {
	if !it.isArray() && !e.lax {
		if e.lenient {
			return nothing
		}
		return e.fail(codeNoArray, "jsonpath array accessor can only be applied to an array")
	}
	size := 1
	if it.isArray() {
		size = it.doc.Len()
	}
	saved := e.size
	defer func() { e.size = saved }()
	res := nothing
	for _, s := range n.subs {
		e.size = size
		from, ok := e.position(s.from, it)
		to := from
		if ok && s.to != nil {
			to, ok = e.position(s.to, it)
		}
		if !ok {
			return failed
		}
		if !e.lenient && (from < 0 || from > to || to >= size) {
			return e.fail(codeSubscript, "jsonpath array subscript is out of bounds")
		}
		res = nothing
		for i := max(from, 0); i <= min(to, size-1); i++ {
			v := it
			if it.isArray() {
				el, _ := it.doc.Index(i)
				v = docItem(el)
			}
			if res = e.follow(n, v, out); res == failed || res == matched && out == nil {
				return res
			}
		}
	}
	return res
}

// position computes a subscript.
func (e *evaluation) position(n *node, it item) (int, bool) {
	var found list
	if e.run(n, it, &found) == failed {
		return 0, false
	}
	if len(found) != 1 || !found[0].isNumber() {
		e.fail(codeSubscript, "jsonpath array subscript is not a single numeric value")
		return 0, false
	}
	text, _ := found[0].doc.NumberText()
	text, _, _ = strings.Cut(text, ".")
	d, err := jsonb.OfNumber(text)
	v, ok := d.Int64()
	if err != nil || !ok || v != int64(int32(v)) {
		e.fail(codeSubscript, "jsonpath array subscript is out of integer range")
		return 0, false
	}
	return int(v), true
}
