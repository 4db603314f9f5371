package balance

import (
	"bytes"
	"cmp"
	"slices"
)

// KeyAt is a key of a segment and how many of its bytes lie before it.
type KeyAt struct {
	Key    []byte
	Before int64
}

// mostParts bounds the parts of one split.
const mostParts = 16

// CutBySize chooses the keys at which a segment above a limit is split for its size, so that each
// part has about half of the limit. If keys only grow, or only fall, the part without new writes is
// left nearly full. keys are in order, size is the bytes of all; written are keys that were
// written, the oldest first. It returns none if nothing can be cut.
func CutBySize(keys []KeyAt, size, limit int64, written [][]byte) (cuts [][]byte) {
	var wants []int64
	full := max(min(limit, size)*9/10, 1)
	high, low := nearest(keys, size-size/10), nearest(keys, size/10)
	switch parts := min(max((2*size+limit/2)/max(limit, 1), 2), mostParts); {
	case high != nil && tends(written, high.Key, 1):
		for at := full; at < size && len(wants) < mostParts-1; at += full {
			wants = append(wants, at)
		}
	case low != nil && tends(written, low.Key, -1):
		for at := size - full; at > 0 && len(wants) < mostParts-1; at -= full {
			wants = append(wants, at)
		}
		slices.Reverse(wants)
	default:
		for i := range parts - 1 {
			wants = append(wants, size/parts*(i+1))
		}
	}
	for _, want := range wants {
		if at := nearest(keys, want); at != nil && (len(cuts) == 0 || bytes.Compare(cuts[len(cuts)-1], at.Key) < 0) {
			cuts = append(cuts, at.Key)
		}
	}
	return cuts
}

// tends reports whether written keys always move in one direction, up (1) or down (-1), and have
// passed a key: most of the newer half are beyond nearly all of the older half.
func tends(written [][]byte, key []byte, way int) bool {
	if len(written) < fewestWritten {
		return false
	}
	behind := func(list [][]byte, key []byte) (n int) {
		for _, k := range list {
			if way*bytes.Compare(k, key) >= 0 {
				n++
			}
		}
		return n
	}
	older, newer := slices.Clone(written[:len(written)/2]), written[len(written)/2:]
	slices.SortFunc(older, func(a, b []byte) int { return way * bytes.Compare(a, b) })
	newest := written[len(written)-4:]
	return 4*behind(newer, older[len(older)-len(older)/8-1]) >= 3*len(newer) && behind(newest, key) >= 3
}

// nearest returns the key that has a number of bytes before it most nearly. It leaves out keys with
// nothing before them.
func nearest(keys []KeyAt, want int64) (best *KeyAt) {
	off := func(k *KeyAt) int64 { return max(k.Before-want, want-k.Before) }
	for i := range keys {
		if k := &keys[i]; k.Before > 0 && (best == nil || off(k) < off(best)) {
			best = k
		}
	}
	return best
}

// fewestWritten is how many written keys must be known before anything is concluded from them.
const fewestWritten = 16

// CutByWrites chooses the key at which a segment is split for its writes: the one that divides the
// writes most evenly, if each part has at least a quarter of both the older and the newer writes.
// So a single hot key is not cut off. A segment whose keys only grow is not cut at all, because the
// heat would be in one part again. written are keys that were written, the oldest first. It returns
// nil if no split helps.
func CutByWrites(written [][]byte) []byte {
	if len(written) < fewestWritten {
		return nil
	}
	older, newer := written[:len(written)/2], written[len(written)/2:]
	share := func(list [][]byte, key []byte) float64 {
		n := 0
		for _, k := range list {
			if bytes.Compare(k, key) >= 0 {
				n++
			}
		}
		return float64(n) / float64(len(list))
	}
	type candidate struct {
		key []byte
		off float64
	}
	var fit []candidate
	for _, k := range written {
		a, b := share(older, k), share(newer, k)
		if min(a, b) >= 0.25 && max(a, b) <= 0.75 {
			fit = append(fit, candidate{k, max(a+b-1, 1-a-b)})
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return slices.MinFunc(fit, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(x.off, y.off), bytes.Compare(x.key, y.key))
	}).key
}
