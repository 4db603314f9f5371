package temporary

import (
	"encoding/binary"
	"math"
	"sync"

	"github.com/tidwall/btree"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/memory"
)

// Rows is the fragment with the rows and index entries of a session's temporary tables. All methods
// may be called concurrently.
type Rows struct {
	mu     sync.Mutex
	tree   btree.Map[string, place]
	values values
	live   int64 // bytes of the values in tree
	// What the transaction has changed, in order: the values that keys had before.
	undo    []change
	since   map[string]int // the last change of a key, of the first indexed ones of undo; nil: not asked yet
	indexed int
	memory  *memory.Account
	held    int64            // by keys and undo
	sizes   map[uint32]*Size // by storage id
}

// Size is the size of a table.
type Size struct{ Rows, Bytes int64 }

// Size returns the size of a table; ok is false if it has never had rows here.
func (r *Rows) Size(storage uint32) (size Size, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.sizes[storage]; n != nil {
		return *n, true
	}
	return Size{}, false
}

// count notes that a row has come (sign 1) or gone (sign -1). Index entries do not count.
func (r *Rows) count(key string, value place, sign int64) {
	const indexAt, keyAt = 4, 8
	if !value.exists() || len(key) < keyAt || key[indexAt:keyAt] != "\x00\x00\x00\x00" {
		return
	}
	storage := binary.BigEndian.Uint32([]byte(key[:indexAt]))
	n := r.sizes[storage]
	if n == nil {
		n = &Size{}
		r.sizes[storage] = n
	}
	n.Rows += sign
	n.Bytes += sign * (int64(len(key)) + int64(value.n))
}

// change is a change of a key, by the value that it had before.
type change struct {
	key string
	was place
}

// Bytes that a key of the tree and a change take besides the key's own.
const (
	keyOverhead    = 64
	changeOverhead = 40
)

// KeyMemory is what the keys of a session may take, in bytes.
const KeyMemory = 512 << 20

// Config says what Rows may use.
type Config struct {
	Buffer int   // bytes of values in memory (temp_buffers)
	Memory int64 // bytes that the keys may take; 0: no limit
	Files  int64 // bytes of files (temp_file_limit); negative: no limit
	Dir    string
}

// New returns a fragment without rows.
func New(c Config) *Rows {
	files := memory.Limited(memory.Limits{Query: c.Memory, Files: c.Files})
	return &Rows{
		values: values{size: max(c.Buffer, 64<<10), files: files, dir: c.Dir},
		memory: files, sizes: map[uint32]*Size{},
	}
}

// Close releases the rows.
func (r *Rows) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reset()
}

func (r *Rows) reset() {
	r.values.close()
	r.tree = btree.Map[string, place]{}
	r.live = 0
	clear(r.sizes)
	r.forget()
	r.memory.Release(r.held)
	r.held = 0
}

// forget forgets what the transaction has changed.
func (r *Rows) forget() {
	r.release(changeOverhead * int64(len(r.undo)))
	r.undo, r.since, r.indexed = nil, nil, 0
}

func (r *Rows) hold(n int64) error {
	if err := r.memory.Grow(n); err != nil {
		return pgerr.New(pgerr.OutOfMemory, "out of memory").
			WithDetail("The keys of the session's temporary tables would take more than %d MB.", r.memory.Size()>>20).
			WithHint("Keep fewer rows in temporary tables, or use tables that are not temporary.")
	}
	r.held += n
	return nil
}

func (r *Rows) release(n int64) {
	r.memory.Release(n)
	r.held -= n
}

// put sets the value of a key; nil deletes it.
func (r *Rows) put(key, value []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(value) > math.MaxInt32 {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a row of %d bytes is too large for a temporary table", len(value))
	}
	if len(r.undo) == math.MaxInt32 {
		return pgerr.New(pgerr.ProgramLimitExceeded, "too many changes of temporary tables in one transaction")
	}
	was, ok := r.tree.Get(string(key))
	if !ok {
		was = none
		if value == nil {
			return nil
		}
	}
	held := int64(changeOverhead)
	if !ok {
		held += keyOverhead + int64(len(key))
	}
	if err := r.hold(held); err != nil {
		return err
	}
	now := none
	if value != nil {
		var err error
		if now, err = r.values.append(value); err != nil {
			r.release(held)
			return err
		}
	}
	k := string(key)
	r.set(k, was, now)
	r.undo = append(r.undo, change{k, was})
	return nil
}

// set replaces the value of a key. Keys that are deleted still count as memory: changes have them.
func (r *Rows) set(key string, was, now place) {
	r.count(key, was, -1)
	r.count(key, now, 1)
	if was.exists() {
		r.live -= int64(was.n)
	}
	if !now.exists() {
		r.tree.Delete(key)
		return
	}
	r.live += int64(now.n)
	r.tree.Set(key, now)
}

// newest returns the present value of a key, nil if there is none.
func (r *Rows) newest(key []byte) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.tree.Get(string(key))
	if !ok {
		return nil, nil
	}
	return r.values.read(p, nil)
}

// Mark returns the position to which UndoTo returns.
func (r *Rows) Mark() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.undo)
}

// UndoTo undoes the changes since a mark (TT2).
func (r *Rows) UndoTo(mark int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.undo) - 1; i >= mark; i-- {
		c := r.undo[i]
		was, ok := r.tree.Get(c.key)
		if !ok {
			was = none
		}
		r.set(c.key, was, c.was)
	}
	if mark < len(r.undo) {
		r.release(changeOverhead * int64(len(r.undo)-mark))
		clear(r.undo[mark:])
		r.undo = r.undo[:mark]
		r.since, r.indexed = nil, 0
	}
}

// changedSince reports whether a key was changed after a mark.
func (r *Rows) changedSince(key []byte, mark int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since == nil {
		r.since = map[string]int{}
	}
	for ; r.indexed < len(r.undo); r.indexed++ {
		r.since[r.undo[r.indexed].key] = r.indexed
	}
	i, ok := r.since[string(key)]
	return ok && i >= mark
}

// End ends a transaction that has committed. kept reports whether the rows of a storage id stay; nil:
// all do. All views must be closed. If values of no use cannot be removed, they stay until the next
// transaction ends.
func (r *Rows) End(kept func(storage uint32) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := len(r.undo) > 0
	r.forget()
	if kept != nil {
		var gone []string
		r.tree.Scan(func(key string, p place) bool {
			if !kept(binary.BigEndian.Uint32([]byte(key[:4]))) {
				gone = append(gone, key)
			}
			return true
		})
		for _, key := range gone {
			p, _ := r.tree.Get(key)
			r.set(key, p, none)
		}
		changed = changed || len(gone) > 0
	}
	if r.tree.Len() == 0 {
		r.reset()
		return
	}
	r.recount()
	if changed {
		r.rewrite()
	}
}

// recount counts the memory of keys again, without those that were deleted.
func (r *Rows) recount() {
	if int64(r.tree.Len())*keyOverhead > r.held/2 {
		return
	}
	n := int64(0)
	r.tree.Scan(func(key string, _ place) bool {
		n += keyOverhead + int64(len(key))
		return true
	})
	r.release(r.held - n)
}

// wasteful is from which size on values are rewritten if most of them are of no use any more.
const wasteful = 1 << 20

// rewrite copies the values that are of use if most are not. If that fails, all stay as they are.
func (r *Rows) rewrite() {
	if end := r.values.end(); end < wasteful || r.live > end/2 {
		return
	}
	fresh := values{size: r.values.size, files: r.values.files, dir: r.values.dir}
	var tree btree.Map[string, place]
	var err error
	var buf []byte
	r.tree.Scan(func(key string, p place) bool {
		if buf, err = r.values.read(p, buf[:0]); err != nil {
			return false
		}
		if p, err = fresh.append(buf); err == nil {
			tree.Load(key, p)
		}
		return err == nil
	})
	if err != nil {
		fresh.close()
		return
	}
	r.values.close()
	r.values, r.tree = fresh, tree
}
