package types

import (
	"strings"
)

// appendArray appends the text form: bounds if one is not 1, braces, and elements, quoted if the
// syntax requires it.
func appendArray(dst []byte, oid OID, d Datum, env *Env) []byte {
	a, err := ArrayOf(d)
	if err != nil || a.NDim == 0 {
		if oid == Int2Vector || oid == OidVector {
			return dst
		}
		return append(dst, "{}"...)
	}
	if oid == Int2Vector || oid == OidVector {
		for i := 0; i < a.Len(); i++ {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = AppendInt(dst, a.At(i).N)
		}
		return dst
	}
	dst = appendArrayBounds(dst, &a)
	w := arrayWriter{a: &a, env: env}
	return w.level(dst, 0)
}

func appendArrayBounds(dst []byte, a *Array) []byte {
	plain := true
	for i := 0; i < a.NDim; i++ {
		plain = plain && a.Lower(i) == 1
	}
	if plain {
		return dst
	}
	for i := 0; i < a.NDim; i++ {
		dst = append(AppendInt(append(dst, '['), int64(a.Lower(i))), ':')
		dst = append(AppendInt(dst, int64(a.Upper(i))), ']')
	}
	return append(dst, '=')
}

type arrayWriter struct {
	a    *Array
	env  *Env
	next int
}

func (w *arrayWriter) level(dst []byte, depth int) []byte {
	dst = append(dst, '{')
	for i := int32(0); i < w.a.Dim(depth); i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		if depth+1 < w.a.NDim {
			dst = w.level(dst, depth+1)
			continue
		}
		dst = w.element(dst)
	}
	return append(dst, '}')
}

func (w *arrayWriter) element(dst []byte) []byte {
	d := w.a.At(w.next)
	w.next++
	if d.IsNull() {
		return append(dst, "NULL"...)
	}
	start := len(dst)
	dst = AppendOutput(dst, w.a.Elem, d, w.env)
	if d.K == KindInt || d.K == KindBool || !needsArrayQuote(dst[start:]) {
		return dst
	}
	text := string(dst[start:])
	dst = append(dst[:start], '"')
	for i := 0; i < len(text); i++ {
		if text[i] == '"' || text[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, text[i])
	}
	return append(dst, '"')
}

func needsArrayQuote(text []byte) bool {
	if len(text) == 0 || (len(text) == 4 && strings.EqualFold(string(text), "null")) {
		return true
	}
	for _, c := range text {
		switch c {
		case '"', '\\', '{', '}', ',':
			return true
		}
		if isSpace(c) {
			return true
		}
	}
	return false
}

// parseVector parses an int2vector or oidvector: numbers separated by blanks.
func parseVector(oid OID, s string) (Datum, error) {
	var vals []Datum
	for _, f := range strings.Fields(s) {
		if n := skipDigits(f, 0); oid == OidVector && n > 0 && n < len(f) {
			return Null, badSyntax("oid", f[n:])
		}
		d, err := Input(ElemOf(oid), noTypmod, f, nil)
		if err != nil {
			return Null, err
		}
		vals = append(vals, d)
	}
	return NewVector(oid, vals), nil
}
