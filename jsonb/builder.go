package jsonb

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Builder makes a Doc value by value. Values go to the innermost open container; inside an object
// each follows its Key. After an error, further values have no effect and Finish returns the error.
// Strings given to it must stay unchanged until Finish. A Builder may be used again after Finish.
// It is not safe for concurrent use.
type Builder struct {
	pend []node // values of the containers that are open, and the root
	kids []node // children of closed containers, each container's together
	open []frame
	key  string // of the next value
	err  error
}

// node is a value to be written: a scalar or embedded document (text) or a closed container (its
// kids).
type node struct {
	key   string // its key, if it lies in an object
	text  string // content after the tag; all bytes of an embedded document (tag 0)
	first int32  // index of its first kid
	n     int32  // how many
	size  int32  // bytes of its binary form
	tag   byte
}

// frame is an open container.
type frame struct {
	key  string
	base int // index of its first child in pend
	tag  byte
}

func (b *Builder) add(n node) {
	n.key = b.key
	b.pend = append(b.pend, n)
}

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Null adds a null.
func (b *Builder) Null() { b.add(node{tag: tagNull, size: 1}) }

// Bool adds a boolean.
func (b *Builder) Bool(v bool) {
	if v {
		b.add(node{tag: tagTrue, size: 1})
	} else {
		b.add(node{tag: tagFalse, size: 1})
	}
}

// Int adds a number.
func (b *Builder) Int(v int64) { b.add(numberNode(strconv.FormatInt(v, 10))) }

// Float adds a number, as OfFloat64 makes it.
func (b *Builder) Float(v float64) { b.Doc(OfFloat64(v)) }

// Number adds a number given as decimal text in JSON syntax.
func (b *Builder) Number(text string) {
	if !isNumber(text) {
		b.fail(pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: %q", "numeric", text))
		return
	}
	s, err := canonicalNumber(text)
	if err != nil {
		b.fail(err)
		return
	}
	b.add(numberNode(s))
}

func numberNode(s string) node { return node{tag: tagNumber, text: s, size: int32(1 + len(s))} }

// Str adds a string; it must be UTF-8 without NUL.
func (b *Builder) Str(s string) {
	b.checkText(s)
	b.add(node{tag: tagString, text: s, size: int32(1 + len(s))})
}

func (b *Builder) checkText(s string) {
	if len(s) > maxSize {
		b.fail(pgerr.New(pgerr.ProgramLimitExceeded, "string too long to represent as jsonb string").WithDetail(
			"Due to an implementation restriction, jsonb strings cannot exceed %d bytes.", maxSize))
	}
	if !utf8.ValidString(s) {
		b.fail(invalidUTF8(s))
	}
}

// Doc embeds a document.
func (b *Builder) Doc(d Doc) {
	if len(d) == 0 {
		d = NullDoc
	}
	if len(d) > 3*(MaxDepth-len(b.open)) && depthOf(d, 0)+len(b.open) > MaxDepth {
		b.fail(tooDeep())
	}
	b.add(node{text: string(d), size: int32(len(d))})
}

// depthOf measures nesting, no further than just beyond MaxDepth. Less than three bytes a level
// cannot be (J1).
func depthOf(d Doc, at int) int {
	if at > MaxDepth || !d.IsContainer() {
		return at
	}
	deepest := at + 1
	c := d.cursor()
	for {
		_, v, ok := c.next()
		if !ok {
			return deepest
		}
		deepest = max(deepest, depthOf(v, at+1))
	}
}

// BeginArray opens an array.
func (b *Builder) BeginArray() { b.begin(tagArray) }

// BeginObject opens an object.
func (b *Builder) BeginObject() { b.begin(tagObject) }

func (b *Builder) begin(tag byte) {
	if len(b.open) >= MaxDepth {
		b.fail(tooDeep())
	}
	b.open = append(b.open, frame{key: b.key, base: len(b.pend), tag: tag})
}

// Key names the next value of the open object. Of equal keys the last wins.
func (b *Builder) Key(key string) {
	b.checkText(key)
	b.key = key
}

// End closes the innermost open container.
func (b *Builder) End() {
	if len(b.open) == 0 {
		b.fail(pgerr.New(pgerr.InternalError, "jsonb builder: no open container"))
		return
	}
	f := b.open[len(b.open)-1]
	b.open = b.open[:len(b.open)-1]
	kids := b.pend[f.base:]
	if f.tag == tagObject {
		kids = sortKids(kids)
	}
	n := node{tag: f.tag, first: int32(len(b.kids)), n: int32(len(kids))}
	b.kids = append(b.kids, kids...)
	b.pend = b.pend[:f.base]
	keys, vals := 0, 0
	for i := range kids {
		vals += int(kids[i].size)
		if f.tag == tagObject {
			keys += len(kids[i].key)
		}
	}
	if max(keys, vals) > maxSize {
		b.fail(tooLarge(f.tag))
	}
	w := widthOf(len(kids), keys, vals)
	n.tag |= byte(w >> 1)
	tables := w + len(kids)*w
	if f.tag == tagObject {
		tables += len(kids) * w
	}
	n.size = int32(1 + tables + min(keys+vals, 2*maxSize))
	b.key = f.key
	b.add(n)
}

func tooLarge(tag byte) error {
	what := "array elements"
	if tag == tagObject {
		what = "object elements"
	}
	return pgerr.New(
		pgerr.ProgramLimitExceeded, "total size of jsonb %s exceeds the maximum of %d bytes", what, maxSize,
	)
}

// widthOf returns the bytes of an offset for a container of n entries.
func widthOf(n, keys, vals int) int {
	switch m := max(n, keys, vals); {
	case m < 1<<8:
		return 1
	case m < 1<<16:
		return 2
	}
	return 4
}

// sortKids puts an object's pairs into the order of storage and keeps the last of equal keys.
func sortKids(kids []node) []node {
	inOrder := true
	for i := 1; i < len(kids) && inOrder; i++ {
		inOrder = compareKeys(kids[i-1].key, kids[i].key) < 0
	}
	if inOrder {
		return kids
	}
	if len(kids) <= 12 {
		for i := 1; i < len(kids); i++ {
			k, j := kids[i], i
			for ; j > 0 && compareKeys(kids[j-1].key, k.key) > 0; j-- {
				kids[j] = kids[j-1]
			}
			kids[j] = k
		}
	} else {
		slices.SortStableFunc(kids, func(a, b node) int { return compareKeys(a.key, b.key) })
	}
	out := kids[:1]
	for _, k := range kids[1:] {
		if out[len(out)-1].key == k.key {
			out[len(out)-1] = k
		} else {
			out = append(out, k)
		}
	}
	return out
}

// Finish returns the document and empties the Builder.
func (b *Builder) Finish() (Doc, error) {
	defer b.reset()
	if b.err != nil {
		return "", b.err
	}
	if len(b.open) != 0 || len(b.pend) != 1 {
		return "", pgerr.New(pgerr.InternalError, "jsonb builder: %d values and %d open containers at the end",
			len(b.pend), len(b.open))
	}
	out := make([]byte, 0, b.pend[0].size)
	return FromBytes(b.write(out, &b.pend[0])), nil
}

func (b *Builder) reset() {
	clear(b.pend)
	clear(b.kids)
	b.pend, b.kids, b.open, b.key, b.err = b.pend[:0], b.kids[:0], b.open[:0], "", nil
}

func (b *Builder) write(out []byte, n *node) []byte {
	if n.tag == 0 {
		return append(out, n.text...)
	}
	out = append(out, n.tag)
	if n.tag < tagArray {
		return append(out, n.text...)
	}
	w := 1 << (n.tag & 3)
	kids := b.kids[n.first : n.first+n.n]
	out = putOffset(out, len(kids), w)
	if n.tag >= tagObject {
		end := 0
		for i := range kids {
			end += len(kids[i].key)
			out = putOffset(out, end, w)
		}
	}
	end := 0
	for i := range kids {
		end += int(kids[i].size)
		out = putOffset(out, end, w)
	}
	if n.tag >= tagObject {
		for i := range kids {
			out = append(out, kids[i].key...)
		}
	}
	for i := range kids {
		if k := &kids[i]; k.tag == tagString || k.tag == tagNumber {
			out = append(append(out, k.tag), k.text...)
		} else {
			out = b.write(out, k)
		}
	}
	return out
}

func putOffset(out []byte, v, width int) []byte {
	if width == 1 {
		return append(out, byte(v))
	}
	return putWide(out, v, width)
}

func putWide(out []byte, v, width int) []byte {
	if width == 2 {
		return append(out, byte(v), byte(v>>8))
	}
	return append(out, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
}

func tooDeep() error {
	return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").WithHint(
		"A JSON value may be nested %d levels deep.", MaxDepth)
}

func invalidUTF8(s string) error {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return pgerr.New(
				pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x%02x", s[i],
			)
		}
		i += n
	}
	return nil
}
