package storage

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"unsafe"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
	"github.com/tidwall/btree"
)

// A stage is a transaction's write buffer in this fragment: a sequence of operations. The last
// operation for each key counts. A mark is a position in it: statements undo their writes by
// cutting the stage at a mark, and a view sees what lies below its mark.
//
// The newest operations are in memory; a large transaction's older ones are in a file (spill), and
// positions are those that the file has or will have. In memory the bytes of the operations are
// encoded as they will be in the log, so that the commit of a small transaction copies nothing. All
// else about them is numbers, which leaves the garbage collector little to look at.
type stage struct {
	ops    []opPlace
	blocks [][]byte // encoded operations, each block after HeadRoom free bytes; never moved, never reused
	index  keyIndex
	// The first ordered operations by key, built when a scan needs them; shares the blocks' memory.
	order   btree.Map[string, int32]
	ordered int
	// The blocks have more than the write set: a key was written twice, or something was undone.
	mixed  bool
	base   int64  // position of the first operation in memory
	size   int64  // bytes that the operations in memory will have in the file
	disk   *spill // nil: all are in memory
	broken error  // the file could not be read during an undo: the stage is unusable
}

// opPlace says where an operation in memory is.
type opPlace struct {
	block      int32
	key, value int32 // offsets in the block
	keyLen     int32
	valueLen   int32
	before     int32 // the key's previous operation in memory, -1 if none
	at         int32 // position relative to base
	old        int32 // size of the committed value it replaces: -1 none, unknownSize
	delete     bool
	kept       bool // a put that leaves the row's keys as they were
}

// stagedOp is a buffered operation. Its slices share the stage's memory.
type stagedOp struct {
	key, value []byte
	delete     bool
	kept       bool
	old        int32
}

// unknownSize means that the committed value's size was not looked up yet.
const unknownSize = -2

// maxEntryBody bounds the operations of an entry, unless it has only one. Larger write sets are cut
// into parts.
const maxEntryBody = 1 << 20

// Blocks start small, because most transactions write one row, and grow to what one log entry can
// contain.
const (
	firstBlock = 1 << 10
	lastBlock  = maxEntryBody
)

const stagedOverhead = 64 // bytes of bookkeeping for an operation in memory

// memory returns the bytes that the operations in memory take.
func (s *stage) memory() int64 { return s.size + stagedOverhead*int64(len(s.ops)) }

// count returns the number of operations.
func (s *stage) count() int {
	if s.disk == nil {
		return len(s.ops)
	}
	return s.disk.count + len(s.ops)
}

// mark is the position after the last operation.
func (s *stage) mark() int { return int(s.base + s.size) }

func (s *stage) at(i int32) stagedOp {
	p := &s.ops[i]
	b := s.blocks[p.block]
	op := stagedOp{key: b[p.key : p.key+p.keyLen : p.key+p.keyLen], delete: p.delete, kept: p.kept, old: p.old}
	if !p.delete {
		op.value = b[p.value : p.value+p.valueLen : p.value+p.valueLen]
	}
	return op
}

// encoded returns the bytes of an operation.
func (s *stage) encoded(i int32) []byte {
	p := &s.ops[i]
	return s.blocks[p.block][p.key-int32(codec.UvarintLen(int(p.keyLen)))-1 : p.value+p.valueLen]
}

// block returns the block to which n bytes can be appended.
func (s *stage) block(n int) int32 {
	last := len(s.blocks) - 1
	if last >= 0 && cap(s.blocks[last])-len(s.blocks[last]) >= n {
		return int32(last)
	}
	size := firstBlock
	if last >= 0 {
		size = min(4*cap(s.blocks[last]), lastBlock)
	}
	s.blocks = append(s.blocks, make([]byte, logentry.HeadRoom, max(size, logentry.HeadRoom+n)))
	return int32(last + 1)
}

// put buffers an operation: opPut, opPutKept or opDelete; old is the size of the committed value,
// -1 if there is none.
func (s *stage) put(kind opKind, key, value []byte, old int32) {
	del := kind == opDelete
	if del {
		value = nil
	}
	n := s.block(1 + 2*binary.MaxVarintLen32 + len(key) + len(value))
	from := len(s.blocks[n])
	b := appendOp(s.blocks[n], kind, key, value)
	p := opPlace{
		block: n, keyLen: int32(len(key)), valueLen: int32(len(value)), before: -1, at: int32(s.size), old: old,
		delete: del, kept: kind == opPutKept,
	}
	p.value = int32(len(b) - len(value))
	p.key = p.value - p.keyLen
	if !del {
		p.key -= int32(codec.UvarintLen(len(value)))
	}
	s.blocks[n] = b
	s.index.makeRoom()
	tag := tagOf(key)
	slot, i := s.find(tag, key)
	if i >= 0 {
		p.before, s.mixed = i, true
	}
	s.index.set(slot, tag, int64(len(s.ops)))
	s.ops = append(s.ops, p)
	s.size += recordBytes(len(b) - from)
}

// rollbackTo drops the operations from mark on.
func (s *stage) rollbackTo(mark int) {
	switch at := int64(mark); {
	case at >= s.base+s.size:
	case at == 0:
		s.discard()
	case at <= s.base:
		s.broken = s.disk.cut(at)
		*s = stage{disk: s.disk, base: at, broken: s.broken}
	default:
		s.undo(at)
	}
}

// discard empties the stage.
func (s *stage) discard() {
	if s.disk != nil {
		s.disk.close()
	}
	*s = stage{}
}

// undo drops operations in memory.
func (s *stage) undo(at int64) {
	for i := int32(len(s.ops) - 1); i >= 0 && s.base+int64(s.ops[i].at) >= at; i-- {
		key, before := s.at(i).key, s.ops[i].before
		tag := tagOf(key)
		slot, _ := s.find(tag, key)
		if before < 0 {
			s.index.remove(slot)
		} else {
			s.index.set(slot, tag, int64(before))
		}
		s.disorder(key, i, before)
		s.ops = s.ops[:i]
		s.mixed = true
	}
	s.size = at - s.base
}

// disorder removes operation i from the order of keys.
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

// below returns the key's operation in memory that counts at mark.
func (s *stage) below(i int32, mark int) (stagedOp, bool) {
	for i >= 0 && s.base+int64(s.ops[i].at) >= int64(mark) {
		i = s.ops[i].before
	}
	if i < 0 {
		return stagedOp{}, false
	}
	return s.at(i), true
}

// get returns the key's operation that counts at mark.
func (s *stage) get(key []byte, mark int) (stagedOp, bool, error) {
	if s.base+s.size == 0 || s.broken != nil {
		return stagedOp{}, false, s.broken
	}
	tag := tagOf(key)
	if len(s.ops) > 0 {
		_, i := s.find(tag, key)
		if op, ok := s.below(i, mark); ok {
			return op, true, nil
		}
	}
	if s.disk == nil {
		return stagedOp{}, false, nil
	}
	return s.disk.get(key, int64(mark))
}

// stagedSince reports whether the key was written at or after mark.
func (s *stage) stagedSince(key []byte, mark int) (bool, error) {
	if s.base+s.size <= int64(mark) || s.broken != nil {
		return false, s.broken
	}
	tag := tagOf(key)
	if len(s.ops) > 0 {
		if _, i := s.find(tag, key); i >= 0 {
			return s.base+int64(s.ops[i].at) >= int64(mark), nil
		}
	}
	if s.disk == nil {
		return false, nil
	}
	_, at, err := s.disk.find(key)
	return at >= int64(mark), err
}

// span returns the operations on keys of a span that count at mark, in the order of a scan.
func (s *stage) span(sp txn.Span, mark int, reverse bool) (*ownScan, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	o := &ownScan{memory: s.spanInMemory(sp, mark, reverse), reverse: reverse}
	if s.disk != nil {
		if err := o.open(s.disk, sp, int64(mark)); err != nil {
			return nil, err
		}
	}
	return o, o.next()
}

func (s *stage) spanInMemory(sp txn.Span, mark int, reverse bool) (out []stagedOp) {
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

// last calls fn with the operation that counts for each key, in the order in which they were
// buffered. All must be in memory, or all in the file; in the latter case fn must not keep the
// operation.
func (s *stage) last(fn func(op *stagedOp) error) error {
	if s.broken != nil {
		return s.broken
	}
	if s.disk != nil {
		return s.disk.last(fn)
	}
	for i := range s.ops {
		op := s.at(int32(i))
		if s.mixed {
			if _, ok := s.index.slotOf(tagOf(op.key), int64(i)); !ok {
				continue
			}
		}
		if err := fn(&op); err != nil {
			return err
		}
	}
	return nil
}

// pieces returns the blocks, which must not be mixed, as the bodies of log entries; the small ones
// at the start are joined.
func (s *stage) pieces() [][]byte {
	n, size := 0, logentry.HeadRoom
	for n < len(s.blocks) && size+len(s.blocks[n])-logentry.HeadRoom <= maxEntryBody {
		size += len(s.blocks[n]) - logentry.HeadRoom
		n++
	}
	if n < 2 {
		return s.blocks
	}
	first := make([]byte, logentry.HeadRoom, size)
	for _, b := range s.blocks[:n] {
		first = append(first, b[logentry.HeadRoom:]...)
	}
	return append([][]byte{first}, s.blocks[n:]...)
}

// find returns the key's last operation in memory, -1 if there is none, and its slot in the index.
func (s *stage) find(tag uint32, key []byte) (slot int, last int32) {
	x := &s.index
	for slot = x.home(tag); x.slots[slot] != 0; slot = x.next(slot) {
		if got, i := splitSlot(x.slots[slot]); got == tag && bytes.Equal(s.at(int32(i)).key, key) {
			return slot, int32(i)
		}
	}
	return slot, -1
}

// spill moves the operations in memory into the file, which create makes. After an error everything
// is as before.
func (s *stage) spill(create func() (*os.File, error)) error {
	if len(s.ops) == 0 {
		return nil
	}
	d := s.disk
	if d == nil {
		var err error
		if d, err = newSpill(create); err != nil {
			return err
		}
	}
	if err := d.append(s); err != nil {
		if s.disk == nil {
			d.close()
		}
		return err
	}
	*s = stage{disk: d, base: d.size}
	return nil
}
