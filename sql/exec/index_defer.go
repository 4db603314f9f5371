package exec

import (
	"bytes"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// UNIQUE constraints that are checked at the commit. Until then rows of the transaction may share a
// value. One of them has the exclusive entry, whose key the transaction has locked. Each of the
// others has an entry that ends with its primary key, as in an index that is not unique: such
// entries are only buffered, never committed. A shared value is recorded (Ctx.Keys). SettleUnique
// refuses it if more than one row still has it, and otherwise puts the exclusive entry of the
// remaining row.

// defers reports whether a write puts an entry that may be shared.
func (s *sender) defers(w *Write) bool {
	if len(s.c.Deferred) == 0 || w.Kind != WriteEntry || !w.Exclusive || w.Building {
		return false
	}
	_, ok := s.c.Deferred[s.node.Modify.Indexes[w.Index].Def.OID]
	return ok
}

// noteShared notes the values that parts have found shared.
func (s *sender) noteShared(parts []*part) error {
	if len(s.c.Deferred) == 0 {
		return nil
	}
	for _, p := range parts {
		next := 0
		for _, a := range p.answers {
			if a.what != didShare {
				continue
			}
			for !bytes.Equal(p.writes[next].Key, a.value) || p.writes[next].Index != a.index {
				next++
			}
			if err := s.noteOne(&p.writes[next], int64(p.buckets[next].Lo)); err != nil {
				return err
			}
			next++
		}
	}
	return nil
}

func (s *sender) noteOne(w *Write, bucket int64) error {
	c := s.c
	size := int64(2*len(w.Key)+len(w.Row)) + 3*memory.DatumSize
	watch := c.Deferred[s.node.Modify.Indexes[w.Index].Def.OID]
	return c.Keys.Add(c.Mem, watch, w.Key, size, func() keychange.Change {
		return keychange.New(
			nil, types.Row{types.NewBytes(string(w.Key)), types.NewInt(bucket), types.NewBytes(string(w.Row))}, "",
		)
	})
}

// share puts a deferred entry: the exclusive one, or if another row has that, the row's own.
func (o *stageOp) share(c *Ctx, x *table.Index, w *Write, emit Emit) error {
	if _, err := lockNew(c, x.Table, w.Key, txn.LockRequest{Mode: txn.Update, T: maxT}); err != nil {
		return err
	}
	existing, err := newestEntry(c, x, w.Key)
	if err != nil {
		return err
	}
	if existing == nil || bytes.Equal(existing, w.Value) {
		return putEntry(c, x, w.Key, w.Value)
	}
	key, value := sharedEntry(w.Key, w.Value)
	if err := putEntry(c, x, key, value); err != nil {
		return err
	}
	return o.reply(emit, w, didShare, types.NewBytes(aliasString(w.Key)), types.Null)
}

// sharedEntry returns the entry of one row among several, made from the exclusive entry that it
// would have.
func sharedEntry(key, value []byte) (k, v []byte) {
	primaryKey := value[4:]
	k = append(append(make([]byte, 0, len(key)+len(primaryKey)), key...), primaryKey...)
	v = append([]byte{table.EntryWithLength}, value[1:4]...)
	return k, append(v, byte(len(primaryKey)>>8), byte(len(primaryKey)))
}

// unshare removes the entry of a row with values that other rows may have too.
func unshare(c *Ctx, x *table.Index, key, value []byte) error {
	if _, err := lockRow(c, x.Table, key, txn.LockRequest{Mode: txn.Update, T: maxT}, "updating"); err != nil {
		return err
	}
	existing, err := newestEntry(c, x, key)
	if err != nil {
		return err
	}
	if !bytes.Equal(existing, value) {
		key, _ = sharedEntry(key, value)
	}
	return c.local.tx.Delete(key)
}

// settleKey checks that at most one row has a key, and puts the exclusive entry of that row.
func (o *stageOp) settleKey(c *Ctx, x *table.Index, w *Write) error {
	owner, err := newestEntry(c, x, w.Key)
	if err != nil {
		return err
	}
	view, err := c.local.open(c)
	if err != nil {
		return err
	}
	var shared, row []byte
	n := 0
	if owner != nil {
		n++
	}
	err = view.Scan(c.ctx(), txn.Prefix(w.Key), false, func(key, value []byte) error {
		if len(key) == len(w.Key) {
			return nil
		}
		value, err := x.Standing(&c.Ctx, view, key, value, func(row []byte) ([]byte, error) {
			return view.Get(c.ctx(), row)
		})
		if err != nil || value == nil {
			return err
		}
		n++
		shared = append(shared[:0], key...)
		row, err = x.Table.RowOfEntry(row[:0], key, value)
		return err
	})
	switch {
	case err != nil:
		return err
	case n > 1:
		return o.rule.DuplicateEntry(&c.Ctx, w.Index, w.Row, false)
	case shared == nil:
		return nil
	}
	if err := c.local.tx.Delete(shared); err != nil {
		return err
	}
	return putEntry(c, x, w.Key, table.AppendEntryValue(nil, row, true))
}

// SettleUnique checks values of a unique index that were recorded as shared, in their order. It
// returns 23505 if one is still shared.
func SettleUnique(c *Ctx, t *catalog.Table, schema string, index query.Index, shared []keychange.Change) error {
	node := plan.Stage{Modify: &plan.Modify{
		Kind: plan.ModUpdate, Table: t, Schema: schema, Indexes: []query.Index{index},
	}}
	program, err := compileNode(node, 0)
	if err != nil {
		return err
	}
	c.Limits.Unvalidated = true // the keys are locked
	c.reads = &snapshot{}
	out := &sender{c: c, node: node, program: program}
	for _, ch := range shared {
		w := Write{Kind: WriteSettle, Key: []byte(ch.New[0].S), Row: []byte(ch.New[2].S), Exclusive: true}
		out.add(shardmap.Bucket(ch.New[1].N), w)
		if out.full() {
			if _, err := out.flush(); err != nil {
				return err
			}
		}
	}
	_, err = out.flush()
	return err
}
