package builtin

import (
	"math"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// textSubstr has substring and overlay by position, for text and bytea.
var textSubstr = map[string]Func{
	"text_substr": textSubstring, "text_substr_no_len": textSubstring,
	"bytea_substr": byteaSubstring, "bytea_substr_no_len": byteaSubstring,
	"textoverlay": textOverlay, "textoverlay_no_len": textOverlay,
	"byteaoverlay": byteaOverlay, "byteaoverlay_no_len": byteaOverlay,
	"byteaGetByte": byteaGetByte, "byteaSetByte": byteaSetByte, "byteaGetBit": byteaGetBit, "byteaSetBit": byteaSetBit,
	"bytea_bit_count": byteaBitCount,
}

// bounds converts start (from 1, but may be lower) and an optional length to a half-open range from
// 0, which may extend beyond the text.
func bounds(args []types.Datum) (from, to int64, err error) {
	start := args[0].N
	if len(args) < 2 {
		return max(start-1, 0), math.MaxInt64, nil
	}
	length := args[1].N
	if length < 0 {
		return 0, 0, pgerr.New(pgerr.SubstringError, "negative substring length not allowed")
	}
	end := start - 1 + length
	if end <= 0 {
		return 0, 0, nil
	}
	return max(start-1, 0), end, nil
}

func textSubstring(_ *Ctx, a []types.Datum) (types.Datum, error) {
	from, to, err := bounds(a[1:])
	if err != nil {
		return types.Null, err
	}
	return types.NewText(sliceChars(a[0].S, from, to)), nil
}

func sliceChars(s string, from, to int64) string {
	s = s[charOffset(s, int(min(from, maxText))):]
	return s[:charOffset(s, int(min(to-from, maxText)))]
}

func byteaSubstring(_ *Ctx, a []types.Datum) (types.Datum, error) {
	from, to, err := bounds(a[1:])
	if err != nil {
		return types.Null, err
	}
	return types.NewBytes(sliceBytes(a[0].S, from, to)), nil
}

func sliceBytes(s string, from, to int64) string {
	size := int64(len(s))
	return s[min(from, size):min(max(to, from), size)]
}

// overlayRange returns the range that overlay replaces: [0, from) and [to, …) of the text are kept.
func overlayRange(a []types.Datum, size int) (from, to int64, err error) {
	start, length := a[2].N, int64(size)
	if len(a) > 3 {
		length = a[3].N
	}
	if start <= 0 {
		return 0, 0, pgerr.New(pgerr.SubstringError, "negative substring length not allowed")
	}
	end := start + length
	if end > math.MaxInt32 {
		return 0, 0, int4Range()
	}
	return start - 1, max(end-1, 0), nil
}

func textOverlay(_ *Ctx, a []types.Datum) (types.Datum, error) {
	from, to, err := overlayRange(a, charLength(a[1].S))
	if err != nil {
		return types.Null, err
	}
	return types.NewText(sliceChars(a[0].S, 0, from) + a[1].S + sliceChars(a[0].S, to, math.MaxInt64)), nil
}

func byteaOverlay(_ *Ctx, a []types.Datum) (types.Datum, error) {
	from, to, err := overlayRange(a, len(a[1].S))
	if err != nil {
		return types.Null, err
	}
	return types.NewBytes(sliceBytes(a[0].S, 0, from) + a[1].S + sliceBytes(a[0].S, to, math.MaxInt64)), nil
}

func indexOutOfRange(i, last int64) error {
	return pgerr.New(pgerr.ArraySubscriptError, "index %d out of valid range, 0..%d", i, last)
}

func byteaGetByte(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if n := a[1].N; n < 0 || n >= int64(len(a[0].S)) {
		return types.Null, indexOutOfRange(n, int64(len(a[0].S))-1)
	}
	return types.NewInt(int64(a[0].S[a[1].N])), nil
}

func byteaSetByte(_ *Ctx, a []types.Datum) (types.Datum, error) {
	if n := a[1].N; n < 0 || n >= int64(len(a[0].S)) {
		return types.Null, indexOutOfRange(n, int64(len(a[0].S))-1)
	}
	b := []byte(a[0].S)
	b[a[1].N] = byte(a[2].N)
	return types.NewBytes(string(b)), nil
}

func byteaGetBit(_ *Ctx, a []types.Datum) (types.Datum, error) {
	n, size := a[1].N, int64(len(a[0].S))*8
	if n < 0 || n >= size {
		return types.Null, indexOutOfRange(n, size-1)
	}
	return types.NewInt(int64(a[0].S[n/8] >> (n % 8) & 1)), nil
}

func byteaSetBit(_ *Ctx, a []types.Datum) (types.Datum, error) {
	n, size := a[1].N, int64(len(a[0].S))*8
	if n < 0 || n >= size {
		return types.Null, indexOutOfRange(n, size-1)
	}
	if a[2].N != 0 && a[2].N != 1 {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "new bit must be 0 or 1")
	}
	b := []byte(a[0].S)
	b[n/8] = b[n/8]&^(1<<(n%8)) | byte(a[2].N)<<(n%8)
	return types.NewBytes(string(b)), nil
}

func byteaBitCount(_ *Ctx, a []types.Datum) (types.Datum, error) {
	return types.NewInt(onesIn(a[0].S)), nil
}
