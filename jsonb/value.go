package jsonb

import "unsafe"

// Doc is one JSON value in binary form. The zero Doc is no value; it reads as null.
type Doc string

// Kind is the JSON type of a value, in PostgreSQL's order of comparison.
type Kind uint8

// The kinds, lowest in the order of comparison first.
const (
	Null Kind = iota
	String
	Number
	Bool
	Array
	Object
)

// MaxDepth bounds the nesting of a value; deeper input is answered with 54001.
const MaxDepth = 10000

// maxSize bounds a string and the contents of a container, as PostgreSQL's offsets do.
const maxSize = 0x0FFFFFFF

const (
	format    = 0x10
	tagNull   = format
	tagFalse  = format | 0x1
	tagTrue   = format | 0x2
	tagNumber = format | 0x3
	tagString = format | 0x4
	tagArray  = format | 0x8 // 8, 9, a: offsets of 1, 2, 4 bytes
	tagObject = format | 0xc // c, d, e: offsets of 1, 2, 4 bytes
)

// Constants of the values that have no content.
const (
	NullDoc     Doc = "\x10"
	FalseDoc    Doc = "\x11"
	TrueDoc     Doc = "\x12"
	EmptyArray  Doc = "\x18\x00"
	EmptyObject Doc = "\x1c\x00"
)

// FromBytes takes b as a Doc without copying; b must not change afterwards.
func FromBytes(b []byte) Doc { return Doc(unsafe.String(unsafe.SliceData(b), len(b))) }

// Bytes returns the binary form without copying; it must not be written to.
func (d Doc) Bytes() []byte { return unsafe.Slice(unsafe.StringData(string(d)), len(d)) }

// OfString makes a string of UTF-8 text.
func OfString(s string) Doc { return Doc(string(rune(tagString)) + s) }

func (d Doc) tag() byte {
	if len(d) == 0 {
		return tagNull
	}
	return d[0]
}

// Kind returns the JSON type of the value; a damaged one reads as null.
func (d Doc) Kind() Kind {
	switch t := d.tag(); {
	case t == tagString:
		return String
	case t == tagNumber:
		return Number
	case t == tagTrue || t == tagFalse:
		return Bool
	case t >= tagArray && t < tagArray+3:
		return Array
	case t >= tagObject && t < tagObject+3:
		return Object
	}
	return Null
}

// String names the kind as jsonb_typeof does.
func (k Kind) String() string {
	return [...]string{"null", "string", "number", "boolean", "array", "object"}[k]
}

// IsNull reports whether the value is a JSON null.
func (d Doc) IsNull() bool { return d.Kind() == Null }

// IsContainer reports whether the value is an array or an object.
func (d Doc) IsContainer() bool { return d.Kind() >= Array }

// Bool returns the boolean d holds; ok is false for any other kind.
func (d Doc) Bool() (v, ok bool) {
	t := d.tag()
	return t == tagTrue, t == tagTrue || t == tagFalse
}

// Str returns the string d holds, aliasing it; ok is false for any other kind.
func (d Doc) Str() (s string, ok bool) {
	if d.tag() != tagString {
		return "", false
	}
	return string(d[1:]), true
}

// NumberText returns the number d holds as decimal text, aliasing it; ok is false for any other
// kind.
func (d Doc) NumberText() (s string, ok bool) {
	if d.tag() != tagNumber || len(d) < 2 {
		return "", false
	}
	return string(d[1:]), true
}

// Scalar returns the result of ->> for a scalar, without a copy; ok is false for null and
// containers.
func (d Doc) Scalar() (s string, ok bool) {
	switch d.tag() {
	case tagString, tagNumber:
		return string(d[1:]), true
	case tagTrue:
		return "true", true
	case tagFalse:
		return "false", true
	}
	return "", false
}

// AsText is the result of ->> for the value: ok is false (SQL NULL) for a JSON null.
func (d Doc) AsText() (s string, ok bool) {
	if d.Kind() >= Array {
		return d.Text(), true
	}
	return d.Scalar()
}
