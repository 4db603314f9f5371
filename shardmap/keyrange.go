package shardmap

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
)

// KeyRange is a half-open range of encoded keys, compared as bytes. An empty Start is the lowest
// key, an empty End lies above all.
type KeyRange struct {
	Start, End []byte
}

// ParseKeyRange reads the name of a key range as Vitess writes it: start and end in hexadecimal,
// separated by a hyphen. "-40", "40-80", "c0-", "-".
func ParseKeyRange(name string) (KeyRange, error) {
	from, to, ok := strings.Cut(name, "-")
	start, err := hex.DecodeString(from)
	end, err2 := hex.DecodeString(to)
	if !ok || err != nil || err2 != nil {
		return KeyRange{}, fmt.Errorf("%q is not the name of a key range such as 40-80", name)
	}
	if len(end) > 0 && bytes.Compare(start, end) >= 0 {
		return KeyRange{}, fmt.Errorf("key range %q is empty", name)
	}
	return KeyRange{start, end}, nil
}

// String is the name that ParseKeyRange reads.
func (k KeyRange) String() string {
	return hex.EncodeToString(k.Start) + "-" + hex.EncodeToString(k.End)
}

// Contains reports whether a key lies in the range.
func (k KeyRange) Contains(key []byte) bool {
	return bytes.Compare(key, k.Start) >= 0 && (len(k.End) == 0 || bytes.Compare(key, k.End) < 0)
}

// Before reports whether k ends where l starts.
func (k KeyRange) Before(l KeyRange) bool { return len(k.End) > 0 && bytes.Equal(k.End, l.Start) }

// KeyRange is the interval as a range of keys: a bucket's key is its number in the upper 20 bits of
// three bytes, zero bytes at the end left out.
func (v Interval) KeyRange() KeyRange {
	key := func(b uint32) []byte {
		b <<= 4
		return bytes.TrimRight([]byte{byte(b >> 16), byte(b >> 8), byte(b)}, "\x00")
	}
	k := KeyRange{Start: key(v.Lo)}
	if v.Hi < BucketCount {
		k.End = key(v.Hi)
	}
	return k
}
