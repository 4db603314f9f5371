package writebuf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"unsafe"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
	"github.com/tidwall/btree"
)

// Buffer is a transaction's write buffer. The newest operations are in memory; a large
// transaction's older ones are in a file (spill), and positions are those that the file has or will
// have. The zero Buffer is empty.
type Buffer struct {
	ops []opPlace
	// encoded operations, each block after HeadRoom free bytes; never moved, never reused
	blocks [][]byte
	index  keyIndex
	// The first ordered operations by key, built when a scan needs them; shares the blocks' memory.
	order   btree.Map[string, int32]
	ordered int
	// The blocks have more than the write set: a key was written twice, or something was undone.
	mixed  bool
	base   int64  // position of the first operation in memory
	size   int64  // bytes that the operations in memory will have in the file
	disk   *spill // nil: all are in memory
	broken error  // the file could not be read during an undo: the buffer is unusable
}

// opPlace says where an operation in memory is.
type opPlace struct {
	block      int32
	key, value int32 // offsets in the block
	keyLen     int32
	valueLen   int32
	before     int32 // the key's previous operation in memory, -1 if none
	at         int32 // position relative to base
	old        int32 // size of the committed value it replaces: -1 none, UnknownSize
	delete     bool
	kept       bool // a put that leaves the row's keys as they were
}

// Op is a buffered operation. Its slices share the buffer's memory.
type Op struct {
	Key, Value []byte
	Delete     bool
	Kept       bool  // a put that leaves the row's keys as they were
	Old        int32 // size of the committed value it replaces: -1 none, UnknownSize
}

// UnknownSize means that the committed value's size was not looked up yet.
const UnknownSize = -2

// Blocks start small, because most transactions write one row, and grow to what one log entry can
// contain.
const (
	firstBlock = 1 << 10
	lastBlock  = logentry.MaxBody
)

const opOverhead = 64 // bytes of bookkeeping for an operation in memory

// Memory returns the bytes that the operations in memory take.
func (s *Buffer) Memory() int64 { return s.size + opOverhead*int64(len(s.ops)) }

// Err returns the error of an undo that could not read the file: the buffer is unusable then.
func (s *Buffer) Err() error { return s.broken }

// OnDisk reports whether operations are in a file.
func (s *Buffer) OnDisk() bool { return s.disk != nil }

// Mixed reports whether Pieces has more than the write set.
func (s *Buffer) Mixed() bool { return s.mixed }

// Count returns the number of operations.
func (s *Buffer) Count() int {
	if s.disk == nil {
		return len(s.ops)
	}
	return s.disk.count + len(s.ops)
}

// Mark is the position after the last operation.
func (s *Buffer) Mark() int { return int(s.base + s.size) }

func (s *Buffer) at(i int32) Op {
	p := &s.ops[i]
	b := s.blocks[p.block]
	op := Op{Key: b[p.key : p.key+p.keyLen : p.key+p.keyLen], Delete: p.delete, Kept: p.kept, Old: p.old}
	if !p.delete {
		op.Value = b[p.value : p.value+p.valueLen : p.value+p.valueLen]
	}
	return op
}

// encoded returns the bytes of an operation.
func (s *Buffer) encoded(i int32) []byte {
	p := &s.ops[i]
	return s.blocks[p.block][p.key-int32(codec.UvarintLen(int(p.keyLen)))-1 : p.value+p.valueLen]
}

// block returns the block to which n bytes can be appended.
func (s *Buffer) block(n int) int32 {
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

// Put buffers an operation: OpPut, OpPutKept or OpDelete; old is the size of the committed value,
// -1 if there is none.
func (s *Buffer) Put(kind logentry.Op, key, value []byte, old int32) {
	del := kind == logentry.OpDelete
	if del {
		value = nil
	}
	n := s.block(1 + 2*binary.MaxVarintLen32 + len(key) + len(value))
	from := len(s.blocks[n])
	b := logentry.AppendOp(s.blocks[n], kind, key, value)
	p := opPlace{
		block: n, keyLen: int32(len(key)), valueLen: int32(len(value)), before: -1, at: int32(s.size), old: old,
		delete: del, kept: kind == logentry.OpPutKept,
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

// RollbackTo drops the operations from mark on.
func (s *Buffer) RollbackTo(mark int) {
	switch at := int64(mark); {
	case at >= s.base+s.size:
	case at == 0:
		s.Discard()
	case at <= s.base:
		s.broken = s.disk.cut(at)
		*s = Buffer{disk: s.disk, base: at, broken: s.broken}
	default:
		s.undo(at)
	}
}

// Discard empties the buffer.
func (s *Buffer) Discard() {
	if s.disk != nil {
		s.disk.close()
	}
	*s = Buffer{}
}

// undo drops operations in memory.
func (s *Buffer) undo(at int64) {
	for i := int32(len(s.ops) - 1); i >= 0 && s.base+int64(s.ops[i].at) >= at; i-- {
		key, before := s.at(i).Key, s.ops[i].before
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
func (s *Buffer) disorder(key []byte, i, before int32) {
	if int(i) >= s.ordered {
		return
	}
	s.ordered = int(i)
	if before < 0 {
		s.order.Delete(string(key))
	} else {
		s.order.Set(string(s.at(before).Key), before)
	}
}

// below returns the key's operation in memory that counts at mark.
func (s *Buffer) below(i int32, mark int) (Op, bool) {
	for i >= 0 && s.base+int64(s.ops[i].at) >= int64(mark) {
		i = s.ops[i].before
	}
	if i < 0 {
		return Op{}, false
	}
	return s.at(i), true
}

// Get returns the key's operation that counts at mark.
func (s *Buffer) Get(key []byte, mark int) (Op, bool, error) {
	if s.base+s.size == 0 || s.broken != nil {
		return Op{}, false, s.broken
	}
	tag := tagOf(key)
	if len(s.ops) > 0 {
		_, i := s.find(tag, key)
		if op, ok := s.below(i, mark); ok {
			return op, true, nil
		}
	}
	if s.disk == nil {
		return Op{}, false, nil
	}
	return s.disk.get(key, int64(mark))
}

// WrittenSince reports whether the key was written at or after mark.
func (s *Buffer) WrittenSince(key []byte, mark int) (bool, error) {
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

// Span returns the operations on keys of a span that count at mark, in the order of a scan.
func (s *Buffer) Span(sp txn.Span, mark int, reverse bool) (*Scan, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	o := &Scan{memory: s.spanInMemory(sp, mark, reverse), reverse: reverse}
	if s.disk != nil {
		if err := o.open(s.disk, sp, int64(mark)); err != nil {
			return nil, err
		}
	}
	return o, o.Next()
}

func (s *Buffer) spanInMemory(sp txn.Span, mark int, reverse bool) (out []Op) {
	for ; s.ordered < len(s.ops); s.ordered++ {
		key := s.at(int32(s.ordered)).Key
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

// Last calls fn with the operation that counts for each key, in the order in which they were
// buffered. All must be in memory, or all in the file; in the latter case fn must not keep the
// operation.
func (s *Buffer) Last(fn func(op *Op) error) error {
	if s.broken != nil {
		return s.broken
	}
	if s.disk != nil {
		return s.disk.last(fn)
	}
	for i := range s.ops {
		op := s.at(int32(i))
		if s.mixed {
			if _, ok := s.index.slotOf(tagOf(op.Key), int64(i)); !ok {
				continue
			}
		}
		if err := fn(&op); err != nil {
			return err
		}
	}
	return nil
}

// Pieces returns the blocks, which must not be mixed, as the bodies of log entries; the small ones
// at the start are joined.
func (s *Buffer) Pieces() [][]byte {
	n, size := 0, logentry.HeadRoom
	for n < len(s.blocks) && size+len(s.blocks[n])-logentry.HeadRoom <= logentry.MaxBody {
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
func (s *Buffer) find(tag uint32, key []byte) (slot int, last int32) {
	x := &s.index
	for slot = x.home(tag); x.slots[slot] != 0; slot = x.next(slot) {
		if got, i := splitSlot(x.slots[slot]); got == tag && bytes.Equal(s.at(int32(i)).Key, key) {
			return slot, int32(i)
		}
	}
	return slot, -1
}

// Spill moves the operations in memory into the file, which create makes. After an error everything
// is as before.
func (s *Buffer) Spill(create func() (*os.File, error)) error {
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
	*s = Buffer{disk: d, base: d.size}
	return nil
}

// Each calls fn with the buffered keys, until it returns false.
func (s *Buffer) Each(fn func(key []byte) bool) error {
	if s.broken != nil {
		return s.broken
	}
	for i := range s.ops {
		if !fn(s.at(int32(i)).Key) {
			return nil
		}
	}
	if s.disk == nil {
		return nil
	}
	err := s.disk.last(func(op *Op) error {
		if !fn(op.Key) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

// errEnough ends a walk.
var errEnough = errors.New("enough")
