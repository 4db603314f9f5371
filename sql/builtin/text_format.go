package builtin

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// textFormat has concat, concat_ws, format and || with any type. concat, concat_ws and format are
// not strict.
var textFormat = map[string]Func{
	"text_concat": concat, "text_concat_ws": concatWS, "text_format": format, "text_format_nv": format,
	"textanycat(25,2776)": anyConcat, "anytextcat(2776,25)": anyConcat,
}

// spread returns the arguments from i on with their types: separate arguments, or the elements of a
// VARIADIC array. ok is false if that array is null.
func (c *Ctx) spread(a []types.Datum, i int) (args []types.Datum, typ func(j int) uint32, ok bool, err error) {
	if !c.Variadic {
		return a[i:], func(j int) uint32 { return c.argType(i + j) }, true, nil
	}
	if a[i].IsNull() {
		return nil, nil, false, nil
	}
	array, err := types.ArrayOf(a[i])
	if err != nil {
		return nil, nil, false, err
	}
	return array.Elems(), func(int) uint32 { return array.Elem }, true, nil
}

func concat(c *Ctx, a []types.Datum) (types.Datum, error) { return c.join(a, 0, "") }

func concatWS(c *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	return c.join(a, 1, a[0].S)
}

// join joins the text of the non-null arguments from i on.
func (c *Ctx) join(a []types.Datum, i int, separator string) (types.Datum, error) {
	if i >= len(a) {
		return types.NewText(""), nil
	}
	args, typ, ok, err := c.spread(a, i)
	if err != nil || !ok {
		return types.Null, err
	}
	var b []byte
	first := true
	for j, d := range args {
		if d.IsNull() {
			continue
		}
		if !first {
			b = append(b, separator...)
		}
		first = false
		b = types.AppendOutput(b, typ(j), d, c.Env)
	}
	return types.NewText(string(b)), nil
}

// anyConcat is text || anynonarray: the other side is cast to text.
func anyConcat(c *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewText(c.castText(0, a[0]) + c.castText(1, a[1])), nil
}

// castText is the cast of argument i to text, which differs from its text form for bool.
func (c *Ctx) castText(i int, d types.Datum) string {
	switch d.K {
	case types.KindText:
		if c.argType(i) == types.BPChar {
			return unpad(d.S)
		}
		return d.S
	case types.KindBool:
		if d.Bool() {
			return "true"
		}
		return "false"
	}
	return c.text(i, d)
}

func formatError(message string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidParameterValue, message, args...)
}

// formatter is the state of format.
type formatter struct {
	c    *Ctx
	args []types.Datum
	typ  func(int) uint32
	next int // the argument of the next specifier without position
	out  strings.Builder
}

func format(c *Ctx, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	f := formatter{c: c}
	if len(a) > 1 {
		args, typ, _, err := c.spread(a, 1)
		if err != nil {
			return types.Null, err
		}
		f.args, f.typ = args, typ
	}
	for rest := a[0].S; ; {
		literal, spec, found := strings.Cut(rest, "%")
		f.out.WriteString(literal)
		if !found {
			return types.NewText(f.out.String()), nil
		}
		if strings.HasPrefix(spec, "%") {
			f.out.WriteByte('%')
			rest = spec[1:]
			continue
		}
		var err error
		if rest, err = f.specifier(spec); err != nil {
			return types.Null, err
		}
	}
}

// specifier parses [position$][-][width|*|*position$]type.
func (f *formatter) specifier(s string) (rest string, err error) {
	position, width := 0, 0
	if n, after, ok := leadingNumber(s); ok {
		if strings.HasPrefix(after, "$") {
			position, s = n, after[1:]
			if position == 0 {
				return "", formatError("format specifies argument 0, but arguments are numbered from 1")
			}
		} else {
			width, s = n, after
		}
	}
	left := false
	if width == 0 {
		for strings.HasPrefix(s, "-") {
			left, s = true, s[1:]
		}
		if strings.HasPrefix(s, "*") {
			if width, s, err = f.indirectWidth(s[1:]); err != nil {
				return "", err
			}
		} else if n, after, ok := leadingNumber(s); ok {
			width, s = n, after
		}
	}
	if width < 0 {
		left, width = true, -width
	}
	if s == "" {
		return "", unterminated()
	}
	return s[1:], f.convert(s[0], s, position, width, left)
}

func unterminated() error {
	return formatError("unterminated format() type specifier").WithHint("For a single \"%%\" use \"%%%%\".")
}

func leadingNumber(s string) (n int, rest string, ok bool) {
	i := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		n = min(n*10+int(s[i]-'0'), 1<<30)
	}
	return n, s[i:], i > 0
}

// indirectWidth parses the text after * : the width is an argument.
func (f *formatter) indirectWidth(s string) (width int, rest string, err error) {
	position := 0
	if n, after, ok := leadingNumber(s); ok {
		if !strings.HasPrefix(after, "$") {
			return 0, "", formatError("width argument position must be ended by \"$\"")
		}
		if n == 0 {
			return 0, "", formatError("format specifies argument 0, but arguments are numbered from 1")
		}
		position, s = n, after[1:]
	}
	i, err := f.argument(position)
	if err != nil {
		return 0, "", err
	}
	switch d := f.args[i]; d.K {
	case types.KindNull:
		return 0, s, nil
	case types.KindInt:
		return int(d.N), s, nil
	default:
		n, err := types.ParseInt(types.Int4, types.Output(f.typ(i), d, f.c.Env))
		return int(n), s, err
	}
}

// argument returns the index of a specifier's argument.
func (f *formatter) argument(position int) (int, error) {
	if position == 0 {
		f.next++
		position = f.next
	} else {
		f.next = position
	}
	if position > len(f.args) {
		return 0, formatError("too few arguments for format()")
	}
	return position - 1, nil
}

func (f *formatter) convert(kind byte, spec string, position, width int, left bool) error {
	if kind != 's' && kind != 'I' && kind != 'L' {
		return formatError("unrecognized format() type specifier \"%s\"", sliceChars(spec, 0, 1)).
			WithHint("For a single \"%%\" use \"%%%%\".")
	}
	i, err := f.argument(position)
	if err != nil {
		return err
	}
	d, s := f.args[i], ""
	switch {
	case !d.IsNull():
		s = types.Output(f.typ(i), d, f.c.Env)
	case kind == 'I':
		return pgerr.New(pgerr.NullValueNotAllowed, "null values cannot be formatted as an SQL identifier")
	}
	switch {
	case kind == 'I':
		s = QuoteIdent(s)
	case kind == 'L' && d.IsNull():
		s = "NULL"
	case kind == 'L':
		s = QuoteLiteral(s)
	}
	fill := strings.Repeat(" ", max(width-charLength(s), 0))
	if left {
		f.out.WriteString(s + fill)
	} else {
		f.out.WriteString(fill + s)
	}
	return nil
}
