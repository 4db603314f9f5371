package jsonpath

import (
	"strings"

	"github.com/sherddb/sherd/jsonb"
)

// truth is SQL/JSON's three-valued answer.
type truth uint8

const (
	no truth = iota
	yes
	unknown
)

func truthOf(v bool) truth {
	if v {
		return yes
	}
	return no
}

// decide evaluates a predicate on it.
func (e *evaluation) decide(n *node, it item) truth {
	switch n.op {
	case opAnd, opOr:
		stop := truthOf(n.op == opOr)
		left := e.decide(n.left, it)
		if left == stop {
			return stop
		}
		// The second operand is evaluated even if the first is unknown, because it may decide the
		// result.
		if right := e.decide(n.right, it); right == stop || right == unknown {
			return right
		}
		return left
	case opNot:
		switch e.decide(n.left, it) {
		case yes:
			return no
		case no:
			return yes
		}
		return unknown
	case opUnknown:
		return truthOf(e.decide(n.left, it) == unknown)
	case opExists:
		return e.exists(n, it)
	case opStarts:
		return e.pairs(n, it, false, startsWith)
	case opRegex:
		return e.pairs(n, it, false, e.likeRegex)
	}
	return e.pairs(n, it, true, e.compare)
}

func (e *evaluation) exists(n *node, it item) truth {
	throw := e.throw
	e.throw = false
	defer func() { e.throw = throw }()
	if e.lax {
		res := e.run(n.left, it, nil)
		if res == failed {
			return unknown
		}
		return truthOf(res == matched)
	}
	found, res := e.sequence(n.left, it, false)
	if res == failed {
		return unknown
	}
	return truthOf(len(found) > 0)
}

// pairs tries a predicate on all pairs of the operands' items: in lax mode the first true one
// decides, in strict mode any unknown one does. A predicate of one operand gets that item twice.
func (e *evaluation) pairs(n *node, it item, unwrapRight bool, test func(n *node, left, right item) truth) truth {
	throw := e.throw
	e.throw = false
	defer func() { e.throw = throw }()
	lefts, res := e.sequence(n.left, it, true)
	if res == failed {
		return unknown
	}
	var rights list
	if n.right != nil {
		if rights, res = e.sequence(n.right, it, unwrapRight); res == failed {
			return unknown
		}
	}
	found, open := false, false
	for _, left := range lefts {
		if n.right == nil {
			rights = list{left}
		}
		for _, right := range rights {
			if e.canceled() {
				return unknown
			}
			switch test(n, left, right) {
			case unknown:
				if !e.lax {
					return unknown
				}
				open = true
			case yes:
				if e.lax {
					return yes
				}
				found = true
			}
		}
	}
	switch {
	case found:
		return yes
	case open:
		return unknown
	}
	return no
}

func startsWith(_ *node, left, right item) truth {
	whole, ok := left.doc.Str()
	prefix, ok2 := right.doc.Str()
	if !ok || !ok2 || left.dt != nil || right.dt != nil {
		return unknown
	}
	return truthOf(strings.HasPrefix(whole, prefix))
}

func (e *evaluation) likeRegex(n *node, left, _ item) truth {
	s, ok := left.doc.Str()
	if !ok || left.dt != nil {
		return unknown
	}
	match, err := n.regex(e.ctx, s)
	if err != nil {
		e.abort(err)
		return unknown
	}
	return truthOf(match)
}

func (e *evaluation) compare(n *node, left, right item) truth {
	if left.dt != nil && right.dt != nil {
		c, ok := e.compareTimes(left.dt, right.dt)
		if !ok {
			return unknown
		}
		return truthOf(holds(n.op, c))
	}
	lk, rk := left.kind(), right.kind()
	switch {
	case left.dt != nil && rk == jsonb.Null, right.dt != nil && lk == jsonb.Null:
		return truthOf(n.op == opNe)
	case left.dt != nil || right.dt != nil:
		return unknown
	case lk >= jsonb.Array && rk >= jsonb.Array:
		return unknown
	case lk != rk && (lk == jsonb.Null || rk == jsonb.Null):
		return truthOf(n.op == opNe)
	case lk != rk:
		return unknown
	}
	return truthOf(holds(n.op, jsonb.Compare(left.doc, right.doc)))
}

func holds(o op, c int) bool {
	switch o {
	case opEq:
		return c == 0
	case opNe:
		return c != 0
	case opLt:
		return c < 0
	case opLe:
		return c <= 0
	case opGt:
		return c > 0
	}
	return c >= 0
}
