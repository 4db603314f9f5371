package builtin

import (
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/types"
)

// isoEnv returns an Env with ISO dates, as JSON requires, whatever the session's DateStyle is.
func isoEnv(env *types.Env) *types.Env {
	e := types.Env{}
	if env != nil {
		e = *env
	}
	e.DateFormat = types.DateISO
	return &e
}

// jsonTime returns the ISO 8601 form of a date or timestamp.
func jsonTime(typ uint32, d types.Datum, env *types.Env) string {
	s := types.Output(typ, d, isoEnv(env))
	if typ == types.Date || isInfinite(d.N) {
		return s
	}
	s = strings.Replace(s, " ", "T", 1)
	if typ == types.TimestampTZ {
		if i := strings.LastIndexAny(s, "+-"); i > 0 && len(strings.TrimSuffix(s[i:], " BC")) == len("+00") {
			s = s[:i+3] + ":00" + s[i+3:]
		}
	}
	return s
}

// jsonScalar returns the text of a value that JSON represents as a string.
func jsonScalar(typ uint32, d types.Datum, env *types.Env) string {
	switch typ {
	case types.Date, types.Timestamp, types.TimestampTZ:
		return jsonTime(typ, d, env)
	}
	return types.Output(typ, d, env)
}

// jsonNumber returns the text of a number; ok is false for NaN, infinities, and values that are not
// numbers.
func jsonNumber(typ uint32, d types.Datum, env *types.Env) (s string, ok bool) {
	switch d.K {
	case types.KindInt:
		if typ == types.CharInternal || typ == types.Money {
			return "", false
		}
		return strconv.FormatInt(d.N, 10), true
	case types.KindFloat4, types.KindFloat8, types.KindNumeric:
		s = types.Output(typ, d, env)
		return s, s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9'
	}
	return "", false
}

// fieldNames returns the names of a record's fields: those stored in it, those of its type if the
// type is named, or f1, f2 …
func (c *Ctx) fieldNames(typ uint32, r *types.RecordValue) []string {
	var columns []Column
	if types.IsComposite(typ) {
		columns, _ = c.columnsOf(typ)
	}
	if names := r.Names(); columns == nil && len(names) == r.Len() {
		return names
	}
	if columns == nil && typ != types.Record {
		columns, _ = c.columnsOf(typ)
	}
	names := make([]string, r.Len())
	for i := range names {
		if i < len(columns) {
			names[i] = columns[i].Name
		} else {
			names[i] = "f" + strconv.Itoa(i+1)
		}
	}
	return names
}

// addJSONB adds a value of any type to a document.
func (c *Ctx) addJSONB(b *jsonb.Builder, typ uint32, d types.Datum) error {
	switch d.K {
	case types.KindNull:
		b.Null()
	case types.KindBool:
		b.Bool(d.Bool())
	case types.KindJSONB:
		b.Doc(doc(d))
	case types.KindArray:
		a, err := types.ArrayOf(d)
		if err != nil {
			return err
		}
		return c.addArray(b, a)
	case types.KindRecord:
		return c.addRecord(b, typ, d)
	default:
		if n, ok := jsonNumber(typ, d, c.Env); ok {
			b.Number(n)
			return nil
		}
		if typ == types.JSON {
			v, err := jsonb.Parse(d.S)
			b.Doc(v)
			return err
		}
		b.Str(jsonScalar(typ, d, c.Env))
	}
	return nil
}

func (c *Ctx) addArray(b *jsonb.Builder, a types.Array) error {
	next := 0
	var level func(dim int) error
	level = func(dim int) error {
		b.BeginArray()
		defer b.End()
		if a.NDim == 0 {
			return nil
		}
		for range a.Dim(dim) {
			var err error
			if dim+1 < a.NDim {
				err = level(dim + 1)
			} else {
				err = c.addJSONB(b, a.Elem, a.At(next))
				next++
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return level(0)
}

func (c *Ctx) addRecord(b *jsonb.Builder, typ uint32, d types.Datum) error {
	r, err := types.RecordOf(d)
	if err != nil {
		return err
	}
	b.BeginObject()
	for i, name := range c.fieldNames(typ, &r) {
		b.Key(name)
		if err := c.addJSONB(b, r.Type(i), r.At(i)); err != nil {
			return err
		}
	}
	b.End()
	return nil
}

// jsonKey returns the text of an object's key.
func (c *Ctx) jsonKey(typ uint32, d types.Datum) (string, error) {
	switch d.K {
	case types.KindArray, types.KindRecord, types.KindJSONB:
		return "", keyNotScalar()
	case types.KindBool:
		if d.Bool() {
			return "true", nil
		}
		return "false", nil
	}
	if typ == types.JSON {
		return "", keyNotScalar()
	}
	return jsonScalar(typ, d, c.Env), nil
}

func keyNotScalar() error {
	return pgerr.New(pgerr.InvalidParameterValue, "key value must be scalar, not array, composite, or json")
}

// appendJSON appends a value of any type as json text.
func (c *Ctx) appendJSON(b []byte, typ uint32, d types.Datum, pretty bool) ([]byte, error) {
	switch d.K {
	case types.KindNull:
		return append(b, "null"...), nil
	case types.KindBool:
		return strconv.AppendBool(b, d.Bool()), nil
	case types.KindJSONB:
		return doc(d).AppendText(b), nil
	case types.KindArray:
		a, err := types.ArrayOf(d)
		if err != nil {
			return b, err
		}
		next := 0
		return c.appendJSONArray(b, &a, 0, &next, pretty)
	case types.KindRecord:
		return c.appendJSONRecord(b, typ, d, pretty)
	}
	if n, ok := jsonNumber(typ, d, c.Env); ok {
		return append(b, n...), nil
	}
	if typ == types.JSON {
		return append(b, d.S...), nil
	}
	return jsonb.AppendQuoted(b, jsonScalar(typ, d, c.Env)), nil
}

// appendJSONArray appends one dimension; if pretty is set, lines break after the elements of the
// outermost one.
func (c *Ctx) appendJSONArray(b []byte, a *types.Array, dim int, next *int, pretty bool) (_ []byte, err error) {
	b = append(b, '[')
	for i := int32(0); a.NDim > 0 && i < a.Dim(dim); i++ {
		if i > 0 {
			b = append(b, ',')
			if pretty {
				b = append(b, "\n "...)
			}
		}
		if dim+1 < a.NDim {
			b, err = c.appendJSONArray(b, a, dim+1, next, false)
		} else {
			b, err = c.appendJSON(b, a.Elem, a.At(*next), false)
			*next++
		}
		if err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func (c *Ctx) appendJSONRecord(b []byte, typ uint32, d types.Datum, pretty bool) (_ []byte, err error) {
	r, err := types.RecordOf(d)
	if err != nil {
		return b, err
	}
	b = append(b, '{')
	for i, name := range c.fieldNames(typ, &r) {
		if i > 0 {
			b = append(b, ',')
			if pretty {
				b = append(b, "\n "...)
			}
		}
		b = append(jsonb.AppendQuoted(b, name), ':')
		if b, err = c.appendJSON(b, r.Type(i), r.At(i), false); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}
