package writebuf

import "math/bits"

// spillIndex is a hash table from keys to the positions of their records in a buffer's file. It
// holds no keys: a search compares with the key of the record.
//
// It is cut into parts by the key's hash. Each part grows by itself and in small steps, so that
// there are 7 to 9 bytes for a key and never two tables of nearly all of them.
type spillIndex struct {
	parts []spillPart // none, or indexParts
	used  int
}

// spillPart is a table with linear probing. A tag is a part of the hash, by which the search
// begins, plus one; 0 is a free slot.
type spillPart struct {
	tags  []uint16
	units []uint32 // positions by recordAlign
	used  int
}

// spillSlot names a slot.
type spillSlot struct{ part, slot int }

const (
	indexPartBits = 8
	indexParts    = 1 << indexPartBits
	indexTags     = 1<<16 - 1
	indexLeast    = 16 // slots
)

// indexPlace returns the part and the tag of a key with this hash, which are different bits of it.
func indexPlace(hash uint64) (part int, tag uint16) {
	hi, _ := bits.Mul64(hash<<indexPartBits, indexTags)
	return int(hash >> (64 - indexPartBits)), uint16(hi) + 1
}

// home returns the slot where the search for a tag begins.
func (p *spillPart) home(tag uint16) int { return int(uint64(tag-1) * uint64(len(p.tags)) / indexTags) }

func (p *spillPart) next(slot int) int {
	if slot++; slot < len(p.tags) {
		return slot
	}
	return 0
}

// free returns the slot for a new entry with a tag.
func (p *spillPart) free(tag uint16) int {
	slot := p.home(tag)
	for p.tags[slot] != 0 {
		slot = p.next(slot)
	}
	return slot
}

func (p *spillPart) put(tag uint16, unit uint32) {
	slot := p.free(tag)
	p.tags[slot], p.units[slot] = tag, unit
}

// makeRoom leaves an eighth of the slots free; there is always a free one where a search ends.
func (p *spillPart) makeRoom() {
	if 8*(p.used+1) <= 7*len(p.tags) {
		return
	}
	old := *p
	n := max(indexLeast, len(old.tags)+len(old.tags)/4)
	p.tags, p.units = make([]uint16, n), make([]uint32, n)
	for i, tag := range old.tags {
		if tag != 0 {
			p.put(tag, old.units[i])
		}
	}
}

// each calls fn with the places that a key with this hash may have, until it is true.
func (x *spillIndex) each(hash uint64, fn func(s spillSlot, at int64) bool) {
	if x.used == 0 {
		return
	}
	n, tag := indexPlace(hash)
	p := &x.parts[n]
	if p.used == 0 {
		return
	}
	for slot := p.home(tag); p.tags[slot] != 0; slot = p.next(slot) {
		if p.tags[slot] == tag && fn(spillSlot{n, slot}, int64(p.units[slot])*recordAlign) {
			return
		}
	}
}

// has reports whether a key with this hash has its last record at a position, and returns its slot.
func (x *spillIndex) has(hash uint64, at int64) (s spillSlot, ok bool) {
	x.each(hash, func(got spillSlot, place int64) bool {
		s, ok = got, place == at
		return ok
	})
	return s, ok
}

// add puts in a key that is not there.
func (x *spillIndex) add(hash uint64, at int64) {
	if x.parts == nil {
		x.parts = make([]spillPart, indexParts)
	}
	n, tag := indexPlace(hash)
	p := &x.parts[n]
	p.makeRoom()
	p.put(tag, uint32(at/recordAlign))
	p.used++
	x.used++
}

func (x *spillIndex) set(s spillSlot, at int64) {
	x.parts[s.part].units[s.slot] = uint32(at / recordAlign)
}

// remove frees a slot and closes the gap, since a search ends at a free slot.
func (x *spillIndex) remove(s spillSlot) {
	p := &x.parts[s.part]
	x.used--
	p.used--
	gap, n := s.slot, len(p.tags)
	for i := p.next(gap); p.tags[i] != 0; i = p.next(i) {
		// The entry may fill the gap unless its home lies behind it, going round from the gap to i.
		if (i-p.home(p.tags[i])+n)%n >= (i-gap+n)%n {
			p.tags[gap], p.units[gap] = p.tags[i], p.units[i]
			gap = i
		}
	}
	p.tags[gap] = 0
}
