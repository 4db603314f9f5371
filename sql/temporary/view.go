package temporary

import (
	"bytes"
	"context"

	"github.com/tidwall/btree"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/txn"
)

// view reads the rows as they were when it was opened. It implements exec.View.
type view struct {
	rows *Rows
	tree *btree.Map[string, place]
	buf  []byte
}

func (r *Rows) view() *view {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &view{rows: r, tree: r.tree.Copy()}
}

// Seen hides what was written after a mark.
func (v *view) Seen(mark txn.Mark) {
	v.rows.mu.Lock()
	defer v.rows.mu.Unlock()
	for i := len(v.rows.undo) - 1; i >= mark.Writes; i-- {
		if c := v.rows.undo[i]; c.was.exists() {
			v.tree.Set(c.key, c.was)
		} else {
			v.tree.Delete(c.key)
		}
	}
}

// value returns a value, valid until the next call.
func (v *view) value(p place) ([]byte, error) {
	v.rows.mu.Lock()
	b, ok := v.rows.values.inMemory(p)
	file := v.rows.values.file
	v.rows.mu.Unlock()
	if ok {
		return b, nil
	}
	b, err := readFile(file, p, v.buf)
	if err == nil {
		v.buf = b
	}
	return b, err
}

// Get returns the value of a key, nil if there is none.
func (v *view) Get(_ context.Context, key []byte) ([]byte, error) {
	p, ok := v.tree.Get(string(key))
	if !ok {
		return nil, nil
	}
	return v.value(p)
}

// Scan calls fn for the keys of a span in their order.
func (v *view) Scan(ctx context.Context, span txn.Span, reverse bool, fn func(key, value []byte) error) error {
	var err error
	var k []byte
	n := 0
	each := func(key string, p place) bool {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			err = context.Cause(ctx)
			return false
		}
		k = append(k[:0], key...)
		if reverse && bytes.Compare(k, span.Start) < 0 ||
			!reverse && span.End != nil && bytes.Compare(k, span.End) >= 0 {
			return false
		}
		var value []byte
		if value, err = v.value(p); err == nil {
			err = fn(k, value)
		}
		return err == nil
	}
	switch {
	case !reverse:
		v.tree.Ascend(string(span.Start), each)
	case span.End == nil:
		v.tree.Reverse(each)
	default:
		end := string(span.End)
		v.tree.Descend(end, func(key string, p place) bool { return key == end || each(key, p) })
	}
	return err
}

// ScanAll calls fn for the keys of several spans.
func (v *view) ScanAll(
	ctx context.Context, spans []txn.Span, reverse bool, fn func(key, value []byte) error,
) error {
	for _, s := range spans {
		if err := v.Scan(ctx, s, reverse, fn); err != nil {
			return err
		}
	}
	return nil
}

// Generation implements table.Generations: buckets do not move.
func (v *view) Generation(shardmap.Bucket) (generation uint32, ok bool) { return 0, true }

// Close ends the reader.
func (v *view) Close() { v.tree = nil }

// part is the session's fragment as one task uses it. It implements exec.Tx.
type part struct{ *Rows }

var (
	_ exec.Tx       = part{}
	_ exec.View     = (*view)(nil)
	_ exec.Fragment = (*Rows)(nil)
)

// Run executes a task.
func (r *Rows) Run(ctx context.Context, task *exec.Task, emit exec.Emit) (exec.Result, error) {
	return exec.RunTask(ctx, part{r}, task, emit)
}

// Here reports that tasks run in the goroutine that runs them.
func (r *Rows) Here() bool { return true }

// Global does nothing: entries of all indexes are in one fragment.
func (part) Global(table, index uint32) {}

// View opens a reader. All rows are of one time.
func (p part) View(context.Context, txn.Timestamp) (exec.View, error) { return p.view(), nil }

// Lock does nothing: there are no other users.
func (part) Lock(context.Context, []byte, txn.LockRequest) (changed bool, err error) {
	return false, nil
}

// Applied returns 0: nothing is at a timestamp.
func (part) Applied() txn.Timestamp { return 0 }

// Newest returns the present value of a key.
func (p part) Newest(_ context.Context, key []byte) ([]byte, error) { return p.newest(key) }

// ChangedSince returns nil: no other transaction changes anything.
func (part) ChangedSince(context.Context, []byte, txn.Timestamp) error { return nil }

// HasRead reports false: reads are not validated.
func (part) HasRead([]byte) (txn.Timestamp, bool) { return 0, false }

// BufferedSince reports whether the transaction has written a key after a mark.
func (p part) BufferedSince(key []byte, mark txn.Mark) (bool, error) {
	return p.changedSince(key, mark.Writes), nil
}

// Put sets the value of a key.
func (p part) Put(key, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return p.put(key, value)
}

// Delete removes a key.
func (p part) Delete(key []byte) error { return p.put(key, nil) }

// Leaves does nothing: no other transaction looks for the row.
func (part) Leaves([]byte) {}

// Left reports false.
func (part) Left([]byte) (bool, error) { return false, nil }

// Generation implements table.Generations.
func (part) Generation(shardmap.Bucket) (generation uint32, ok bool) { return 0, true }
