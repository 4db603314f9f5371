package jsonb

import (
	"math"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Step is an element of a path that a statement has as text[], which may contain NULL.
type Step struct {
	Text string
	Null bool
}

// Steps makes a path without NULL.
func Steps(texts ...string) []Step {
	out := make([]Step, len(texts))
	for i, t := range texts {
		out[i].Text = t
	}
	return out
}

// pathOp is what happens at the end of a path.
type pathOp uint8

const (
	opReplace pathOp = iota // only what exists
	opCreate                // replace or add
	opDelete
	opInsertBefore
	opInsertAfter
	opAssign // as opCreate, making all that is missing on the way and filling gaps with nulls
)

func (op pathOp) adds() bool    { return op != opReplace && op != opDelete }
func (op pathOp) inserts() bool { return op == opInsertBefore || op == opInsertAfter }

// maxGap bounds the nulls that one assignment may fill in.
const maxGap = 1 << 20

// Set is jsonb_set.
func (d Doc) Set(path []Step, v Doc, create bool) (Doc, error) {
	if !d.IsContainer() {
		return "", pgerr.New(pgerr.InvalidParameterValue, "cannot set path in scalar")
	}
	if len(path) == 0 || d.Len() == 0 && !create {
		return d, nil
	}
	if create {
		return setPath(d, path, v, opCreate)
	}
	return setPath(d, path, v, opReplace)
}

// SetLax is jsonb_set_lax: a nil v is SQL NULL, and treatment says how to handle it ("" if that is
// NULL too).
func (d Doc) SetLax(path []Step, v *Doc, create bool, treatment string) (Doc, error) {
	switch treatment {
	case "raise_exception", "use_json_null", "delete_key", "return_target":
	default:
		return "", pgerr.New(pgerr.InvalidParameterValue,
			`null_value_treatment must be "delete_key", "return_target", "use_json_null", or "raise_exception"`)
	}
	if v != nil {
		return d.Set(path, *v, create)
	}
	switch treatment {
	case "raise_exception":
		return "", pgerr.New(pgerr.NullValueNotAllowed, "JSON value must not be null").
			WithDetail(`Exception was raised because null_value_treatment is "raise_exception".`).
			WithHint(
				"To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.",
			)
	case "use_json_null":
		return d.Set(path, NullDoc, create)
	case "delete_key":
		return d.DeletePath(path)
	}
	return d, nil
}

// Insert is jsonb_insert.
func (d Doc) Insert(path []Step, v Doc, after bool) (Doc, error) {
	if !d.IsContainer() {
		return "", pgerr.New(pgerr.InvalidParameterValue, "cannot set path in scalar")
	}
	if len(path) == 0 {
		return d, nil
	}
	if after {
		return setPath(d, path, v, opInsertAfter)
	}
	return setPath(d, path, v, opInsertBefore)
}

// DeletePath is the operator #-.
func (d Doc) DeletePath(path []Step) (Doc, error) {
	if !d.IsContainer() {
		return "", pgerr.New(pgerr.InvalidParameterValue, "cannot delete path in scalar")
	}
	if len(path) == 0 || d.Len() == 0 {
		return d, nil
	}
	return setPath(d, path, NullDoc, opDelete)
}

// Assign returns the result of `SET doc[…][…] = v`. An empty d is SQL NULL: it becomes an array if
// the first subscript is an integer (intFirst), otherwise an object. Integer subscripts are given
// as text; an SQL NULL assigned is NullDoc.
func (d Doc) Assign(path []string, intFirst bool, v Doc) (Doc, error) {
	switch {
	case len(d) == 0 && intFirst:
		d = EmptyArray
	case len(d) == 0:
		d = EmptyObject
	case !d.IsContainer():
		return "", throughScalar()
	}
	return setPath(d, Steps(path...), v, opAssign)
}

func throughScalar() error {
	return pgerr.New(pgerr.InvalidParameterValue, "cannot replace existing key").
		WithDetail("The path assumes key is a composite object, but it is a scalar value.")
}

// setter rewrites the containers along one path and copies all else.
type setter struct {
	out  Builder
	path []Step
	val  Doc
	op   pathOp
}

func setPath(d Doc, path []Step, v Doc, op pathOp) (Doc, error) {
	s := setter{path: path, val: v, op: op}
	s.walk(d, 0)
	return s.out.Finish()
}

func (s *setter) last(level int) bool { return level == len(s.path)-1 }

func (s *setter) walk(d Doc, level int) {
	if s.out.err != nil {
		return
	}
	if s.path[level].Null {
		s.out.fail(pgerr.New(pgerr.NullValueNotAllowed, "path element at position %d is null", level+1))
		return
	}
	switch d.Kind() {
	case Object:
		s.object(d, level)
	case Array:
		s.array(d, level)
	default:
		if s.op == opAssign {
			s.out.fail(throughScalar())
		}
		s.out.Doc(d)
	}
}

func (s *setter) object(d Doc, level int) {
	want, found := s.path[level].Text, false
	s.out.BeginObject()
	for k, v := range d.Pairs() {
		s.out.key = k
		switch {
		case k != want:
			s.out.Doc(v)
			continue
		case !s.last(level):
			s.walk(v, level+1)
		case s.op.inserts():
			s.out.fail(pgerr.New(pgerr.InvalidParameterValue, "cannot replace existing key").
				WithHint("Try using the function jsonb_set to replace key value."))
		case s.op != opDelete:
			s.out.Doc(s.val)
		}
		found = true
	}
	if !found {
		s.out.Key(want)
		if s.last(level) && s.op.adds() {
			s.out.Doc(s.val)
		} else if !s.last(level) && s.op == opAssign {
			s.missing(level + 1)
		}
	}
	s.out.End()
}

func (s *setter) array(d Doc, level int) {
	n := d.Len()
	i, ok := s.position(level, n)
	if !ok {
		return
	}
	s.out.BeginArray()
	if i == math.MinInt && s.last(level) && s.op.adds() {
		s.out.Doc(s.val)
	}
	for at, v := range d.Elements() {
		switch {
		case at != i:
			s.out.Doc(v)
		case !s.last(level):
			s.walk(v, level+1)
		default:
			s.element(v)
		}
	}
	switch {
	case i < n:
	case s.last(level) && s.op.adds():
		s.gap(i - n)
		s.out.Doc(s.val)
	case !s.last(level) && s.op == opAssign:
		s.gap(i - n)
		s.missing(level + 1)
	}
	s.out.End()
}

// element writes the target element of an array.
func (s *setter) element(old Doc) {
	if s.op != opDelete && s.op != opInsertAfter {
		s.out.Doc(s.val)
	}
	if s.op.inserts() {
		s.out.Doc(old)
	}
	if s.op == opInsertAfter {
		s.out.Doc(s.val)
	}
}

// position reads a path step as a position in an array of n elements: MinInt before its beginning,
// n after its end (further only if gaps get filled).
func (s *setter) position(level, n int) (int, bool) {
	step := s.path[level].Text
	i, ok := arrayPosition(step)
	switch {
	case !ok:
		s.out.fail(pgerr.New(pgerr.InvalidTextRepresentation,
			`path element at position %d is not an integer: "%s"`, level+1, step))
		return 0, false
	case i >= 0 && s.op == opAssign:
		return i, true
	case i >= 0:
		return min(i, n), true
	case -i <= n:
		return n + i, true
	case s.op == opAssign:
		s.out.fail(
			pgerr.New(pgerr.InvalidParameterValue, "path element at position %d is out of range: %d", level+1, i),
		)
		return 0, false
	}
	return math.MinInt, true
}

// gap fills an array up with nulls.
func (s *setter) gap(n int) {
	if n > maxGap {
		s.out.fail(pgerr.New(pgerr.ProgramLimitExceeded, "number of jsonb array elements exceeds the maximum allowed").
			WithDetail("An assignment may fill at most %d elements with nulls.", maxGap))
		return
	}
	for range n {
		s.out.Null()
	}
}

// missing makes the rest of the path from level on; a step that is an integer makes an array.
func (s *setter) missing(level int) {
	for at := level; at < len(s.path); at++ {
		if i, ok := arrayPosition(s.path[at].Text); ok {
			s.out.BeginArray()
			s.gap(i)
		} else {
			s.out.BeginObject()
			s.out.Key(s.path[at].Text)
		}
		if s.out.err != nil {
			return
		}
	}
	s.out.Doc(s.val)
	for range len(s.path) - level {
		s.out.End()
	}
}
