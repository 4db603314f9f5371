package integrity

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/types"
)

// act carries out the action of a foreign key for keys that were deleted or changed.
func (k *queue) act(key *refint.Key, action catalog.Action, deleted bool, changes []keychange.Change) error {
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
	set := func(many bool) refint.Statement { return key.Set(value, only, many) }
	if err := k.each(key, changes, set); err != nil {
		return err
	}
	if action != catalog.SetDefault {
		return nil
	}
	// Rows that had the default before have not changed, and may refer to a key that is not there.
	return k.refuse(key, catalog.NoAction, changes)
}

// each runs a statement for the old keys, a batch at a time if they are of one column.
func (k *queue) each(key *refint.Key, changes []keychange.Change, st func(many bool) refint.Statement) error {
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

func oldKeys(key *refint.Key, changes []keychange.Change) types.Datum {
	keys := make([]types.Row, len(changes))
	for i, ch := range changes {
		keys[i] = ch.Old
	}
	return keyArray(key.Referenced[0], keys, 0)
}

// move sets the new keys in the rows that refer to changed ones. It does so for all keys at once:
// what one key becomes may be what another was.
func (k *queue) move(key *refint.Key, changes []keychange.Change) error {
	if len(changes) == 1 {
		args := append(append(types.Row(nil), changes[0].Old...), changes[0].New...)
		return k.run(key.Move(), args, true, nil)
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

// refuse is NO ACTION and RESTRICT: no row may refer to the old keys.
func (k *queue) refuse(key *refint.Key, action catalog.Action, changes []keychange.Change) error {
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

// refuseSome first reads a batch without locks: most often no row refers to any of it.
func (k *queue) refuseSome(key *refint.Key, action catalog.Action, changes []keychange.Change) error {
	referred := map[string]bool{}
	err := k.run(key.Referring(), []types.Datum{oldKeys(key, changes)}, true, func(row []types.Datum) error {
		referred[keychange.ID(key.Columns, row)] = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, ch := range changes {
		if !referred[keychange.ID(key.Referenced, ch.Old)] {
			continue
		}
		if err := k.refuseOne(key, action, ch.Old); err != nil {
			return err
		}
	}
	return nil
}

func (k *queue) refuseOne(key *refint.Key, action catalog.Action, old types.Row) error {
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
