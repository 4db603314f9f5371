package shardmap

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Func is a function of a policy's field.
type Func uint8

const (
	PlainField Func = iota // the value's text
	NumericFunc
	TicksFunc
	DayFunc
	HourFunc
	MonthFunc
	IDFunc // id(): the document's own bucket; has no path
)

// funcNames is indexed by Func.
var funcNames = [...]string{"", "numeric", "ticks", "day", "hour", "month", "id"}

// Field is one source of a policy: a path into the document (or a column name as its first part),
// perhaps under a function.
type Field struct {
	Func Func
	Path []string
}

// Equal reports whether both fields are the same function of the same path.
func (f Field) Equal(g Field) bool { return f.Func == g.Func && slices.Equal(f.Path, g.Path) }

// PathString prints the path in canonical form: parts joined with ".", quoted where they must be.
func (f Field) PathString() string {
	parts := make([]string, len(f.Path))
	for i, p := range f.Path {
		parts[i] = quotePart(p)
	}
	return strings.Join(parts, ".")
}

// String prints the field in canonical form, as ParseField reads it.
func (f Field) String() string {
	if f.Func == PlainField {
		return f.PathString()
	}
	return funcNames[f.Func] + "(" + f.PathString() + ")"
}

// special are the characters that require a path part to be quoted.
const special = ",. \t\n\r\f\v\"()"

func quotePart(p string) string {
	if p != "" && !strings.ContainsAny(p, special) {
		return p
	}
	return `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
}

// Limits of a policy's text.
const (
	maxFields     = 32
	maxPathParts  = 100
	maxPolicyText = 8192
)

// ParseField reads one field, as the elements of the JSON form's Fields hold it.
func ParseField(s string) (Field, error) {
	fs, err := parseFields(s, false)
	if err != nil {
		return Field{}, err
	}
	return fs[0], nil
}

// ParseFields reads a list of fields, separated by commas, as shard_by has it. Errors are 22023.
func ParseFields(s string) ([]Field, error) { return parseFields(s, true) }

// parseFields reads fields separated by commas, or exactly one if many is false.
func parseFields(s string, many bool) ([]Field, error) {
	p := fieldParser{text: s}
	if len(s) > maxPolicyText {
		return nil, p.fail("it is longer than %d bytes", maxPolicyText)
	}
	if err := checkText(s); err != nil {
		return nil, err
	}
	var fs []Field
	for {
		f, err := p.field()
		if err != nil {
			return nil, err
		}
		fs = append(fs, f)
		p.skipBlanks()
		if p.end() {
			return fs, nil
		}
		if !many || !p.take(',') {
			return nil, p.unexpected()
		}
	}
}

// fieldParser reads the text of fields from left to right.
type fieldParser struct {
	text string
	pos  int
}

// field reads  path | function "(" [path] ")".
func (p *fieldParser) field() (Field, error) {
	p.skipBlanks()
	first, quoted, err := p.part()
	if err != nil {
		return Field{}, err
	}
	p.skipBlanks()
	if !quoted && p.take('(') {
		return p.call(first)
	}
	path, err := p.restOfPath(first)
	return Field{Path: path}, err
}

// call reads what follows the "(" after a function's name.
func (p *fieldParser) call(name string) (Field, error) {
	fn := slices.Index(funcNames[1:], Lower(name)) + 1
	if fn == 0 {
		return Field{}, p.fail("there is no function %s", quoteID(name)).
			WithHint(
				"The functions are numeric(f), ticks(f), day(f), hour(f), month(f) and id(). " +
					"A part of a path that holds a parenthesis is double-quoted.",
			)
	}
	f := Field{Func: Func(fn)}
	p.skipBlanks()
	if f.Func != IDFunc {
		first, _, err := p.part()
		if err != nil {
			return Field{}, err
		}
		if f.Path, err = p.restOfPath(first); err != nil {
			return Field{}, err
		}
		p.skipBlanks()
	}
	if !p.take(')') {
		return Field{}, p.unexpected()
	}
	return f, nil
}

// restOfPath reads {"." part} after the first part.
func (p *fieldParser) restOfPath(first string) ([]string, error) {
	path := []string{first}
	for p.take('.') {
		part, _, err := p.part()
		if err != nil {
			return nil, err
		}
		if path = append(path, part); len(path) > maxPathParts {
			return nil, p.fail("a path has more than %d parts", maxPathParts)
		}
	}
	return path, nil
}

// part reads a bare or double-quoted part of a path.
func (p *fieldParser) part() (text string, quoted bool, err error) {
	if p.take('"') {
		text, err = p.quotedPart()
		return text, true, err
	}
	n := strings.IndexAny(p.text[p.pos:], special)
	if n < 0 {
		n = len(p.text) - p.pos
	}
	if n == 0 {
		return "", false, p.unexpected()
	}
	text = p.text[p.pos : p.pos+n]
	p.pos += n
	return text, false, nil
}

// quotedPart reads up to the closing quote; a doubled quote stands for one.
func (p *fieldParser) quotedPart() (string, error) {
	var b strings.Builder
	for {
		n := strings.IndexByte(p.text[p.pos:], '"')
		if n < 0 {
			return "", p.fail("a double quote is not closed")
		}
		b.WriteString(p.text[p.pos : p.pos+n])
		p.pos += n + 1
		if !p.take('"') {
			return b.String(), nil
		}
		b.WriteByte('"')
	}
}

func (p *fieldParser) end() bool { return p.pos == len(p.text) }

func (p *fieldParser) take(c byte) bool {
	if p.end() || p.text[p.pos] != c {
		return false
	}
	p.pos++
	return true
}

func (p *fieldParser) skipBlanks() {
	for !p.end() && strings.IndexByte(" \t\n\r\f\v", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *fieldParser) unexpected() *pgerr.Error {
	if p.end() {
		return p.fail("it ends where a field's name or a closing parenthesis is missing")
	}
	r := []rune(p.text[p.pos:])[0]
	return p.fail("unexpected %s at character %d", quoteID(string(r)), len([]rune(p.text[:p.pos]))+1)
}

func (p *fieldParser) fail(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid sharding fields %s", quoteID(p.text)).
		WithDetail(pgerr.Capital(format)+".", args...).
		WithHint(
			`Fields look like: Customer, Address.State, "a.b".c, numeric(Total). A part with a comma, ` +
				`dot or blank is double-quoted.`,
		)
}
