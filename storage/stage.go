package storage

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/sherddb/sherd/txn"
	"github.com/tidwall/btree"
)

// stage is the write set of an open transaction: a list of operations, of which the last one for each key counts. A mark is a
// length of the list, so statements undo themselves by cutting it, and a view sees what lies below its mark.
//
// The operations' bytes are kept as they will stand in the log, so that a commit copies nothing, and everything about them is
// numbers: a load of millions of rows gives the garbage collector little to look at.
type stage struct {
	ops     []opPlace
	blocks  [][]byte // encoded operations, each block behind headRoom free bytes; never moved, never reused
	index   keyIndex
	order   btree.Map[string, int32] // the first ordered operations by key, made when a scan asks; shares the blocks' memory
	ordered int
	bytes   int64
	mixed   bool // the blocks hold more than the write set: a key was staged twice, or something was undone
}

// opPlace says where an operation is.
type opPlace struct {
	block      int32
	key, value int32 // offsets in the block
	keyLen     int32
	valueLen   int32
	before     int32 // the key's previous operation, -1 if none
	lock       int32 // number of the row's lock in Tx.held, counted from 1; 0: none
	delete     bool
	kept       bool // a put that leaves the row's keys as they were
}

// stagedOp is an operation. Its slices share the block's memory.
type stagedOp struct {
	key, value []byte
	delete     bool
	kept       bool
	lock       int32
}

// Blocks start small, since most transactions write one row, and grow to what one log entry carries.
const (
	firstBlock = 1 << 10
	lastBlock  = maxEntryBody
)

const stagedOverhead = 96 // bytes of bookkeeping for an operation

func (s *stage) at(i int32) stagedOp {
	p := &s.ops[i]
	b := s.blocks[p.block]
	op := stagedOp{key: b[p.key : p.key+p.keyLen : p.key+p.keyLen], delete: p.delete, kept: p.kept, lock: p.lock}
	if !p.delete {
		op.value = b[p.value : p.value+p.valueLen : p.value+p.valueLen]
	}
	return op
}

// block gives the block to which n bytes can be appended.
func (s *stage) block(n int) int32 {
	last := len(s.blocks) - 1
	if last >= 0 && cap(s.blocks[last])-len(s.blocks[last]) >= n {
		return int32(last)
	}
	size := firstBlock
	if last >= 0 {
		size = min(4*cap(s.blocks[last]), lastBlock)
	}
	s.blocks = append(s.blocks, make([]byte, headRoom, max(size, headRoom+n)))
	return int32(last + 1)
}

// put stages an operation: opPut, opPutKept or opDelete.
func (s *stage) put(kind opKind, key, value []byte, lock int32) {
	del := kind == opDelete
	if del {
		value = nil
	}
	n := s.block(1 + 2*binary.MaxVarintLen32 + len(key) + len(value))
	b := appendOp(s.blocks[n], kind, key, value)
	p := opPlace{block: n, keyLen: int32(len(key)), valueLen: int32(len(value)), before: -1, lock: lock, delete: del, kept: kind == opPutKept}
	p.value = int32(len(b) - len(value))
	p.key = p.value - p.keyLen
	if !del {
		p.key -= int32(uvarintLen(len(value)))
	}
	s.blocks[n] = b
	s.index.makeRoom()
	tag := s.index.tag(key)
	slot, i := s.find(tag, key)
	if i >= 0 {
		p.before, s.mixed = i, true
	}
	s.index.set(slot, tag, int32(len(s.ops)))
	s.ops = append(s.ops, p)
	s.bytes += int64(len(key)+len(value)) + stagedOverhead
}

func uvarintLen(n int) int {
	k := 1
	for ; n >= 0x80; n >>= 7 {
		k++
	}
	return k
}

func (s *stage) mark() int { return len(s.ops) }

func (s *stage) rollbackTo(mark int) {
	if mark == 0 {
		*s = stage{}
		return
	}
	for i := int32(len(s.ops) - 1); int(i) >= mark; i-- {
		op, before := s.at(i), s.ops[i].before
		tag := s.index.tag(op.key)
		slot, _ := s.find(tag, op.key)
		if before < 0 {
			s.index.remove(slot)
		} else {
			s.index.set(slot, tag, before)
		}
		s.disorder(op.key, i, before)
		s.bytes -= int64(len(op.key)+len(op.value)) + stagedOverhead
		s.ops = s.ops[:i]
		s.mixed = true
	}
}

// disorder takes operation i out of the order of keys.
func (s *stage) disorder(key []byte, i, before int32) {
	if int(i) >= s.ordered {
		return
	}
	s.ordered = int(i)
	if before < 0 {
		s.order.Delete(string(key))
	} else {
		s.order.Set(string(s.at(before).key), before)
	}
}

// below gives the key's operation that counts at mark.
func (s *stage) below(i int32, mark int) (stagedOp, bool) {
	for i >= 0 && int(i) >= mark {
		i = s.ops[i].before
	}
	if i < 0 {
		return stagedOp{}, false
	}
	return s.at(i), true
}

func (s *stage) get(key []byte, mark int) (stagedOp, bool) {
	if len(s.ops) == 0 {
		return stagedOp{}, false
	}
	_, i := s.find(s.index.tag(key), key)
	return s.below(i, mark)
}

// span gives the operations on keys of a span that count at mark, in the order of a scan.
func (s *stage) span(sp txn.Span, mark int, reverse bool) (out []stagedOp) {
	for ; s.ordered < len(s.ops); s.ordered++ {
		key := s.at(int32(s.ordered)).key
		s.order.Set(unsafe.String(&key[0], len(key)), int32(s.ordered))
	}
	s.order.Ascend(string(sp.Start), func(key string, i int32) bool {
		if len(sp.End) > 0 && key >= string(sp.End) {
			return false
		}
		if op, ok := s.below(i, mark); ok {
			out = append(out, op)
		}
		return true
	})
	if reverse {
		slices.Reverse(out)
	}
	return out
}

// last calls fn with the operation that counts for each key, in the order in which they were staged.
func (s *stage) last(fn func(op *stagedOp) error) error {
	for i := range s.ops {
		op := s.at(int32(i))
		if s.mixed {
			if _, j := s.find(s.index.tag(op.key), op.key); int(j) != i {
				continue
			}
		}
		if err := fn(&op); err != nil {
			return err
		}
	}
	return nil
}

// pieces gives the blocks, which must not be mixed, as the bodies of log entries; the small ones at the start as one.
func (s *stage) pieces() [][]byte {
	n, size := 0, headRoom
	for n < len(s.blocks) && size+len(s.blocks[n])-headRoom <= maxEntryBody {
		size += len(s.blocks[n]) - headRoom
		n++
	}
	if n < 2 {
		return s.blocks
	}
	first := make([]byte, headRoom, size)
	for _, b := range s.blocks[:n] {
		first = append(first, b[headRoom:]...)
	}
	return append([][]byte{first}, s.blocks[n:]...)
}

// find gives the key's last operation, -1 if there is none, and its slot in the index.
func (s *stage) find(tag uint32, key []byte) (slot int, last int32) {
	x := &s.index
	for slot = x.home(tag); x.slots[slot] != 0; slot = x.next(slot) {
		if uint32(x.slots[slot]>>32) != tag {
			continue
		}
		if i := int32(uint32(x.slots[slot])) - 1; bytes.Equal(s.at(i).key, key) {
			return slot, i
		}
	}
	return slot, -1
}

// keyIndex is a hash table from keys to operations' numbers, with linear probing. A slot holds the key's tag and the number
// plus one; 0 is a free slot.
type keyIndex struct {
	slots []uint64
	used  int
}

// tagSeed is of this process: tags are never stored.
var tagSeed = maphash.MakeSeed()

func (x *keyIndex) tag(key []byte) uint32 { return uint32(maphash.Bytes(tagSeed, key)) }

func (x *keyIndex) home(tag uint32) int { return int(tag) & (len(x.slots) - 1) }

func (x *keyIndex) next(slot int) int { return (slot + 1) & (len(x.slots) - 1) }

func (x *keyIndex) set(slot int, tag uint32, number int32) {
	if x.slots[slot] == 0 {
		x.used++
	}
	x.slots[slot] = uint64(tag)<<32 | uint64(uint32(number+1))
}

// makeRoom leaves half of the slots free; there is always a free one where a search ends.
func (x *keyIndex) makeRoom() {
	old := x.slots
	if 2*x.used < len(old) {
		return
	}
	x.slots = make([]uint64, max(8, 2*len(old)))
	for _, e := range old {
		if e == 0 {
			continue
		}
		slot := x.home(uint32(e >> 32))
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
		home := x.home(uint32(x.slots[s] >> 32))
		// The entry may fill the gap unless its home lies behind it, going round from the gap to s.
		if (s-home)&(len(x.slots)-1) >= (s-gap)&(len(x.slots)-1) {
			x.slots[gap] = x.slots[s]
			gap = s
		}
	}
	x.slots[gap] = 0
}
