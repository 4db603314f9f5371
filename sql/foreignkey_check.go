package sql

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// keyBatch is how many keys a statement with an array takes.
const keyBatch = 1024

// check makes sure that new keys refer to something.
func (k *keeping) check(key *refint.Key, changes []exec.KeyChange) error {
	missing, err := k.look(key, changes)
	if err != nil {
		return err
	}
	for _, ch := range missing {
		if err := k.missing(key, ch.New); err != nil {
			return err
		}
	}
	return nil
}

// look gives those of new keys that refer to nothing; what the others refer to is locked.
func (k *keeping) look(key *refint.Key, changes []exec.KeyChange) ([]exec.KeyChange, error) {
	size := key.Batch()
	if size == 0 {
		size = keyBatch
	}
	var missing []exec.KeyChange
	for len(changes) > 0 {
		n := min(size, len(changes))
		some, err := k.lookSome(key, changes[:n])
		if err != nil {
			return nil, err
		}
		missing, changes = append(missing, some...), changes[n:]
	}
	return missing, nil
}

func (k *keeping) lookSome(key *refint.Key, changes []exec.KeyChange) (missing []exec.KeyChange, err error) {
	if len(changes) == 1 {
		if !anyNull(changes[0].New) {
			found, err := k.exists(key.LookOne(), changes[0].New, false)
			if err != nil || found {
				return nil, err
			}
		}
		return changes, nil
	}
	found := map[string]bool{}
	keys := make([]types.Row, 0, len(changes))
	for _, ch := range changes {
		if !anyNull(ch.New) {
			keys = append(keys, ch.New)
		}
	}
	err = k.run(key.Look(), batchArgs(key.Columns, keys), false, func(row []types.Datum) error {
		found[exec.KeyID(key.Referenced, row)] = true
		return nil
	})
	for _, ch := range changes {
		if err != nil {
			return nil, err
		}
		known := !anyNull(ch.New) && found[exec.KeyID(key.Columns, ch.New)]
		if !known && !anyNull(ch.New) && key.Parent.Forwarding != 0 { // by a former id another one is found
			known, err = k.exists(key.LookOne(), ch.New, false)
		}
		if !known {
			missing = append(missing, ch)
		}
	}
	return missing, err
}

// keepSome settles what an INSERT under way has noted, as far as it need not wait: of what its new rows refer to, what is there already. The rest may
// be among rows to come. What is deferred goes to where it waits.
func (t *transaction) keepSome(ctx context.Context, x *stmt.Executor, p *stmt.Program, c *exec.Ctx) error {
	k := &keeping{x: x, t: t, ctx: ctx, view: t.View(), of: referencesIn(p)}
	for i := range k.of.list {
		ref := &k.of.list[i]
		changes := c.Keys.Of(i)
		if len(changes) == 0 || ref.incoming || ref.former != nil && ref.former.goes {
			continue
		}
		var left []exec.KeyChange
		var err error
		if ref.former != nil {
			err = k.formerIDs(ref.former, changes)
		} else if ref.unique != nil || t.deferred(ref.key.Con) {
			err = t.defers(ref, changes)
		} else {
			left, err = k.look(ref.key, changes)
		}
		if err != nil {
			return err
		}
		c.Keys.Leave(c, i, left)
	}
	return nil
}

// settling lets an INSERT settle keys while it runs, and says what waits for the commit.
func (t *transaction) settling(x *stmt.Executor, p *stmt.Program, c *exec.Ctx) {
	if r := referencesIn(p); r != nil {
		c.Deferred = t.uniquesDeferred(r)
		own, ctx := *x, c.Context // x itself stays on the stack
		c.Hooks.KeysFull = func(c *exec.Ctx) error { return t.keepSome(ctx, &own, p, c) }
	}
}

// missing refuses a key that refers to nothing, if a row still has it.
func (k *keeping) missing(key *refint.Key, values types.Row) error {
	if anyNull(values) {
		return key.Broken(values, k.x.Values)
	}
	live, err := k.exists(key.Live(), values, false)
	if err != nil || !live {
		return err
	}
	return key.Missing(values, k.x.Values)
}

func anyNull(row types.Row) bool {
	for _, d := range row {
		if d.IsNull() {
			return true
		}
	}
	return false
}

// batchArgs gives keys as parameters: of one column as an array, of several one after the other, the last one again until there are enough.
func batchArgs(columns []*catalog.Column, keys []types.Row) []types.Datum {
	if len(columns) == 1 {
		return []types.Datum{keyArray(columns[0], keys, 0)}
	}
	var args []types.Datum
	for i := range refint.Tuples {
		if len(keys) == 0 {
			args = append(args, make(types.Row, len(columns))...)
			continue
		}
		args = append(args, keys[min(i, len(keys)-1)]...)
	}
	return args
}

// keyArray gives one column of keys as an array.
func keyArray(c *catalog.Column, keys []types.Row, at int) types.Datum {
	elems := make([]types.Datum, len(keys))
	for i, k := range keys {
		elems[i] = k[at]
	}
	return types.NewArray(c.Type, []int32{int32(len(elems))}, []int32{1}, elems)
}
