package types

import (
	"encoding/hex"

	"github.com/sherddb/sherd/internal/pgerr"
)

// parseBytea parses the hex form (\x…) and the escape form.
func parseBytea(s string) (Datum, error) {
	if len(s) >= 2 && s[0] == '\\' && s[1] == 'x' {
		return parseByteaHex(s[2:])
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		switch {
		case i+3 < len(s) && '0' <= s[i+1] && s[i+1] <= '3' && isOctal(s[i+2]) && isOctal(s[i+3]):
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		case i+1 < len(s) && s[i+1] == '\\':
			out = append(out, '\\')
			i++
		default:
			return Null, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type bytea")
		}
	}
	return NewBytes(aliasString(out)), nil
}

func isOctal(c byte) bool { return '0' <= c && c <= '7' }

// parseByteaHex allows blanks between digit pairs.
func parseByteaHex(s string) (Datum, error) {
	out := make([]byte, 0, len(s)/2)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			continue
		}
		hi, ok := hexDigit(c)
		if !ok {
			return Null, badHexDigit(s[i:])
		}
		i++
		if i >= len(s) {
			return Null, pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		lo, ok := hexDigit(s[i])
		if !ok {
			return Null, badHexDigit(s[i:])
		}
		out = append(out, hi<<4|lo)
	}
	return NewBytes(aliasString(out)), nil
}

func badHexDigit(s string) error {
	_, n := firstRune(s)
	return pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal digit: \"%s\"", s[:n])
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

func appendBytea(dst []byte, s string, env *Env) []byte {
	if env == nil || !env.ByteaEscape {
		dst = append(dst, '\\', 'x')
		n := len(dst)
		dst = grow(dst, 2*len(s))
		hex.Encode(dst[n:], []byte(s))
		return dst
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			dst = append(dst, '\\', '\\')
		case c < 0x20 || c > 0x7e:
			dst = append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// parseUUID accepts 32 hex digits in either case, optional braces, and a hyphen after any group of
// four.
func parseUUID(s string) (Datum, error) {
	t := s
	braces := t != "" && t[0] == '{'
	if braces {
		t = t[1:]
	}
	var out [16]byte
	for i := range out {
		if len(t) < 2 {
			return Null, badSyntax("uuid", s)
		}
		hi, ok1 := hexDigit(t[0])
		lo, ok2 := hexDigit(t[1])
		if !ok1 || !ok2 {
			return Null, badSyntax("uuid", s)
		}
		out[i] = hi<<4 | lo
		t = t[2:]
		if t != "" && t[0] == '-' && i%2 == 1 && i < 15 {
			t = t[1:]
		}
	}
	if braces {
		if t == "" || t[0] != '}' {
			return Null, badSyntax("uuid", s)
		}
		t = t[1:]
	}
	if t != "" {
		return Null, badSyntax("uuid", s)
	}
	return Datum{K: KindUUID, S: string(out[:])}, nil
}

func appendUUID(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	for i := 0; i < len(s); i++ {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[s[i]>>4], digits[s[i]&15])
	}
	return dst
}
