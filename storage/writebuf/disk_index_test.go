package writebuf

import (
	"encoding/binary"
	"math/rand"
	"testing"
)

// TestSpillIndexAgainstModel puts keys in, moves and removes them at random, and compares with a
// map. Of the hashes some differ in few bits, so that tags and homes collide.
func TestSpillIndexAgainstModel(t *testing.T) {
	rnd := rand.New(rand.NewSource(3))
	var x spillIndex
	model, keys, next := map[uint64]int64{}, []uint64{}, int64(0)
	for range 40_000 {
		next++
		at := next * recordAlign
		switch n := rnd.Intn(10); {
		case n < 2 && len(keys) > 0:
			i := rnd.Intn(len(keys))
			hash := keys[i]
			s, ok := x.has(hash, model[hash])
			if !ok {
				t.Fatalf("hash %x is not at %d", hash, model[hash])
			}
			x.remove(s)
			delete(model, hash)
			keys[i] = keys[len(keys)-1]
			keys = keys[:len(keys)-1]
		case n < 4 && len(keys) > 0:
			hash := keys[rnd.Intn(len(keys))]
			s, _ := x.has(hash, model[hash])
			x.set(s, at)
			model[hash] = at
		default:
			hash := rnd.Uint64()
			if rnd.Intn(3) == 0 {
				hash = uint64(rnd.Intn(4))<<62 | hash>>40<<36
			}
			if _, ok := model[hash]; !ok {
				x.add(hash, at)
				keys, model[hash] = append(keys, hash), at
			}
		}
	}
	if x.used != len(model) {
		t.Fatalf("%d entries, not %d", x.used, len(model))
	}
	for hash, at := range model {
		if _, ok := x.has(hash, at); !ok {
			t.Fatalf("hash %x is not at %d", hash, at)
		}
		if _, ok := x.has(hash, at+recordAlign*(next+1)); ok {
			t.Fatalf("hash %x is where it never was", hash)
		}
	}
	for _, hash := range keys {
		s, _ := x.has(hash, model[hash])
		x.remove(s)
	}
	for i, p := range x.parts {
		for slot, tag := range p.tags {
			if tag != 0 {
				t.Fatalf("part %d has a tag at %d after all were removed", i, slot)
			}
		}
	}
}

// TestMemoryOfIndex bounds what a large buffer holds of each key in memory.
func TestMemoryOfIndex(t *testing.T) {
	const keys, most = 200_000, 9
	var x spillIndex
	for i := range keys {
		x.add(keyHash(binary.BigEndian.AppendUint64(rowKey(i), uint64(i))), int64(i)*recordAlign)
	}
	bytes := 0
	for _, p := range x.parts {
		bytes += 2*cap(p.tags) + 4*cap(p.units)
	}
	if bytes > most*keys {
		t.Errorf("the index takes %.1f bytes of a key, more than %d", float64(bytes)/keys, most)
	}
}
