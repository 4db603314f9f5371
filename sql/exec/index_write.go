package exec

import (
	"bytes"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// How secondary indexes are maintained. Entries are computed where the rows are: in the fragment,
// if a whole UPDATE or DELETE runs there (then all its indexes are local), otherwise at the
// gateway, which writes each entry in its fragment, in the same transaction. An exclusive entry is
// put, removed and claimed under the lock of its key: a transaction that wants the same key waits
// until the outcome of this one is known, and then checks the newest state.
//
// A statement removes entries as it proceeds, and puts exclusive ones after all removals. So rows
// may exchange unique values within one statement, in whatever order they are processed: the state
// at the end of the statement counts, as in the SQL standard. (PostgreSQL guarantees that for
// DEFERRABLE constraints only; for the others the result depends on the order of the rows on disk.)

// stage puts an entry, given in the plain form. taken reports that another row has it. since is the
// fragment's state before the wait for that row's writer, as in lockNew.
func stageEntry(
	c *Ctx, x *table.Index, key, value []byte, exclusive bool,
) (taken bool, since txn.Timestamp, err error) {
	if exclusive {
		if since, err = lockNew(c, x.Table, key, txn.LockRequest{Mode: txn.Update, T: maxT}); err != nil {
			return false, since, err
		}
		existing, err := newestEntry(c, x, key)
		if err != nil {
			return false, since, err
		}
		if existing != nil {
			return !bytes.Equal(existing, value), since, nil
		}
	}
	return false, since, putEntry(c, x, key, value)
}

// unstageEntry removes an entry.
func unstageEntry(c *Ctx, t *table.Table, key []byte, exclusive bool) error {
	if exclusive {
		if _, err := lockRow(c, t, key, txn.LockRequest{Mode: txn.Update, T: maxT}, "updating"); err != nil {
			return err
		}
	}
	return c.local.tx.Delete(key)
}

// entryKeeper maintains local indexes inside a fragment, for one statement.
type entryKeeper struct {
	rule    *table.Rule
	buf     []byte
	pending writeSpool // exclusive ones, put when all rows have been
}

// change updates the indexes when a row changes; next is nil for a deletion. value is the new row,
// encoded.
func (k *entryKeeper) change(c *Ctx, old types.Row, key []byte, next types.Row, value []byte) error {
	for _, x := range k.rule.Indexes {
		remove, put, buf, err := x.Change(&c.Ctx, old, key, next, key, k.buf[:0])
		k.buf = buf
		if err != nil {
			return err
		}
		for _, e := range remove {
			if err := unstageEntry(c, k.rule.Table, e.Key, e.Exclusive); err != nil {
				return err
			}
		}
		for _, e := range put {
			if e.Exclusive {
				err = k.hold(c, e, value)
			} else {
				err = putEntry(c, x, e.Key, e.Value)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *entryKeeper) hold(c *Ctx, e table.Entry, value []byte) error {
	k.pending.Mem = c.Mem
	w := entryWrite(WriteEntry, e, value, 0)
	return k.pending.keep(0, &w)
}

// finish puts the exclusive entries.
func (k *entryKeeper) finish(c *Ctx) error {
	return k.pending.writes(func(_ uint32, w Write) error {
		taken, since, err := stageEntry(c, k.rule.Indexes[w.Index], w.Key, w.Value, true)
		if err == nil && taken {
			err = k.rule.DuplicateEntry(&c.Ctx, w.Index, w.Row, false)
			err = named(c, k.rule.Table, w.Key, takenBy(c, w.Key, since, err))
		}
		return err
	})
}

// free drops the entries that were not put.
func (k *entryKeeper) free() { k.pending.Free() }

// entryWrite returns the write of an entry, for the fragment of the entry. The row is for messages
// about another row with the entry.
func entryWrite(kind WriteKind, e table.Entry, row []byte, place int64) Write {
	if !e.Exclusive {
		row = nil
	}
	return Write{
		Kind: kind, Key: e.Key, Value: e.Value, Place: place, Index: e.Index.At, Exclusive: e.Exclusive, Row: row,
	}
}

// addEntries adds the entries of a new row to the writes to send.
func (s *sender) addEntries(c *Ctx, rules []*table.Index, row types.Row, of *Write, buf []byte) ([]byte, error) {
	for _, x := range rules {
		list, rest, err := x.Entries(&c.Ctx, row, of.Key, s.entries[:0], buf)
		s.entries, buf = list, rest
		if err != nil {
			return buf, err
		}
		for _, e := range list {
			w := entryWrite(WriteEntry, e, of.Value, of.Place)
			w.Building = of.Building
			s.add(e.Bucket, w)
		}
	}
	return buf, nil
}

// laterEntries holds exclusive entries at the gateway until the statement has removed all entries.
type laterEntries struct{ writeSpool }

func (l *laterEntries) add(e table.Entry, row []byte) error {
	w := entryWrite(WriteEntry, e, row, 0)
	return l.keep(uint32(e.Bucket), &w)
}

// send adds all entries to the writes to send.
func (s *writeSpool) send(to *sender) error {
	defer s.Free()
	return s.writes(func(bucket uint32, w Write) error {
		to.add(shardmap.Bucket(bucket), w)
		if !to.full() {
			return nil
		}
		_, err := to.flush()
		return err
	})
}

// changeEntries adds the index changes that follow from a row's change to the writes to send, and
// exclusive entries to later.
func (s *sender) changeEntries(
	c *Ctx, rules []*table.Index, later *laterEntries,
	old types.Row, oldKey []byte, next types.Row, nextKey, value []byte,
) error {
	for _, x := range rules {
		remove, put, _, err := x.Change(&c.Ctx, old, oldKey, next, nextKey, nil)
		if err != nil {
			return err
		}
		for _, e := range remove {
			s.add(e.Bucket, entryWrite(WriteUnentry, e, nil, 0))
		}
		for _, e := range put {
			if !e.Exclusive {
				s.add(e.Bucket, entryWrite(WriteEntry, e, value, 0))
			} else if err := later.add(e, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry stages a write of an index entry.
func (o *stageOp) entry(c *Ctx, w *Write, emit Emit) error {
	x := o.rule.Indexes[w.Index]
	switch {
	case w.Kind == WriteUnentry && w.Exclusive && x.Late:
		return unshare(c, x, w.Key, w.Value)
	case w.Kind == WriteUnentry:
		return unstageEntry(c, o.rule.Table, w.Key, w.Exclusive)
	case w.Kind == WriteClaim:
		return o.claim(c, x, w, emit)
	case w.Kind == WriteSettle:
		return o.settleKey(c, x, w)
	case w.Deferred:
		return o.share(c, x, w, emit)
	}
	taken, since, err := stageEntry(c, x, w.Key, w.Value, w.Exclusive)
	if err == nil && taken {
		err = o.rule.DuplicateEntry(&c.Ctx, w.Index, w.Row, w.Building)
		err = named(c, o.rule.Table, w.Key, takenBy(c, w.Key, since, err))
	}
	return err
}

// newest returns the present entry under key in the plain form, nil if there is none.
func newestEntry(c *Ctx, x *table.Index, key []byte) ([]byte, error) {
	value, err := c.local.tx.Newest(c.ctx(), key)
	if err != nil {
		return nil, err
	}
	return x.Standing(&c.Ctx, c.local.tx, key, value, func(row []byte) ([]byte, error) {
		return c.local.tx.Newest(c.ctx(), row)
	})
}

// put writes an entry that is given in the plain form.
func putEntry(c *Ctx, x *table.Index, key, plain []byte) error {
	if x.Def.Global {
		return c.local.tx.Put(key, plain)
	}
	generation, err := table.GenerationOf(c.local.tx, table.BucketAtStart(plain[1:]))
	if err != nil {
		return err
	}
	if generation != 0 {
		plain = table.AppendMoved(nil, plain, generation)
	}
	return c.local.tx.Put(key, plain)
}
