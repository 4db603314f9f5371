package builtin

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"math/bits"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// encoding has digests, encode and decode, and conversion between text and bytea.
var encoding = map[string]Func{
	"md5_text": md5Of, "md5_bytea": md5Of,
	"sha224_bytea": digest(sha256.New224), "sha256_bytea": digest(sha256.New),
	"sha384_bytea": digest(sha512.New384), "sha512_bytea": digest(sha512.New),
	"binary_encode": binaryEncode, "binary_decode": binaryDecode, "to_hex32": toHex32, "to_hex64": toHex64,
	"pg_convert_from": convertFrom, "pg_convert_to": convertTo, "length_in_encoding": lengthInEncoding,
}

func md5Of(c *Ctx, a []types.Datum) (types.Datum, error) {
	sum, err := c.hash(md5.New(), a[0].S)
	return types.NewText(hex.EncodeToString(sum)), err
}

func digest(algorithm func() hash.Hash) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		sum, err := c.hash(algorithm(), a[0].S)
		return types.NewBytes(string(sum)), err
	}
}

func (c *Ctx) hash(h hash.Hash, s string) ([]byte, error) {
	err := c.pieces(s, func(piece string) { io.WriteString(h, piece) })
	return h.Sum(nil), err
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

func binaryEncode(c *Ctx, a []types.Datum) (types.Datum, error) {
	const line = 57 // bytes of a line of base64
	size, encode := stride, escapeBytes
	switch strings.ToLower(a[1].S) {
	case "hex":
		encode = func(s string) string { return hex.EncodeToString([]byte(s)) }
	case "base64":
		size = stride / line * line
		encode = func(s string) string { return wrapLines(base64.StdEncoding.EncodeToString([]byte(s))) }
	case "escape":
	default:
		return types.Null, unknownEncoding(a[1].S)
	}
	b, s := c.builder(), a[0].S
	for len(s) > size {
		end := ""
		if size < stride {
			end = "\n"
		}
		if err := b.add(encode(s[:size]), end); err != nil {
			return types.Null, err
		}
		s = s[size:]
	}
	return b.text(encode(s))
}

// wrapLines breaks base64 after 76 characters, as in MIME; like PostgreSQL, it does not end the
// last line.
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

func binaryDecode(c *Ctx, a []types.Datum) (types.Datum, error) {
	decode := map[string]func(*Ctx, string) (string, error){
		"hex": decodeHex, "base64": decodeBase64, "escape": unescapeBytes,
	}[strings.ToLower(a[1].S)]
	if decode == nil {
		return types.Null, unknownEncoding(a[1].S)
	}
	s, err := decode(c, a[0].S)
	if err != nil {
		return types.Null, err
	}
	return types.NewBytes(s), nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func decodeHex(c *Ctx, s string) (string, error) {
	b, p := make([]byte, 0, len(s)/2), c.pace()
	for i := 0; i < len(s); {
		if err := p.spend(2); err != nil {
			return "", err
		}
		if isBlank(s[i]) {
			i++
			continue
		}
		high, ok := hexDigit(s[i])
		if !ok {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal digit: \"%s\"",
				sliceChars(s[i:], 0, 1))
		}
		if i++; i >= len(s) {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		low, ok := hexDigit(s[i])
		if !ok {
			return "", pgerr.New(pgerr.InvalidParameterValue, "invalid hexadecimal digit: \"%s\"",
				sliceChars(s[i:], 0, 1))
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

func decodeBase64(c *Ctx, s string) (string, error) {
	s, err := c.mapText(s, func(r rune) rune {
		if r < 0x80 && isBlank(byte(r)) {
			return -1
		}
		return r
	})
	if err != nil {
		return "", err
	}
	p := c.pace()
	for i, r := range s {
		if err := p.spend(1); err != nil {
			return "", err
		}
		if !(r == '+' || r == '/' || r == '=' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return "", pgerr.New(pgerr.InvalidParameterValue,
				"invalid symbol \"%c\" found while decoding base64 sequence", r)
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

func unescapeBytes(c *Ctx, s string) (string, error) {
	p := c.pace()
	octal := func(c, limit byte) bool { return c >= '0' && c <= limit }
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if err := p.spend(1); err != nil {
			return "", err
		}
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

// isUTF8Name reports whether an encoding's name is that of UTF-8 or of an encoding that needs no
// conversion to it.
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
