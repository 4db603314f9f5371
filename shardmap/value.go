package shardmap

import "strings"

// ValueKind is the kind of the value of a policy's field in a document or row.
type ValueKind uint8

const (
	MissingValue ValueKind = iota // absent, JSON null or SQL NULL
	TextValue                     // a string, boolean or column of another type, by its text
	NumberValue                   // a number, by its text
	ArrayValue                    // refused by every policy
	ObjectValue                   // refused by every policy

	unitKind // the number that the field's function makes, for routing alone: see Field.Units
)

// Value is the value of one field of a policy: the ->> text and its kind. The zero value is
// missing.
type Value struct {
	Kind ValueKind
	Text string
}

// Missing is the value of a field that is absent or null.
func Missing() Value { return Value{} }

// Text is the value of a field that holds a string, or anything else that counts by its ->> text.
func Text(s string) Value { return Value{TextValue, s} }

// Number is the value of a field that holds a number; s is its ->> text.
func Number(s string) Value { return Value{NumberValue, s} }

// Array is the value of a field that holds an array.
func Array() Value { return Value{Kind: ArrayValue} }

// Object is the value of a field that holds an object.
func Object() Value { return Value{Kind: ObjectValue} }

// hashText returns the text that a plain field contributes: text of the form
// -?(0|[1-9][0-9]*)\.[0-9]+ without trailing zeros and a bare point, for numbers and strings alike,
// so that equal numbers hash equally.
func (v Value) hashText() string {
	if isPointNumber(v.Text) {
		return NumericText(v.Text)
	}
	return v.Text
}

// isPointNumber matches -?(0|[1-9][0-9]*)\.[0-9]+.
func isPointNumber(s string) bool {
	whole, frac, ok := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return ok && allDigits(whole) && allDigits(frac) && (whole == "0" || whole[0] != '0')
}
