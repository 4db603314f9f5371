package storage

import (
	"slices"
	"unsafe"

	"github.com/sherddb/sherd/txn"
	"github.com/tidwall/btree"
)

// stage is the write set of an open transaction: a list of operations, of which the last one for each key counts, and an
// index over it by key. A mark is a length of the list, so statements undo themselves by cutting it, and a view sees what
// lies below its mark.
type stage struct {
	ops   []stagedOp
	index btree.Map[string, int32] // key to its last operation; the strings share the operations' memory
	bytes int64
	arena []byte // what is left of the newest block of keys and values
}

const (
	firstBlock = 1 << 10
	arenaBlock = 256 << 10
)

// alloc gives n bytes. Blocks start small, since most transactions write one row, and are never reused.
func (s *stage) alloc(n int) []byte {
	if n > len(s.arena) {
		size := firstBlock
		if s.bytes > firstBlock {
			size = arenaBlock
		}
		s.arena = make([]byte, max(n, size))
	}
	b := s.arena[:n:n]
	s.arena = s.arena[n:]
	return b
}

type stagedOp struct {
	key, value []byte
	delete     bool
	before     int32 // the key's previous operation, -1 if none
}

const stagedOverhead = 96 // bytes of bookkeeping for an operation

func (s *stage) put(key, value []byte, del bool) {
	buf := s.alloc(len(key) + len(value))
	copy(buf, key)
	copy(buf[len(key):], value)
	op := stagedOp{key: buf[:len(key):len(key)], delete: del, before: -1}
	if !del {
		op.value = buf[len(key):]
		if op.value == nil {
			op.value = []byte{}
		}
	}
	if i, ok := s.index.Set(unsafe.String(&op.key[0], len(op.key)), int32(len(s.ops))); ok {
		op.before = i
	}
	s.ops = append(s.ops, op)
	s.bytes += int64(len(buf)) + stagedOverhead
}

func (s *stage) mark() int { return len(s.ops) }

func (s *stage) rollbackTo(mark int) {
	for len(s.ops) > mark {
		last := &s.ops[len(s.ops)-1]
		if last.before < 0 {
			s.index.Delete(string(last.key))
		} else {
			s.index.Set(string(last.key), last.before)
		}
		s.bytes -= int64(len(last.key)+len(last.value)) + stagedOverhead
		*last = stagedOp{}
		s.ops = s.ops[:len(s.ops)-1]
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
	return s.ops[i], true
}

func (s *stage) get(key []byte, mark int) (stagedOp, bool) {
	if len(s.ops) == 0 {
		return stagedOp{}, false
	}
	i, ok := s.index.Get(string(key))
	if !ok {
		return stagedOp{}, false
	}
	return s.below(i, mark)
}

// span gives the operations on keys of a span that count at mark, in the order of a scan.
func (s *stage) span(sp txn.Span, mark int, reverse bool) (out []stagedOp) {
	s.index.Ascend(string(sp.Start), func(key string, i int32) bool {
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
		op := &s.ops[i]
		if j, _ := s.index.Get(string(op.key)); int(j) != i {
			continue
		}
		if err := fn(op); err != nil {
			return err
		}
	}
	return nil
}
