package integrity

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// keyBatch is how many keys a statement with an array takes.
const keyBatch = 1024

// check makes sure that new keys refer to rows.
func (k *queue) check(key *refint.Key, changes []keychange.Change) error {
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

// look returns the new keys that refer to no row. The rows that the others refer to are locked.
func (k *queue) look(key *refint.Key, changes []keychange.Change) ([]keychange.Change, error) {
	size := key.Batch()
	if size == 0 {
		size = keyBatch
	}
	var missing []keychange.Change
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

func (k *queue) lookSome(key *refint.Key, changes []keychange.Change) (missing []keychange.Change, err error) {
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
		found[keychange.ID(key.Referenced, row)] = true
		return nil
	})
	for _, ch := range changes {
		if err != nil {
			return nil, err
		}
		known := !anyNull(ch.New) && found[keychange.ID(key.Columns, ch.New)]
		if !known && !anyNull(ch.New) && key.Parent.Forwarding != 0 { // a former id finds another one
			known, err = k.exists(key.LookOne(), ch.New, false)
		}
		if !known {
			missing = append(missing, ch)
		}
	}
	return missing, err
}

// settleSome settles the keys that an INSERT has noted so far, to free their memory: those that
// refer to rows which exist already. The others may refer to rows that the INSERT has not written
// yet. Deferred keys are left to the commit.
func (t *Transaction) settleSome(
	ctx context.Context, x *stmt.Executor, p *stmt.Program, c *exec.Ctx,
) error {
	k := &queue{x: x, t: t, ctx: ctx, view: t.View(), of: triggersIn(p)}
	for i := range k.of.list {
		of := &k.of.list[i]
		changes := c.Keys.Of(i)
		if len(changes) == 0 || of.incoming || of.former != nil && of.former.goes {
			continue
		}
		var left []keychange.Change
		var err error
		if of.former != nil {
			err = k.formerIDs(of.former, changes)
		} else if of.unique != nil || t.isDeferred(of.key.Con) {
			err = t.postpone(x, of, changes)
		} else {
			left, err = k.look(of.key, changes)
		}
		if err != nil {
			return err
		}
		c.Keys.Leave(c.Mem, i, left)
	}
	return nil
}

// missing refuses a key that refers to no row, if a row still has it.
func (k *queue) missing(key *refint.Key, values types.Row) error {
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

// batchArgs returns keys as parameters: of one column as an array, of several columns one after the
// other, the last one repeated until there are enough.
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

// keyArray returns one column of keys as an array.
func keyArray(c *catalog.Column, keys []types.Row, at int) types.Datum {
	elems := make([]types.Datum, len(keys))
	for i, k := range keys {
		elems[i] = k[at]
	}
	return types.NewArray(c.Type, []int32{int32(len(elems))}, []int32{1}, elems)
}
