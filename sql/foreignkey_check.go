package sql

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/types"
)

// keyBatch is how many keys a statement with an array takes: each row that it finds is held against the whole array again.
const keyBatch = 512

// check makes sure that new keys refer to something.
func (k *keeping) check(key *refint.Key, changes []exec.KeyChange) error {
	full := key.Con.Reference.Match == catalog.MatchFull
	size := key.Batch()
	if size == 0 {
		size = keyBatch
	}
	for len(changes) > 0 {
		n := min(size, len(changes))
		if err := k.checkSome(key, changes[:n], full); err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

func (k *keeping) checkSome(key *refint.Key, changes []exec.KeyChange, full bool) error {
	if len(changes) == 1 {
		return k.checkOne(key, changes[0].New, full)
	}
	found := map[string]bool{}
	keys := make([]exec.Row, 0, len(changes))
	for _, ch := range changes {
		if !anyNull(ch.New) {
			keys = append(keys, ch.New)
		}
	}
	err := k.run(key.Look(), batchArgs(key.Columns, keys), false, func(row []types.Datum) error {
		found[exec.KeyID(key.Referenced, row)] = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, ch := range changes {
		if full && anyNull(ch.New) || !found[exec.KeyID(key.Columns, ch.New)] {
			if err := k.missing(key, ch.New); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *keeping) checkOne(key *refint.Key, values exec.Row, full bool) error {
	if full && anyNull(values) {
		return k.missing(key, values)
	}
	found, err := k.exists(key.LookOne(), values, false)
	if err != nil || found {
		return err
	}
	return k.missing(key, values)
}

// missing refuses a key that refers to nothing, if a row still has it.
func (k *keeping) missing(key *refint.Key, values exec.Row) error {
	if anyNull(values) {
		return key.Broken(values, k.s.Env())
	}
	live, err := k.exists(key.Live(), values, false)
	if err != nil || !live {
		return err
	}
	return key.Missing(values, k.s.Env())
}

func anyNull(row exec.Row) bool {
	for _, d := range row {
		if d.IsNull() {
			return true
		}
	}
	return false
}

// batchArgs gives keys as parameters: of one column as an array, of several one after the other, the last one again until there are enough.
func batchArgs(columns []*catalog.Column, keys []exec.Row) []types.Datum {
	if len(columns) == 1 {
		return []types.Datum{keyArray(columns[0], keys, 0)}
	}
	var args []types.Datum
	for i := range refint.Tuples {
		if len(keys) == 0 {
			args = append(args, make(exec.Row, len(columns))...)
			continue
		}
		args = append(args, keys[min(i, len(keys)-1)]...)
	}
	return args
}

// keyArray gives one column of keys as an array.
func keyArray(c *catalog.Column, keys []exec.Row, at int) types.Datum {
	elems := make([]types.Datum, len(keys))
	for i, k := range keys {
		elems[i] = k[at]
	}
	return types.NewArray(c.Type, []int32{int32(len(elems))}, []int32{1}, elems)
}
