package locktable

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/txn"
)

// compactSet holds most locks of a large transaction in 8 bytes each: a part of the key's hash, the
// mode, and the lock's number for savepoints. A key that it cannot distinguish from one of its own
// counts as locked too; another transaction then waits although it need not.
//
// Such a lock is not in the table until another request for the row comes; then it is put there,
// together with the request's (Table.unpack). So if a row has an entry in the table, every
// transaction that has its lock has one.
type compactSet struct {
	mu       sync.Mutex   // taken while a stripe's is held
	parts    []setPart    // by the first bits of the tag; none, or setParts; guarded by mu
	used     int          // guarded by mu
	unpacked []*Lock      // those of the set that are in the table; guarded by mu
	tabled   atomic.Int32 // about len(unpacked)
	lo, hi   []byte       // least and greatest key that it has had; guarded by mu
}

// setPart is a table with linear probing; 0 is a free slot. Each part grows by itself and in small
// steps, so that there are never two tables of nearly all locks.
type setPart struct {
	slots []uint64
	used  int
}

// A slot: number(25) · pinned(1) · mode(2) · tag(36), the tag being part of the key's hash. A lock
// that was made stronger or pinned has another slot for that, with a number of its own, so that the
// return to a savepoint undoes it.
const (
	setTagBits   = 36
	setModeBits  = 2
	setPinBit    = setTagBits + setModeBits
	setNumberAt  = setPinBit + 1
	setTagMask   = 1<<setTagBits - 1
	setModeMask  = 1<<setModeBits - 1
	maxSetNumber = 1<<(64-setNumberAt) - 1 // later locks stay in the table

	setPartBits = 8
	setParts    = 1 << setPartBits
	setHomeBits = setTagBits - setPartBits
	setLeast    = 16 // slots of a part
)

func setSlot(hash uint64, mode txn.LockMode, number int32, pins bool) uint64 {
	pin := uint64(codec.Bool(pins)) << setPinBit
	return uint64(number)<<setNumberAt | pin | uint64(mode-1)<<setTagBits | hash>>(64-setTagBits)
}

func slotMode(s uint64) txn.LockMode { return txn.LockMode(s>>setTagBits&setModeMask) + 1 }

func slotPins(s uint64) bool { return s>>setPinBit&1 != 0 }

func slotNumber(s uint64) int32 { return int32(s >> setNumberAt) }

// add puts a lock into the set, or a change that made it stronger or pinned it; pins: it is pinned
// since then.
func (s *compactSet) add(hash uint64, key string, mode txn.LockMode, number int32, pins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil {
		s.parts = make([]setPart, setParts)
	}
	if s.lo == nil || key < string(s.lo) {
		s.lo = append(s.lo[:0], key...)
	}
	if key > string(s.hi) {
		s.hi = append(s.hi[:0], key...)
	}
	x := setSlot(hash, mode, number, pins)
	p := s.part(x)
	if 8*(p.used+1) > 7*len(p.slots) {
		p.resize(max(setLeast, len(p.slots)+len(p.slots)/4), nil)
	}
	p.put(x)
	s.used++
}

// part returns the part of a slot, or of a tag.
func (s *compactSet) part(slot uint64) *setPart { return &s.parts[slot&setTagMask>>setHomeBits] }

// home returns the position at which the search for a slot, or a tag, begins.
func (p *setPart) home(slot uint64) int {
	return int(slot & (1<<setHomeBits - 1) * uint64(len(p.slots)) >> setHomeBits)
}

func (p *setPart) next(i int) int {
	if i++; i < len(p.slots) {
		return i
	}
	return 0
}

func (p *setPart) put(slot uint64) {
	i := p.home(slot)
	for p.slots[i] != 0 {
		i = p.next(i)
	}
	p.slots[i] = slot
	p.used++
}

// resize moves the slots into a table of n, without those for which drop returns true.
func (p *setPart) resize(n int, drop func(slot uint64) bool) {
	old := p.slots
	p.slots, p.used = make([]uint64, n), 0
	for _, x := range old {
		if x != 0 && (drop == nil || !drop(x)) {
			p.put(x)
		}
	}
}

// setLock is the state of a lock in a set: the strongest mode, the least number.
type setLock struct {
	mode   txn.LockMode
	number int32
	pinned bool
}

// find returns what the set may have of a key; its mode is 0 if the set does not have the key.
// Called with mu held.
func (s *compactSet) find(hash uint64) (l setLock) {
	if s.used == 0 {
		return l
	}
	tag := hash >> (64 - setTagBits)
	p := s.part(tag)
	if p.used == 0 {
		return l
	}
	for i := p.home(tag); p.slots[i] != 0; i = p.next(i) {
		x := p.slots[i]
		if x&setTagMask != tag {
			continue
		}
		if n := slotNumber(x); l.mode == 0 || n < l.number {
			l.number = n
		}
		l.mode = max(l.mode, slotMode(x))
		l.pinned = l.pinned || slotPins(x)
	}
	return l
}

// unpack returns the table entry of a key that the set may have, nil if it does not.
func (s *compactSet) unpack(o *Owner, hash uint64, key []byte) *Lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.find(hash)
	if x.mode == 0 {
		return nil
	}
	l := &Lock{key: string(key), owner: o, mode: x.mode, number: x.number, pinned: x.pinned, unpacked: true}
	s.unpacked = append(s.unpacked, l)
	s.tabled.Store(int32(len(s.unpacked)))
	return l
}

// setCut is what a return to a savepoint has removed from a set.
type setCut struct {
	gone []*Lock   // removed locks that are in the table
	pins int       // number of locks that are no longer pinned
	span *txn.Span // in which the others lie, nil if there are none
}

// span returns the span in which the locks lie, nil if there are none.
func (s *compactSet) span() *txn.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == 0 {
		return nil
	}
	return &txn.Span{Start: bytes.Clone(s.lo), End: append(bytes.Clone(s.hi), 0)}
}

// cut removes the locks above a number.
func (s *compactSet) cut(number int) (c setCut) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == 0 {
		return c
	}
	before := s.used
	s.used = 0
	for i := range s.parts {
		p := &s.parts[i]
		p.resize(len(p.slots), func(x uint64) bool {
			drop := int(slotNumber(x)) > number
			if drop && slotPins(x) {
				c.pins++
			}
			return drop
		})
		s.used += p.used
	}
	if s.used < before {
		c.span = &txn.Span{Start: bytes.Clone(s.lo), End: append(bytes.Clone(s.hi), 0)}
	}
	if s.used == 0 {
		s.parts = nil
	}
	s.unpacked = slices.DeleteFunc(s.unpacked, func(l *Lock) bool {
		gone := int(l.number) > number
		if gone {
			c.gone = append(c.gone, l)
		}
		return gone
	})
	return c
}

// state returns the present state of a key's lock in the set.
func (s *compactSet) state(hash uint64) setLock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(hash)
}

// count returns how many locks are in the set and not in the table.
func (s *compactSet) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, s.used-len(s.unpacked))
}

// unpackedLocks returns the locks of the set that are in the table.
func (s *compactSet) unpackedLocks() []*Lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unpacked)
}

// takeUnpacked removes the list of the locks that are in the table from the set, and returns it.
func (s *compactSet) takeUnpacked() []*Lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.unpacked
	s.unpacked = nil
	return list
}

// putBack adds locks that are still in the table.
func (s *compactSet) putBack(list []*Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unpacked = append(s.unpacked, list...)
	s.tabled.Store(int32(len(s.unpacked)))
}
