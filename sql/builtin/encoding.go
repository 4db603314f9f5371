package builtin

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"math/bits"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// encoding is digests, encode and decode, and conversion between text and bytea.
var encoding = map[string]Func{
	"md5_text": md5Of, "md5_bytea": md5Of,
	"sha224_bytea": func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		sum := sha256.Sum224([]byte(a[0].S))
		return types.NewBytes(string(sum[:])), nil
	},
	"sha256_bytea": func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		sum := sha256.Sum256([]byte(a[0].S))
		return types.NewBytes(string(sum[:])), nil
	},
	"sha384_bytea": func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		sum := sha512.Sum384([]byte(a[0].S))
		return types.NewBytes(string(sum[:])), nil
	},
	"sha512_bytea": func(_ *Ctx, a []types.Datum) (types.Datum, error) {
		sum := sha512.Sum512([]byte(a[0].S))
		return types.NewBytes(string(sum[:])), nil
	},
	"binary_encode": binaryEncode, "binary_decode": binaryDecode, "to_hex32": toHex32, "to_hex64": toHex64,
	"pg_convert_from": convertFrom, "pg_convert_to": convertTo, "length_in_encoding": lengthInEncoding,
}

func md5Of(_ *Ctx, a []types.Datum) (types.Datum, error) {
	sum := md5.Sum([]byte(a[0].S))
	return types.NewText(hex.EncodeToString(sum[:])), nil
}

func onesIn(s string) int64 {
	n := 0
	for i := 0; i < len(s); i++ {
		n += bits.OnesCount8(s[i])
	}
	return int64(n)
}

func toHex32(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewText(strconv.FormatUint(uint64(uint32(a[0].N)), 16)), nil
}

func toHex64(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewText(strconv.FormatUint(uint64(a[0].N), 16)), nil
}

func unknownEncoding(name string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "unrecognized encoding: \"%s\"", name)
}

func binaryEncode(_ *Ctx, a []types.Datum) (types.Datum, error) {
	switch strings.ToLower(a[1].S) {
	case "hex":
		return types.NewText(hex.EncodeToString([]byte(a[0].S))), nil
	case "base64":
		return types.NewText(wrapLines(base64.StdEncoding.EncodeToString([]byte(a[0].S)))), nil
	case "escape":
		return types.NewText(escapeBytes(a[0].S)), nil
	}
	return types.Null, unknownEncoding(a[1].S)
}

// wrapLines breaks base64 after 76 characters, as MIME does; PostgreSQL ends no last line.
func wrapLines(s string) string {
	const width = 76
	if len(s) <= width {
		return s
	}
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width])
		b.WriteByte('\n')
		s = s[width:]
	}
	b.WriteString(s)
	return b.String()
}

func escapeBytes(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == 0 || c >= 0x80:
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		case c == '\\':
			b = append(b, '\\', '\\')
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

func binaryDecode(_ *Ctx, a []types.Datum) (types.Datum, error) {
	decode := map[string]func(string) (string, error){"hex": decodeHex, "base64": decodeBase64, "escape": unescapeBytes}[strings.ToLower(a[1].S)]
	if decode == nil {
		return types.Null, unknownEncoding(a[1].S)
	}
	s, err := decode(a[0].S)
	if err != nil {
		return types.Null, err
	}
	return types.NewBytes(s), nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func decodeHex(s string) (string, error) {
	b := make([]byte, 0, len(s)/2)
	for i := 0; i < len(s); {
		if isBlank(s[i]) {
			i++
			continue
		}
		high, ok := hexDigit(s[i])
		if !ok {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal digit: \"%s\"", sliceChars(s[i:], 0, 1))
		}
		if i++; i >= len(s) {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		low, ok := hexDigit(s[i])
		if !ok {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal digit: \"%s\"", sliceChars(s[i:], 0, 1))
		}
		b = append(b, high<<4|low)
		i++
	}
	return string(b), nil
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

func decodeBase64(s string) (string, error) {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && isBlank(byte(r)) {
			return -1
		}
		return r
	}, s)
	for i, r := range s {
		if !(r == '+' || r == '/' || r == '=' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid symbol \"%c\" found while decoding base64 sequence", r)
		}
		if r == '=' && i%4 < 2 {
			return "", pgerr.New(pgerr.InvalidParameterValue, "unexpected \"=\" while decoding base64 sequence")
		}
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", pgerr.New(pgerr.InvalidParameterValue, "invalid base64 end sequence").
			WithHint("Input data is missing padding, is truncated, or is otherwise corrupted.")
	}
	return string(b), nil
}

func unescapeBytes(s string) (string, error) {
	octal := func(c, limit byte) bool { return c >= '0' && c <= limit }
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			b = append(b, s[i])
		case i+1 < len(s) && s[i+1] == '\\':
			b = append(b, '\\')
			i++
		case i+3 < len(s) && octal(s[i+1], '3') && octal(s[i+2], '7') && octal(s[i+3], '7'):
			b = append(b, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		default:
			return "", pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type bytea")
		}
	}
	return string(b), nil
}

// isUTF8Name tells whether an encoding's name means UTF-8 or needs no conversion to it.
func isUTF8Name(name string) bool {
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(name)) {
	case "utf8", "unicode":
		return true
	}
	return false
}

func noConversion(name string) error {
	return pgerr.Unsupported("conversion between UTF8 and \"%s\" is not supported", name).WithHint("Use UTF8.")
}

func convertFrom(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if !isUTF8Name(a[1].S) {
		return types.Null, noConversion(a[1].S)
	}
	if err := types.ValidateText(a[0].S); err != nil {
		return types.Null, err
	}
	return types.NewText(a[0].S), nil
}

func convertTo(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if !isUTF8Name(a[1].S) {
		return types.Null, noConversion(a[1].S)
	}
	return types.NewBytes(a[0].S), nil
}

func lengthInEncoding(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if !isUTF8Name(a[1].S) {
		return types.Null, noConversion(a[1].S)
	}
	if err := types.ValidateText(a[0].S); err != nil {
		return types.Null, err
	}
	return types.NewInt(int64(charLength(a[0].S))), nil
}
