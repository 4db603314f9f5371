package shardmap

import (
	"sort"
	"unicode/utf8"
)

//go:generate go run gen_lower.go

// lowerRange maps lo, lo+stride, … hi to themselves plus delta.
type lowerRange struct {
	lo, hi rune
	stride rune
	delta  rune
}

// lowerRune returns the frozen simple lower-case mapping of r (B1).
func lowerRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	i := sort.Search(len(lowerTable), func(i int) bool { return lowerTable[i].hi >= r })
	if i == len(lowerTable) {
		return r
	}
	if e := &lowerTable[i]; r >= e.lo && (r-e.lo)%e.stride == 0 {
		return r + e.delta
	}
	return r
}

// isLowerASCII reports whether folding leaves s as it is because s is ASCII without capitals; most
// ids are.
func isLowerASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || ('A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

// appendLower appends s, folded, to dst. Bytes that are no UTF-8 stay as they are.
func appendLower(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[i])
		} else {
			dst = utf8.AppendRune(dst, lowerRune(r))
		}
		i += n
	}
	return dst
}

// Lower folds s by the simple lower-case mapping of Unicode 15.0, as bucket hashing does.
func Lower(s string) string {
	if isLowerASCII(s) {
		return s
	}
	return string(appendLower(make([]byte, 0, len(s)), s))
}
