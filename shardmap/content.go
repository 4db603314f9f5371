package shardmap

import (
	"errors"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// ContentBucket returns the bucket B of a document's content. values holds one value per field, in
// policy order; own is the document's own bucket, which only id() uses. The error is 23514 with
// constraint "sharding" if a value cannot place a document: the value of a policy's only field is
// missing, is an array or an object, or cannot be read by the field's function.
func (p *Policy) ContentBucket(rules Prefixes, table string, own Bucket, values []Value) (Bucket, error) {
	b, err := p.contentBucket(rules, own, values)
	if err != nil {
		return 0, p.contentError(table, err)
	}
	return b, nil
}

// valueError is returned for a value that a field cannot have.
type valueError struct {
	field  Field
	value  Value
	reason string // follows the field's name
}

func (e *valueError) Error() string { return quoteID(e.field.PathString()) + " " + e.reason }

func (p *Policy) contentBucket(rules Prefixes, own Bucket, values []Value) (Bucket, error) {
	if p.IsID() {
		return own, nil
	}
	if len(values) != len(p.Fields) {
		panic("shardmap: one value per field of the policy is needed")
	}
	if len(p.Fields) == 1 {
		return p.Fields[0].bucket(rules, values[0])
	}
	var b strings.Builder
	for i, f := range p.Fields {
		t, err := f.contribution(values[i])
		if err != nil {
			return 0, err
		}
		b.WriteString(t)
	}
	return rules.HashBucket(b.String()), nil
}

// bucket is the content bucket of a policy's only field.
func (f Field) bucket(rules Prefixes, v Value) (Bucket, error) {
	if v.Kind == MissingValue {
		return 0, &valueError{f, v, "is missing or null"}
	}
	t, err := f.contribution(v)
	if err != nil {
		return 0, err
	}
	if f.Func.isBucket() {
		n, err := strconv.ParseUint(t, 10, 32)
		if err != nil {
			panic(err) // number returns decimal digits below BucketCount
		}
		return Bucket(n), nil
	}
	return rules.HashBucket(t), nil
}

// contribution returns the text that a field adds to the concatenation of several; a missing field
// adds nothing.
func (f Field) contribution(v Value) (string, error) {
	switch v.Kind {
	case MissingValue:
		return "", nil
	case ArrayValue:
		return "", &valueError{f, v, "is an array"}
	case ObjectValue:
		return "", &valueError{f, v, "is an object"}
	case unitKind:
		return v.Text, nil
	}
	if f.Func == PlainField {
		return v.hashText(), nil
	}
	n, err := f.number(v.Text)
	if err != nil {
		return "", &valueError{f, v, "cannot be read by " + funcNames[f.Func] + "(): " + pgerr.From(err).Message}
	}
	return strconv.FormatInt(n, 10), nil
}

func (p *Policy) contentError(table string, err error) error {
	var v *valueError
	if !errors.As(err, &v) {
		return err
	}
	e := violation(table).WithDetail("Field %s.", v.Error())
	if v.value.Kind == TextValue || v.value.Kind == NumberValue {
		return e.WithHint("The policy shards by %s.", p.ByString())
	}
	return e.WithHint("The policy shards by %s, so the field must hold a single value.", p.ByString())
}

// violation returns the error for a row that its collection's policy refuses.
func violation(table string) *pgerr.Error {
	e := pgerr.New(
		pgerr.CheckViolation, `new row for relation "%s" violates check constraint "%s"`, table, ConstraintName,
	)
	e.Table, e.Constraint = table, ConstraintName
	return e
}

// Block returns the buckets of the block of content bucket b: Range buckets, fewer at the end of
// the space, or of the buckets of the rule that has b.
func (p *Policy) Block(rules Prefixes, b Bucket) Interval {
	space := WholeSpace()
	if rule := rules.Of(b); rule != nil {
		space = rule.Interval
	}
	lo := uint32(b) - (uint32(b)-space.Lo)%p.Range
	return Interval{lo, min(lo+p.Range, space.Hi)}
}

// Fold returns the bucket of the block that a bucket, which may be outside of it, chooses.
func (v Interval) Fold(own Bucket) Bucket { return Bucket(v.Lo + uint32(own)%(v.Hi-v.Lo)) }

// Route returns the buckets that contain all documents with these values of the policy's fields. It
// reports false if there is no such bound: under a mutable policy, under id(), and for values that
// no document under the policy can have. The caller must know that the policy is validated.
func (p *Policy) Route(rules Prefixes, values []Value) (Interval, bool) {
	if p.Mutable || p.IsID() {
		return Interval{}, false
	}
	b, err := p.contentBucket(rules, 0, values)
	if err != nil {
		return Interval{}, false
	}
	return p.Block(rules, b), true
}
