package writebuf

import "hash/maphash"

// keyIndex is a hash table from keys to numbers below 2^40, with linear probing. A slot has 24 bits
// of the key's hash, the tag, and the number plus one; 0 is a free slot. It holds no keys: a search
// compares with the key that the number names.
type keyIndex struct {
	slots []uint64
	used  int
}

const (
	tagBits    = 24
	numberBits = 64 - tagBits
	numberMask = 1<<numberBits - 1
)

// tagSeed is of this process: tags are never stored.
var tagSeed = maphash.MakeSeed()

func keyHash(key []byte) uint64 { return maphash.Bytes(tagSeed, key) }

func tagOf(key []byte) uint32 { return uint32(keyHash(key) >> numberBits) }

// slot splits a used slot.
func splitSlot(s uint64) (tag uint32, number int64) {
	return uint32(s >> numberBits), int64(s&numberMask) - 1
}

// home returns the slot where the search for a tag begins; beyond 2^24 slots homes lie apart.
func (x *keyIndex) home(tag uint32) int {
	if n := len(x.slots); n > 1<<tagBits {
		return int(tag) * (n >> tagBits)
	}
	return int(tag) & (len(x.slots) - 1)
}

func (x *keyIndex) next(slot int) int { return (slot + 1) & (len(x.slots) - 1) }

func (x *keyIndex) set(slot int, tag uint32, number int64) {
	if x.slots[slot] == 0 {
		x.used++
	}
	x.slots[slot] = uint64(tag)<<numberBits | uint64(number+1)
}

// slotOf returns the slot that has number, and otherwise the free one for it.
func (x *keyIndex) slotOf(tag uint32, number int64) (slot int, ok bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	want := uint64(tag)<<numberBits | uint64(number+1)
	for slot = x.home(tag); x.slots[slot] != 0; slot = x.next(slot) {
		if x.slots[slot] == want {
			return slot, true
		}
	}
	return slot, false
}

// makeRoom leaves a quarter of the slots free; there is always a free one where a search ends.
func (x *keyIndex) makeRoom() {
	old := x.slots
	if 4*x.used < 3*len(old) {
		return
	}
	x.slots = make([]uint64, max(8, 2*len(old)))
	for _, e := range old {
		if e == 0 {
			continue
		}
		tag, _ := splitSlot(e)
		slot := x.home(tag)
		for x.slots[slot] != 0 {
			slot = x.next(slot)
		}
		x.slots[slot] = e
	}
}

// remove frees a slot and closes the gap, since a search ends at a free slot.
func (x *keyIndex) remove(slot int) {
	x.used--
	gap := slot
	for s := x.next(slot); x.slots[s] != 0; s = x.next(s) {
		tag, _ := splitSlot(x.slots[s])
		home := x.home(tag)
		// The entry may fill the gap unless its home lies behind it, going round from the gap to s.
		if (s-home)&(len(x.slots)-1) >= (s-gap)&(len(x.slots)-1) {
			x.slots[gap] = x.slots[s]
			gap = s
		}
	}
	x.slots[gap] = 0
}
