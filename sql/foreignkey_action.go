package sql

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/types"
)

// act does what a foreign key says of keys that go.
func (k *keeping) act(key *refint.Key, action catalog.Action, deleted bool, changes []exec.KeyChange) error {
	switch action {
	case catalog.NoAction, catalog.Restrict:
		return k.refuse(key, action, changes)
	case catalog.Cascade:
		if !deleted {
			return k.move(key, changes)
		}
		return k.each(key, changes, key.Delete)
	}
	value := "NULL"
	if action == catalog.SetDefault {
		value = "DEFAULT"
	}
	var only []int16
	if deleted {
		only = key.Con.Reference.DeleteColumns
	}
	if err := k.each(key, changes, func(many bool) refint.Statement { return key.Set(value, only, many) }); err != nil {
		return err
	}
	if action != catalog.SetDefault {
		return nil
	}
	// Rows that had the default before have not changed, and may refer to what is gone.
	return k.refuse(key, catalog.NoAction, changes)
}

// each runs a statement for the old keys, a batch at a time where they are of one column.
func (k *keeping) each(key *refint.Key, changes []exec.KeyChange, st func(many bool) refint.Statement) error {
	if len(key.Columns) > 1 || len(changes) == 1 || !key.Plain() {
		for _, ch := range changes {
			if err := k.run(st(false), ch.Old, true, nil); err != nil {
				return err
			}
		}
		return nil
	}
	for len(changes) > 0 {
		n := min(keyBatch, len(changes))
		if err := k.run(st(true), []types.Datum{oldKeys(key, changes[:n])}, true, nil); err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

func oldKeys(key *refint.Key, changes []exec.KeyChange) types.Datum {
	keys := make([]types.Row, len(changes))
	for i, ch := range changes {
		keys[i] = ch.Old
	}
	return keyArray(key.Referenced[0], keys, 0)
}

// move gives the rows that refer to keys which change the new ones. All at once: what one key becomes may be what another was.
func (k *keeping) move(key *refint.Key, changes []exec.KeyChange) error {
	if len(changes) == 1 {
		return k.run(key.Move(), append(append(types.Row(nil), changes[0].Old...), changes[0].New...), true, nil)
	}
	old, next := make([]types.Row, len(changes)), make([]types.Row, len(changes))
	for i, ch := range changes {
		old[i], next[i] = ch.Old, ch.New
	}
	var args []types.Datum
	for _, keys := range [][]types.Row{old, next} {
		for i, c := range key.Referenced {
			args = append(args, keyArray(c, keys, i))
		}
	}
	return k.run(key.MoveAll(), args, true, nil)
}

// refuse is NO ACTION and RESTRICT: no row may refer to a key that goes.
func (k *keeping) refuse(key *refint.Key, action catalog.Action, changes []exec.KeyChange) error {
	if len(changes) > 1 && key.Batch() == 0 {
		for len(changes) > 0 {
			n := min(keyBatch, len(changes))
			if err := k.refuseSome(key, action, changes[:n]); err != nil {
				return err
			}
			changes = changes[n:]
		}
		return nil
	}
	for _, ch := range changes {
		if err := k.refuseOne(key, action, ch.Old); err != nil {
			return err
		}
	}
	return nil
}

// refuseSome looks at a batch first without locks: most often nothing refers to any of it.
func (k *keeping) refuseSome(key *refint.Key, action catalog.Action, changes []exec.KeyChange) error {
	referred := map[string]bool{}
	err := k.run(key.Referring(), []types.Datum{oldKeys(key, changes)}, true, func(row []types.Datum) error {
		referred[exec.KeyID(key.Columns, row)] = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, ch := range changes {
		if !referred[exec.KeyID(key.Referenced, ch.Old)] {
			continue
		}
		if err := k.refuseOne(key, action, ch.Old); err != nil {
			return err
		}
	}
	return nil
}

func (k *keeping) refuseOne(key *refint.Key, action catalog.Action, old types.Row) error {
	if action == catalog.NoAction {
		if back, err := k.exists(key.Back(), old, true); err != nil || back {
			return err
		}
	}
	referred, err := k.exists(key.ReferringOne(), old, true)
	if err != nil || !referred {
		return err
	}
	return key.Referred(old, k.x.Values)
}
